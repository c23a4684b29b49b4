"""How files and folders are opened that an agent may have put there, or may exchange meanwhile.

No link is followed, no pipe waited for, and nothing that we start inherits what is open.
"""

from __future__ import annotations

import os

_ALWAYS = os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER = os.O_RDONLY | os.O_DIRECTORY | _ALWAYS
PLAIN = os.O_RDONLY | os.O_NONBLOCK | _ALWAYS
"""For reading; whether it is a plain file is seen once it is open."""
NAMED = getattr(os, "O_PATH", os.O_RDONLY) | _ALWAYS
"""Whatever it is, without a look into it: to change its permissions."""
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _ALWAYS
"""For writing, and only where nothing is yet."""
