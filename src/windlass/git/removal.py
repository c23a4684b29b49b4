# ruff: noqa: PTH102, PTH106
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Deletes a folder that was kept, as far as everything in it is still as it was seen before.

Whoever works in a folder, or has a file of it open, can write there until it is gone. So each file
is taken out of everybody's reach first, and then looked at once more: one that has changed, or that
somebody still has open for writing, goes back to its place, as does what nobody had seen.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import signal
import stat
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from windlass.git import gitfiles, long_lists, open_flags
from windlass.git.descent import Descent, is_exchanged
from windlass.git.walk import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_QUIET = signal.SIGURG
"""What the kernel tells us by that a lease is asked for; whoever does not want to know is not."""


class _Seen(NamedTuple):
    inode: int
    mode: int
    size: int
    written: int
    changed: int

    @classmethod
    def of(cls, info: os.stat_result) -> _Seen:
        return cls(info.st_ino, info.st_mode, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


Look: TypeAlias = dict[bytes, _Seen]
"""Every file below a folder, nested git folders included, and how it was."""


def look(root: str) -> Look:
    """Sees what there is. What is written later than this is known by it.

    Folders that had to be opened for that are closed again, as their agent had them.
    """
    seen: Look = {}
    closed: list[tuple[bytes, int]] = []
    for path, info in _walk(root):
        if not stat.S_ISDIR(info.st_mode):
            seen[path] = _Seen.of(info)
        elif info.st_mode & 0o700 != 0o700:
            closed.append((path, stat.S_IMODE(info.st_mode)))
    if closed:
        _close(root, closed)
    return seen


def _close(root: str, folders: list[tuple[bytes, int]]) -> None:
    """Gives folders these permissions, those that are in others first."""
    with gitfiles.opened(root) as top, Descent(top) as way:
        for path, mode in reversed(list(long_lists.in_order(folders))):
            with contextlib.suppress(OSError):  # it is gone, or something else by now
                os.fchmod(way.open(path.split(b"/")), mode)


def clear(root: str, seen: Look) -> list[bytes]:
    """Deletes what is as it was seen, and folders that are empty then; gives what is left."""
    left: list[bytes] = []
    folders: list[bytes] = []
    bin_name = f"{root}.{secrets.token_hex(4)}"
    os.mkdir(bin_name, 0o700)
    try:
        with gitfiles.opened(root) as top, gitfiles.opened(bin_name) as bin_, Descent(top) as way:
            for path, info in _walk(root):
                if stat.S_ISDIR(info.st_mode):
                    folders.append(path)
                elif not _take(way, path, bin_, seen.get(path)):
                    left.append(path)
            for path in long_lists.in_order(folders, key=lambda path: -path.count(b"/")):
                with contextlib.suppress(OSError):  # something is in it, and listed
                    folder, name = way.holder(path)
                    _open_up(folder)
                    os.rmdir(name, dir_fd=folder)
    finally:
        with contextlib.suppress(OSError):
            os.rmdir(bin_name)
    if not left:
        with contextlib.suppress(OSError):
            os.rmdir(root)
            return []
        left = [path for path, _ in _walk(root)]
    return left


def _walk(root: str) -> Iterator[tuple[bytes, os.stat_result]]:
    """Yields everything below a folder, by open folders; a folder comes before what is in it."""
    with contextlib.ExitStack() as stack:
        try:
            top = stack.enter_context(gitfiles.opened(root))
        except OSError as error:
            if is_exchanged(error):
                return
            raise
        way = stack.enter_context(Descent(top))
        pending = [b""]
        while pending:
            folder = pending.pop()
            try:
                here = listed(way.open(folder.split(b"/") if folder else ()))
            except OSError as error:
                if not is_exchanged(error):
                    raise
                continue
            for name, info in here:
                path = folder + b"/" + name if folder else name
                if stat.S_ISDIR(info.st_mode):
                    pending.append(path)
                yield path, info


def _take(way: Descent, path: bytes, bin_: int, seen: _Seen | None) -> bool:
    """Deletes one file, unless it is not as it was seen; says whether it is gone."""
    folder, name = way.holder(path)
    try:
        _open_up(folder)
        if seen is None or _Seen.of(os.stat(name, dir_fd=folder, follow_symlinks=False)) != seen:
            return False
        with _unwritten(folder, name, seen) as is_unwritten:
            taken = secrets.token_hex(8)
            os.rename(name, taken, src_dir_fd=folder, dst_dir_fd=bin_)
            now = _Seen.of(os.stat(taken, dir_fd=bin_, follow_symlinks=False))
            # Moving it is a change, too.
            if now._replace(changed=seen.changed) == seen and is_unwritten():
                os.unlink(taken, dir_fd=bin_)
                return True
        _put_back(bin_, taken, folder, name)
    except OSError as error:
        if not is_exchanged(error) and not isinstance(error, BlockingIOError | PermissionError):
            raise
    return False


def _open_up(folder: int) -> None:
    """Has an open folder be ours to write: agents and tools close theirs."""
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    if mode & 0o700 != 0o700:
        os.fchmod(folder, mode | 0o700)


def _put_back(bin_: int, taken: str, folder: int, name: bytes) -> None:
    """Gives a file back its name, or one like it where there is another by now."""
    for target in (name, name + b"." + taken.encode()):
        with contextlib.suppress(FileExistsError):
            os.link(taken, target, src_dir_fd=bin_, dst_dir_fd=folder, follow_symlinks=False)
            os.unlink(taken, dir_fd=bin_)
            return


@contextlib.contextmanager
def _unwritten(folder: int, name: bytes, seen: _Seen) -> Iterator[Callable[[], bool]]:
    """Holds a lease on a file, which nobody gets who has it open for writing.

    Lends the question whether anybody wants to write to it by now. Raises BlockingIOError where
    somebody has it open. Elsewhere than on Linux there are no leases, nor for what is no file.
    """
    if not stat.S_ISREG(seen.mode) or not hasattr(fcntl, "F_SETLEASE"):
        yield lambda: True
        return
    handle = os.open(name, open_flags.PLAIN, dir_fd=folder)
    try:
        fcntl.fcntl(handle, fcntl.F_SETSIG, _QUIET)
        try:
            fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except PermissionError:  # another's file
            yield lambda: True
            return
        yield lambda: fcntl.fcntl(handle, fcntl.F_GETLEASE) == fcntl.F_RDLCK
    finally:
        os.close(handle)
