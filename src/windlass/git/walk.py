# ruff: noqa: PTH101, PTH106, PTH108, PTH118
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Walks a folder that an agent wrote, by lstat, following nothing and opening nothing.

Owns what is there. What is worth keeping of it is `salvage`'s to say.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from typing import TYPE_CHECKING, Literal, NamedTuple

from windlass.core.errors import GitError
from windlass.core.printable import printable_line
from windlass.git.names import is_dotgit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

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

    Folders that `enter` refuses are yielded but not opened, and neither is a nested `.git`.
    """
    top = os.fsencode(root)
    pending = [b""]
    while pending:
        folder = pending.pop()
        for entry in _children(top, folder):
            if not folder and entry.kind == "dotgit" and entry.path == b".git":
                continue
            if entry.kind != "folder" or not enter(entry.path):
                yield entry
            elif len(top) + len(entry.path) > _LONGEST:
                yield entry._replace(kind="beyond")
            else:
                yield entry._replace(empty=_is_empty(top, entry.path))
                pending.append(entry.path)


def _children(top: bytes, folder: bytes) -> list[WalkEntry]:
    here = os.path.join(top, folder) if folder else top
    entries = []
    for child in _scan(here):
        try:
            info = child.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        path = folder + b"/" + child.name if folder else child.name
        entries.append(WalkEntry(path, kind_of(child.name, info.st_mode), info))
    entries.sort(key=lambda entry: entry.path)
    return entries


def _is_empty(top: bytes, folder: bytes) -> bool:
    return not _scan(os.path.join(top, folder))


def _scan(folder: bytes) -> list[os.DirEntry[bytes]]:
    try:
        return _listed(folder)
    except FileNotFoundError:
        return []
    except PermissionError:
        unlock(folder)
    try:
        return _listed(folder)
    except PermissionError as error:
        raise GitError(
            f"cannot look into {printable_line(os.fsdecode(folder))}: {error.strerror}",
            "make it readable for the user that runs Windlass, then try again",
        ) from error


def _listed(folder: bytes) -> list[os.DirEntry[bytes]]:
    with os.scandir(folder) as listing:
        return list(listing)


def unlock(path: bytes) -> None:
    """Gives the owner back the rights to read (and enter) what an agent closed, where allowed."""
    with contextlib.suppress(OSError):
        info = os.lstat(path)
        if stat.S_ISDIR(info.st_mode):
            os.chmod(path, stat.S_IMODE(info.st_mode) | 0o700)
        elif stat.S_ISREG(info.st_mode):
            os.chmod(path, stat.S_IMODE(info.st_mode) | 0o600)


def erase(path: str) -> None:
    """Deletes a folder with all that is in it, read-only parts too; links are cut, not followed."""
    top = os.fsencode(path)
    try:
        info = os.lstat(top)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(info.st_mode):
        os.unlink(top)
        return
    _erase_folder(top)


def _erase_folder(folder: bytes) -> None:
    # Iterative: agents can nest deeper than Python's stack.
    pending = [folder]
    while pending:
        current = pending[-1]
        if len(current) > _LONGEST:
            pending[-1] = current = _hoisted(current, top=folder)
        _writable(current)
        folders = []
        for child in _scan(current):
            if child.is_dir(follow_symlinks=False):
                folders.append(child.path)
            else:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(child.path)
        if folders:
            pending.extend(folders)
            continue
        pending.pop()
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(current)


def _hoisted(path: bytes, *, top: bytes) -> bytes:
    """Moves a folder whose path is too long up to the top, where it can be named."""
    here = os.open(top, _FOLDER)
    try:
        *parts, last = path[len(top) + 1 :].split(b"/")
        for part in parts:
            below = os.open(part, _FOLDER, dir_fd=here)
            os.close(here)
            here = below
        short = os.path.join(top, b"hoisted-" + secrets.token_hex(8).encode())
        os.rename(last, short, src_dir_fd=here)
    finally:
        os.close(here)
    return short


def _writable(folder: bytes) -> None:
    with contextlib.suppress(OSError):
        mode = stat.S_IMODE(os.lstat(folder).st_mode)
        if mode & 0o700 != 0o700:
            os.chmod(folder, mode | 0o700)
