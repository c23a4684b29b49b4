"""Files that have several names: what is found out of one by a name holds by all the others.

Names cost an agent next to nothing. Who reads a file anew for each of them has no end of it.
"""

from __future__ import annotations

import os
from typing import TypeAlias

Key: TypeAlias = tuple[int, int, int, int, int]


def key(info: os.stat_result) -> Key | None:
    """What stays the same as long as a file does, by whatever name; None where it has one name."""
    if info.st_nlink < 2:
        return None
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns
