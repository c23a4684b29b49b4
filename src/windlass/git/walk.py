# ruff: noqa: PTH208
# Reason: a folder that is open has no path to give to pathlib.
"""Walks a folder that an agent wrote, folder by open folder, following nothing.

Owns what is there. What is worth keeping of it is `salvage`'s to say.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from typing import TYPE_CHECKING, Literal, NamedTuple

from windlass.core.errors import GitError
from windlass.core.printable import printable_line
from windlass.git import gitfiles, long_lists
from windlass.git.descent import Descent, is_exchanged
from windlass.git.names import is_dotgit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Kind = Literal["file", "link", "folder", "dotgit", "special", "beyond"]
"""`beyond` is a folder whose path is longer than the system takes: it is not looked into."""


_LONGEST = 4096 - 256 - 2
"""Of a folder's path, so that a name in it can be opened by its own."""
_AT_ONCE = 1000


class WalkEntry(NamedTuple):
    """One thing found; `path` is relative to the walked root, in bytes, with `/` between names."""

    path: bytes
    kind: Kind
    info: os.stat_result
    empty: bool = False


def kind_of(name: bytes, mode: int) -> Kind:
    """Sorts one directory entry."""
    if is_dotgit(name):
        return "dotgit"
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISLNK(mode):
        return "link"
    if stat.S_ISDIR(mode):
        return "folder"
    return "special"


def walk(root: str, *, enter: Callable[[bytes], bool] = lambda _: True) -> Iterator[WalkEntry]:
    """Yields everything below `root` except `root/.git` itself; a folder comes before its content.

    Folders that `enter` refuses are yielded but not opened, and neither is a nested `.git`. What
    became a link meanwhile is not followed: it is as if it had gone.
    """
    with contextlib.ExitStack() as stack:
        try:
            top = stack.enter_context(gitfiles.entered(root))
        except PermissionError as error:
            raise _closed(os.fsencode(root), error) from error
        except OSError as error:
            if is_exchanged(error):
                return
            raise
        descent = stack.enter_context(Descent(top))
        pending = [b""]
        while pending:
            folder = pending.pop()
            for entry in _children(descent, folder):
                if not folder and entry.kind == "dotgit" and entry.path == b".git":
                    continue
                if entry.kind != "folder" or not enter(entry.path):
                    yield entry
                elif len(root) + len(entry.path) > _LONGEST:
                    yield entry._replace(kind="beyond")
                else:
                    yield entry._replace(empty=_is_empty(descent, entry.path))
                    pending.append(entry.path)


def _children(descent: Descent, folder: bytes) -> Iterator[WalkEntry]:
    here = _entered(descent, folder)
    if here is None:
        return
    names = long_lists.in_order(map(os.fsencode, os.listdir(here)))
    # What they are is asked for a few at a time: millions of answers are gigabytes.
    while part := list(itertools.islice(names, _AT_ONCE)):
        # Others may have been opened since, and this one closed for them.
        here = _entered(descent, folder)
        if here is None:
            return
        for name, info in _looked_at(part, here):
            path = folder + b"/" + name if folder else name
            yield WalkEntry(path, kind_of(name, info.st_mode), info)


def _is_empty(descent: Descent, folder: bytes) -> bool:
    """Says whether nothing is in a folder, without asking what each thing in it is."""
    here = _entered(descent, folder)
    return here is None or not os.listdir(here)


def _entered(descent: Descent, folder: bytes) -> int | None:
    try:
        return descent.open(folder.split(b"/") if folder else ())
    except PermissionError as error:
        raise _closed(folder, error) from error
    except OSError as error:
        if is_exchanged(error):
            return None
        raise


def listed(folder: int) -> list[tuple[bytes, os.stat_result]]:
    """Names what is in an open folder, each with what it is."""
    return _looked_at(map(os.fsencode, os.listdir(folder)), folder)


def _looked_at(names: Iterable[bytes], folder: int) -> list[tuple[bytes, os.stat_result]]:
    found = []
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            found.append((name, os.stat(name, dir_fd=folder, follow_symlinks=False)))
    return found


def _closed(folder: bytes, error: OSError) -> GitError:
    return GitError(
        f"cannot look into {printable_line(os.fsdecode(folder))}: {error.strerror}",
        "make it readable for the user that runs Windlass, then try again",
    )
