"""Where things are on this machine: the state folder, the runtime folder, the sockets.

Imported by every command, so it imports almost nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys

from windlass import whole_file
from windlass.core.errors import ConfigError

_LONGEST = 80
"""Unix socket paths end at 104 bytes on macOS, 108 on Linux; ours add up to 24 to the folder."""


def home() -> str:
    """The folder of all state: `$WINDLASS_HOME`, or the platform's place for such things.

    A relative name is made absolute in the environment, too: it shall mean the same folder after
    a change of folders, and to every program that is started.
    """
    chosen = os.environ.get("WINDLASS_HOME")
    if chosen:
        absolute = os.path.abspath(os.path.expanduser(chosen))
        if absolute != chosen:
            os.environ["WINDLASS_HOME"] = absolute
        return absolute
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/windlass")
    state = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):  # what its specification says to ignore
        state = os.path.expanduser("~/.local/state")
    return os.path.join(state, "windlass")


def runtime() -> str:
    """The folder of sockets: short whatever the state folder is called, one per state folder.

    The one that `settle` remembered, while it is usable: the shells of cron, su and ssh have other
    environments and have to find the same daemon and the same sessions.
    """
    # By its real name: a state folder reached through a link is still the same one.
    name = hashlib.blake2b(os.fsencode(os.path.realpath(home())), digest_size=5).hexdigest()
    remembered = _remembered()
    # A copied state folder brings along the name of the original's.
    if remembered and os.path.basename(remembered) == name and _usable(remembered):
        return remembered
    runtime_dir = os.environ.get("XDG_RUNTIME_DIR", "")
    # su and sudo leave us with a folder of the user before, which root could even write to.
    if (
        os.path.isabs(runtime_dir)
        and _bytes(runtime_dir) + len(name) < _LONGEST - 10
        and _ours(runtime_dir)
    ):
        return os.path.join(runtime_dir, "windlass", name)
    return os.path.join(_short_temp(), f"windlass-{os.getuid()}", name)


def person_socket() -> str:
    """The socket on which the caller is the person."""
    return os.path.join(runtime(), "person.sock")


def make_home() -> None:
    """Makes the state folder, or says why it cannot be one."""
    try:
        os.makedirs(home(), mode=0o700, exist_ok=True)
    except OSError as error:
        raise unusable(error) from None


def unusable(error: OSError) -> ConfigError:
    """What to say of a state folder in which nothing can be written."""
    why = "it is no folder" if isinstance(error, FileExistsError) else str(error.strerror)
    if (path := error.filename2 or error.filename) and path != home():
        why += f" ({path})"
    from windlass import disk_room  # noqa: PLC0415 - on the start-up path of every command

    full = disk_room.HINT if disk_room.is_lacking(error) else ""
    return ConfigError(
        f"{home()} cannot be the state folder: {why}",
        full or "set WINDLASS_HOME to a folder that you can write to",
    )


def settle() -> None:
    """Makes both folders and remembers the second in the first, for every shell that follows."""
    make_home()
    chosen = runtime()
    make_private(chosen)
    if _remembered() == chosen:
        return
    try:
        whole_file.replace(_note(), os.fsencode(chosen) + b"\n")
    except OSError as error:
        raise unusable(error) from None


def make_private(folder: str) -> None:
    """Makes a folder that only this user can enter, and refuses one that somebody else made.

    The folder above it, too, where it is ours by name: it may lie in a shared temporary folder.
    """
    above = os.path.dirname(folder)
    try:
        for part in (above, folder):
            if part == above and not os.path.basename(part).startswith("windlass"):
                os.makedirs(part, mode=0o700, exist_ok=True)
                continue
            os.makedirs(os.path.dirname(part), mode=0o700, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o700)
            if not _ours(part):
                raise ConfigError(
                    f"{part} is not a folder of its own user", "remove it, or set TMPDIR"
                )
            os.chmod(part, 0o700)
    except OSError as error:
        raise ConfigError(
            f"{folder} cannot be the folder of sockets: {error.strerror}",
            "set XDG_RUNTIME_DIR or TMPDIR to a short folder of yours that can be written to",
        ) from None


def _note() -> str:
    return os.path.join(home(), "runtime")


def _remembered() -> str | None:
    try:
        with open(_note(), "rb") as file:
            return os.fsdecode(file.read(4096).rstrip(b"\n"))
    except OSError:
        return None


def _usable(folder: str) -> bool:
    if not os.path.isabs(folder) or "\0" in folder or _bytes(folder) >= _LONGEST:
        return False
    above = os.path.dirname(folder)
    if os.path.lexists(folder):
        return _ours(folder) and _ours(above)
    if os.path.lexists(above):
        return _ours(above)
    return os.access(os.path.dirname(above), os.W_OK | os.X_OK)


def _ours(folder: str) -> bool:
    try:
        info = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and info.st_uid == os.getuid()


def _short_temp() -> str:
    # TMPDIR may be long (macOS, test runs); sockets need a short one.
    temp_dir = os.environ.get("TMPDIR", "")
    fits = (
        os.path.isabs(temp_dir)
        and _bytes(temp_dir) < _LONGEST - 40
        and os.access(temp_dir, os.W_OK)
    )
    return temp_dir if fits else "/tmp"  # noqa: S108 - our folder is private


def _bytes(path: str) -> int:
    return len(os.fsencode(path))
