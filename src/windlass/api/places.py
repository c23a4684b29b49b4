"""Where things are on this machine: the state folder, the runtime folder, the sockets.

Imported by every command, so it imports almost nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys

from windlass.core.errors import ConfigError

_LONGEST = 80
"""Unix socket paths end at 104 bytes on macOS, 108 on Linux; ours add up to 24 to the folder."""


def home() -> str:
    """The folder of all state: `$WINDLASS_HOME`, or the platform's place for such things."""
    chosen = os.environ.get("WINDLASS_HOME")
    if chosen:
        return os.path.abspath(os.path.expanduser(chosen))
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/windlass")
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(state, "windlass")


def config_file() -> str:
    """The user's own configuration."""
    return os.path.join(home(), "config.toml")


def runtime(of_home: str | None = None) -> str:
    """The folder of sockets: short whatever the state folder is called, one per state folder."""
    digest = hashlib.blake2b(os.fsencode(of_home or home()), digest_size=5).hexdigest()
    given = os.environ.get("XDG_RUNTIME_DIR")
    if given and len(given) + len(digest) < _LONGEST - 10 and os.access(given, os.W_OK):
        return os.path.join(given, "windlass", digest)
    return os.path.join(_short_temp(), f"windlass-{os.getuid()}", digest)


def person_socket() -> str:
    """The socket on which the caller is the person."""
    return os.path.join(runtime(), "person.sock")


def make_private(folder: str) -> None:
    """Makes a folder that only this user can enter, and refuses one that somebody else made.

    The folder above it, too, where it is ours by name: it may lie in a shared temporary folder.
    """
    above = os.path.dirname(folder)
    for part in (above, folder):
        if part == above and not os.path.basename(part).startswith("windlass"):
            os.makedirs(part, mode=0o700, exist_ok=True)
            continue
        os.makedirs(os.path.dirname(part), mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(part, 0o700)
        found = os.lstat(part)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise ConfigError(f"{part} is not a folder of its own user", "remove it, or set TMPDIR")
        os.chmod(part, 0o700)


def _short_temp() -> str:
    # TMPDIR may be long (macOS, test runs); sockets need a short one.
    given = os.environ.get("TMPDIR", "")
    return given if 0 < len(given) < _LONGEST - 40 else "/tmp"  # noqa: S108 - our folder is private
