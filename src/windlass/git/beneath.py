"""Writes below a folder of ours by names that agents made, and nowhere else.

Every folder on the way is opened by a descriptor, part by part, and none of them may be a link: so
nothing that is exchanged meanwhile leads out. What is there already is not overwritten.
"""

from __future__ import annotations

import contextlib
import errno
import os
from typing import IO, TYPE_CHECKING

from windlass.core.errors import GitError
from windlass.core.printable import printable_line
from windlass.git import names, open_flags

if TYPE_CHECKING:
    from collections.abc import Iterator


NO_MORE_NAMES = frozenset({errno.EMLINK, errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP})
"""What says that a file can have no more names, or none at all on its file system."""


@contextlib.contextmanager
def new_file(top: str, name: bytes) -> Iterator[IO[bytes]]:
    """Lends a new file for writing, readable by its owner alone until its rights are set."""
    folder, last = _split(name)
    with opened(top, folder) as parent:
        try:
            handle = os.open(last, open_flags.NEW, 0o600, dir_fd=parent)
        except OSError as error:
            raise _refused(name, error) from error
        with os.fdopen(handle, "wb") as file:
            yield file


def new_link(top: str, name: bytes, target: bytes) -> None:
    """Makes a new link; it may lead anywhere, since nothing of ours goes through one."""
    folder, last = _split(name)
    with opened(top, folder) as parent:
        try:
            os.symlink(target, last, dir_fd=parent)
        except OSError as error:
            raise _refused(name, error) from error


def new_name(top: str, name: bytes, *, of: bytes) -> bool:
    """Gives a file or link below `top` another name; False where it can have no more of them."""
    folder, last = _split(name)
    other, first = _split(of)
    with opened(top, folder) as parent, opened(top, other) as source:
        try:
            os.link(first, last, src_dir_fd=source, dst_dir_fd=parent, follow_symlinks=False)
        except OSError as error:
            if error.errno in NO_MORE_NAMES:
                return False
            raise _refused(name, error) from error
    return True


def new_folder(top: str, name: bytes) -> None:
    """Makes a folder with those on the way to it, where they are missing."""
    _check(name)
    with opened(top, name):
        pass


@contextlib.contextmanager
def opened(top: str, folder: bytes) -> Iterator[int]:
    """Opens a folder below `top`, made with those on the way to it where they are missing."""
    here = os.open(top, open_flags.FOLDER)
    try:
        for part in filter(None, folder.split(b"/")):
            if part in (b".", b".."):
                raise _no_name(folder)
            try:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=here)
                below = os.open(part, open_flags.FOLDER, dir_fd=here)
            except OSError as error:
                raise _refused(folder, error) from error
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def _split(name: bytes) -> tuple[bytes, bytes]:
    _check(name)
    folder, _, last = name.rpartition(b"/")
    return folder, last


def _check(name: bytes) -> None:
    if not names.is_path(name):
        raise _no_name(name)


def _no_name(name: bytes) -> GitError:
    return GitError(
        f"{printable_line(os.fsdecode(name))} is no name of a file, and nothing is written",
        "it was not made by git; look at it with `git ls-tree`",
    )


def _refused(name: bytes, error: OSError) -> GitError:
    return GitError(
        f"{printable_line(os.fsdecode(name))} cannot be written: {error.strerror}",
        "something else is in its place, or the disk is full",
    )
