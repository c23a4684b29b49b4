"""Editing a file of the person's: whole or not at all, and never one that is not plainly there.

No link is followed, and nothing is written over what somebody else wrote meanwhile. The file keeps
its mode.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from windlass.core.errors import ConfigError, Conflict
from windlass.daemon.kernel import untrusted_files

_LARGEST = 4 << 20
_TRIES = 5
_TEMPORARY = ".windlass"
_FORGOTTEN = 60.0

Edit = Callable[[bytes | None], bytes | None]
"""From what a file holds to what it shall hold; None is no file."""


def change(path: Path, edit: Edit) -> bool:
    """Changes a file, makes it or removes it; says whether there was anything to change."""
    for _ in range(_TRIES):
        was = read(path)
        now = edit(was)
        if now == was:
            return False
        if was is not None:
            _require_writable(path)
        try:
            if _replaced(path, was, now):
                return True
        except OSError as error:
            raise ConfigError(
                f"{path} cannot be written: {error.strerror}", "nothing was changed; mend that"
            ) from None
    raise Conflict(f"somebody else keeps writing {path}", "try again when they are done")


def read(path: Path) -> bytes | None:
    """What a file holds; None if there is none. Refuses a link and whatever else is no file."""
    try:
        held = untrusted_files.read(path, most=_LARGEST + 1)
    except FileNotFoundError:
        return None
    except untrusted_files.NotPlain:
        raise ConfigError(f"{path} is no plain file", "put a file in its place") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ConfigError(
                f"{path} is a symbolic link, and links are not followed",
                "put a file in its place, or edit by hand what it points to",
            ) from None
        raise ConfigError(f"{path} cannot be read: {error.strerror}", "mend that") from None
    if len(held) > _LARGEST:
        raise ConfigError(f"{path} is larger than {_LARGEST >> 20} MiB", "that is no such file")
    return held


def _require_writable(path: Path) -> None:
    """Renaming would replace a file that is read-only, too: somebody has meant that it stays."""
    if not path.lstat().st_mode & stat.S_IWUSR or not os.access(path, os.W_OK):
        raise ConfigError(f"{path} is read-only", f"chmod u+w {path}")


def _replaced(path: Path, was: bytes | None, now: bytes | None) -> bool:
    """Whether it was still as it had been read until it was replaced."""
    if now is None:
        if read(path) != was:
            return False
        path.unlink()
        return True
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}{_TEMPORARY}")
    try:
        _write(fresh, now, like=None if was is None else path)
        _remove_forgotten(path, fresh)
        if read(path) != was:
            return False
        if was is None:
            with suppress(FileExistsError):
                path.hardlink_to(fresh)  # unlike a rename, it replaces nothing
                return True
            return False
        fresh.replace(path)
        return True
    finally:
        fresh.unlink(missing_ok=True)


def _remove_forgotten(path: Path, fresh: Path) -> None:
    """Removes what a daemon left that was killed as it wrote; ages are the file system's own."""
    now = fresh.lstat().st_mtime
    for left in path.parent.glob(f".{path.name}.*{_TEMPORARY}"):
        if now - left.lstat().st_mtime > _FORGOTTEN:
            left.unlink(missing_ok=True)


def _write(path: Path, text: bytes, *, like: Path | None) -> None:
    how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, how, 0o666), "wb") as file:
        if like is not None:
            os.fchmod(file.fileno(), stat.S_IMODE(like.lstat().st_mode))
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
