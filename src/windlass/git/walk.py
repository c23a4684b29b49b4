# ruff: noqa: PTH208
# Reason: a folder that is open has no path to give to pathlib.
"""Walks a folder that an agent wrote, folder by open folder, following nothing.

Owns what is there. What is worth keeping of it is `salvage`'s to say.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING, Literal, NamedTuple

from windlass.core.errors import GitError
from windlass.core.printable import printable_line
from windlass.git import gitfiles
from windlass.git.descent import Descent, is_exchanged
from windlass.git.names import is_dotgit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Kind = Literal["file", "link", "folder", "dotgit", "special", "beyond"]
"""`beyond` is a folder whose path is longer than the system takes: it is not looked into."""


_LONGEST = 4096 - 256 - 2
"""Of a folder's path, so that a name in it can be opened by its own."""


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


def _children(descent: Descent, folder: bytes) -> list[WalkEntry]:
    entries = [
        WalkEntry(folder + b"/" + name if folder else name, kind_of(name, info.st_mode), info)
        for name, info in _listed(descent, folder)
    ]
    entries.sort(key=lambda entry: entry.path)
    return entries


def _listed(descent: Descent, folder: bytes) -> list[tuple[bytes, os.stat_result]]:
    here = _entered(descent, folder)
    return listed(here) if here is not None else []


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
    found = []
    for name in map(os.fsencode, os.listdir(folder)):
        with contextlib.suppress(FileNotFoundError):
            found.append((name, os.stat(name, dir_fd=folder, follow_symlinks=False)))
    return found


def _closed(folder: bytes, error: OSError) -> GitError:
    return GitError(
        f"cannot look into {printable_line(os.fsdecode(folder))}: {error.strerror}",
        "make it readable for the user that runs Windlass, then try again",
    )
