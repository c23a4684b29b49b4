"""Changing a file that people edit: under a lock, and never over what their editor wrote meanwhile.

A change is a function of what the file holds at that moment. The new file takes the place of the
old one in one step that hands the old one back: if somebody saved in between, theirs is what the
change is made of once more. No link is followed, and the file keeps its mode.

The new file's name says what it replaces and by what, so that the next change knows what one that
was killed has left: its own, which goes, or what somebody saved in that moment, which stays.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from windlass.core.errors import ConfigError, Conflict
from windlass.project import folder as folders

Edit = Callable[[bytes | None], bytes]
"""From what a file holds to what it shall hold; None is no file."""

_FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TRIES = 20
_EXCHANGE = 2
_AT_CWD = -100
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def change(path: str, edit: Edit) -> bool:
    """Changes a file, or makes it; says whether there was anything to change."""
    with _locked(os.path.dirname(path)):
        _clear(path)
        was = _read(path)
        now = edit(was)
        if now == was:
            return False
        try:
            if was is None:
                _make(path, now)
            else:
                _replace(path, was, now, edit)
        except FileNotFoundError:
            raise Conflict(
                f"{path} was deleted meanwhile", "nothing was written; put it back, and try again"
            ) from None
        except OSError as error:
            raise ConfigError(
                f"{path} cannot be written: {error.strerror}", "nothing was changed; mend that"
            ) from None
        return True


def _make(path: str, now: bytes) -> None:
    with _written(path, None, now, 0o666) as fresh:
        try:
            os.link(fresh, path)  # unlike a rename, it replaces nothing
        except FileExistsError:
            raise Conflict(f"{path} was made meanwhile", "try again") from None


def _replace(path: str, was: bytes, now: bytes, edit: Edit) -> None:
    """Puts the new file in place, and again where somebody else saved in between."""
    mode = stat.S_IMODE(os.lstat(path).st_mode)
    if not mode & 0o222 or not os.access(path, os.W_OK):
        raise ConfigError(f"{path} is read-only", f"chmod u+w {path}")
    for _ in range(_TRIES):
        with _written(path, was, now, mode) as fresh:
            if not _exchange(fresh, path):
                if _read(path) == was:
                    os.replace(fresh, path)
                    return
                was = _require(path)
                now = edit(was)
                continue
            if _read(fresh) == was:
                return
            was = _put_back(fresh, path, now)
        now = edit(was)
    raise Conflict(f"somebody else keeps writing {path}", "try again when they are done")


def _put_back(fresh: str, path: str, ours: bytes) -> bytes:
    """Puts what somebody saved, and we have in our hands, back in its place: the newest of it."""
    obsolete = {ours}
    while True:
        theirs = _require(fresh)
        _exchange(fresh, path)
        if _require(fresh) in obsolete:
            return theirs
        obsolete.add(theirs)


def _require(path: str) -> bytes:
    held = _read(path)
    if held is None:
        raise FileNotFoundError(path)
    return held


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Holds the folder, so that two of us do not change what is in it at once."""
    os.makedirs(folder, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _read(path: str) -> bytes | None:
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(mode):
        raise ConfigError(
            f"{path} is a symbolic link, and nothing is written through links",
            f"name the file itself: {os.path.realpath(path)}",
        )
    return folders.read(path)


@contextmanager
def _written(path: str, was: bytes | None, text: bytes, mode: int) -> Iterator[str]:
    """A new file beside the old one, removed in the end where it still has that name."""
    folder, name = os.path.split(path)
    fresh = os.path.join(folder, f".{name}.{_digest(was)}-{_digest(text)}.windlass")
    part = f"{fresh}-part"
    try:
        descriptor = os.open(part, _FRESH, 0o666 if mode == 0o666 else 0o600)
        with os.fdopen(descriptor, "wb") as file:
            if mode != 0o666:
                os.fchmod(descriptor, mode)
            file.write(text)
            file.flush()
            os.fsync(descriptor)
        os.rename(part, fresh)
        yield fresh
    finally:
        for left in (part, fresh):
            with suppress(FileNotFoundError):
                os.unlink(left)


def _clear(path: str) -> None:
    """Removes what changes that were killed have left, unless it is what somebody had saved."""
    folder, name = os.path.split(path)
    left = re.compile(rf"\.{re.escape(name)}\.([0-9a-f]{{16}})-([0-9a-f]{{16}})\.windlass(-part)?")
    for entry in os.listdir(folder):
        found = left.fullmatch(entry)
        if found is None:
            continue
        place = os.path.join(folder, entry)
        if not found[3] and _digest(folders.read(place)) not in found.groups():
            raise Conflict(
                f"{place} holds what was saved into {path} when a change of ours was killed",
                "compare the two, keep what you want, and delete that file",
            )
        os.unlink(place)


def _digest(held: bytes | None) -> str:
    return "0" * 16 if held is None else hashlib.sha256(held).hexdigest()[:16]


def _exchange(one: str, other: str) -> bool:
    """Lets two files trade names in one step; False where this machine cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    rename = getattr(library, "renameat2", None)
    if rename is None:
        return False
    if not rename(_AT_CWD, os.fsencode(one), _AT_CWD, os.fsencode(other), _EXCHANGE):
        return True
    code = ctypes.get_errno()
    if code in _CANNOT:
        return False
    raise OSError(code, os.strerror(code), other)
