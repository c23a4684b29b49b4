# ruff: noqa: PTH105, PTH108, PTH118, PTH120
# Reason: on the start-up path of every command, and names that agents make are bytes.
"""Files that are replaced at once, so that nobody ever reads half of one.

Below every layer, because all of them write such files and may not import each other: standard
library only, nothing of ours, quick to import. Elsewhere files are replaced by other means only for
a reason: `hooks` and the programs in a session's tree import nothing; `git` works in folders that
it holds open; `person_files` replaces a person's file only if that is as it was read.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def replace(path: str | os.PathLike[str], data: bytes, *, mode: int = 0o600) -> None:
    """Puts a file in the place of whatever is there; a link is replaced, never written through.

    After a crash of the machine the old or the new may be there: for what is made anew anyway.
    """
    with _fresh(os.fspath(path), mode) as (descriptor, name):
        _write(descriptor, data)
        os.replace(name, path)


def replace_durably(path: str | os.PathLike[str], data: bytes, *, mode: int = 0o600) -> None:
    """Does so for what nobody could make anew: when it returns, the new file is on the disk."""
    with _fresh(os.fspath(path), mode) as (descriptor, name):
        _write(descriptor, data)
        os.fsync(descriptor)
        os.replace(name, path)
    folder = os.open(os.path.dirname(os.fspath(path)) or ".", os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


@contextlib.contextmanager
def _fresh(path: str, mode: int) -> Iterator[tuple[int, str]]:
    """A new file beside the old one, by a name that nobody could have put a link at before us."""
    folder, name = os.path.split(path)
    fresh = os.path.join(folder, f".{name}.{os.urandom(8).hex()}.new")
    descriptor = os.open(fresh, _NEW, mode)
    try:
        yield descriptor, fresh
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(fresh)
        raise
    finally:
        os.close(descriptor)


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
