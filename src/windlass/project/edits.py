"""Changing a file that people edit: under a lock, and never over what their editor wrote meanwhile.

A change is a function of what the file holds at that moment. The new file takes the place of the
old one in one step that hands the old one back: if somebody saved in between, theirs is what the
change is made of once more. Who has the file open to write it is waited for, so that their words do
not go into a file that has no name any more. No link is followed, and the file keeps its mode.

The new file's name says what it replaces and by what, so that the next change knows what one that
was killed has left: its own, which goes, or what somebody saved in that moment, which stays. A file
that git tracks is neither, whatever its name: it may have come with anybody's change.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from windlass.core.errors import ConfigError, Conflict
from windlass.core.printable import printable_line
from windlass.project import folder as folders
from windlass.project import folder_lock, git_index, writers
from windlass.project.folder_lock import Remark

Edit = Callable[[bytes | None], bytes]
"""From what a file holds to what it shall hold; None is no file."""

_FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_TRIES = 20
_EXCHANGE = 2
_AT_CWD = -100
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)


def change(path: str, edit: Edit, *, remark: Remark | None = None) -> bool:
    """Changes a file, or makes it; says whether there was anything to change.

    `remark` is told what is waited for, where that takes long.
    """
    with folder_lock.held(os.path.dirname(path), remark):
        _clear(path)
        was = _settled(path)
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
                f"{printable_line(path)} was deleted meanwhile",
                "nothing was written; put it back, and try again",
            ) from None
        except OSError as error:
            raise ConfigError(
                f"{printable_line(path)} cannot be written: {error.strerror}",
                "nothing was changed; mend that",
            ) from None
        return True


def _make(path: str, now: bytes) -> None:
    with _written(path, None, now, 0o666) as fresh:
        try:
            os.link(fresh, path)  # unlike a rename, it replaces nothing
        except FileExistsError:
            raise Conflict(f"{printable_line(path)} was made meanwhile", "try again") from None


def _replace(path: str, was: bytes, now: bytes, edit: Edit) -> None:
    """Puts the new file in place, and again where somebody else saved in between."""
    mode = stat.S_IMODE(os.lstat(path).st_mode)
    if not mode & 0o222 or not os.access(path, os.W_OK):
        raise ConfigError(
            f"{printable_line(path)} is read-only", f"chmod u+w {printable_line(path)}"
        )
    for _ in range(_TRIES):
        with _written(path, was, now, mode) as fresh:
            if not _exchange(fresh, path):
                if not writers.wait(path) and _read(path) == was:
                    os.replace(fresh, path)
                    return
            else:
                writers.wait_closed(fresh)
                if _read(fresh) == was:
                    return
                _put_back(fresh, path, now)
        was = _require(path, _settled(path))
        now = edit(was)
    raise Conflict(
        f"somebody else keeps writing {printable_line(path)}", "try again when they are done"
    )


def _put_back(fresh: str, path: str, ours: bytes) -> None:
    """Puts what somebody saved, and we have in our hands, back in its place: the newest of it."""
    obsolete = {ours}
    while True:
        theirs = _require(fresh, _read(fresh))
        _exchange(fresh, path)
        if _require(fresh, _read(fresh)) in obsolete:
            return
        obsolete.add(theirs)


def _settled(path: str) -> bytes | None:
    """What a file holds once nobody is in the middle of writing it, as far as we wait for that."""
    for _ in range(_TRIES):
        writers.wait(path)
        held = _read(path)
        if not writers.wait(path) and _read(path) == held:
            break
    return held


def _require(path: str, held: bytes | None) -> bytes:
    if held is None:
        raise FileNotFoundError(path)
    return held


def _read(path: str) -> bytes | None:
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(mode):
        raise ConfigError(
            f"{printable_line(path)} is a symbolic link, and nothing is written through links",
            f"name the file itself: {printable_line(os.path.realpath(path))}",
        )
    return folders.read(path)


@contextmanager
def _written(path: str, was: bytes | None, text: bytes, mode: int) -> Iterator[str]:
    """A new file beside the old one, removed in the end where it still has that name."""
    folder, name = os.path.split(path)
    of = f"{_digest(was)}-{_digest(text)}.{os.urandom(4).hex()}"  # which nobody can have placed
    fresh = os.path.join(folder, f".{name}.{of}.windlass")
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
    digests = r"([0-9a-f]{16})-([0-9a-f]{16})"
    left = re.compile(rf"\.{re.escape(name)}\.{digests}\.[0-9a-f]{{8}}\.windlass(-part)?")
    for entry in os.listdir(folder):
        found = left.fullmatch(entry)
        place = os.path.join(folder, entry)
        if found is None or not stat.S_ISREG(os.lstat(place).st_mode) or git_index.tracks(place):
            continue
        if not found[3] and _digest(folders.read(place)) not in found.groups():
            raise Conflict(
                f"{printable_line(place)} holds what was saved into {printable_line(path)} "
                "when a change of ours was killed",
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
