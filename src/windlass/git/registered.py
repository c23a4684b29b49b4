# ruff: noqa: PTH103, PTH105, PTH108, PTH118, PTH120, PTH208
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Which clones there are: one small file for each, in our folder inside the main git folder.

Git keeps such a list for linked worktrees alone. Nothing in a clone is asked, since an agent
writes it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import uuid
from typing import TYPE_CHECKING, NamedTuple

from windlass import whole_file
from windlass.git.gitfiles import read_small

if TYPE_CHECKING:
    from windlass.git.repository import Repository

_FOLDER = "clones"
_FIRST_INDEX = "first-index-"


class _Clone(NamedTuple):
    path: str
    branch: str
    origin: str | None
    """The mirror that it borrows from; None where that was not written down yet."""


def note(repo: Repository, path: str, *, branch: str, origin: str) -> None:
    """Remembers that `path` is the clone whose own branch is `branch`, and what it borrows from."""
    file = _file(repo, path)
    content = os.fsencode(f"{path}\0{branch}\0{origin}")
    if read_small(file) == content:
        return
    repo.make_private()
    os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
    whole_file.replace(file, content)


def forget(repo: Repository, path: str) -> None:
    """Forgets a clone."""
    for file in (_file(repo, path), os.path.join(repo.private, first_index(path))):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file)


def move(repo: Repository, path: str, to: str) -> None:
    """Remembers that the clone at `path` lies elsewhere from now on."""
    clone = _find(repo, path)
    if clone is None or clone.origin is None:
        return
    note(repo, to, branch=clone.branch, origin=clone.origin)
    forget(repo, path)


def first_index(path: str) -> str:
    """Names the index that the clone at `path` was made with, by its place in our own folder."""
    return f"{_FIRST_INDEX}{_key(path)}"


def note_index(repo: Repository, path: str, index: str) -> None:
    """Keeps the index that a clone was made with, with its age, before its agent can write it."""
    target = os.path.join(repo.private, first_index(path))
    # Of each maker its own: two may make the same clone at once.
    new = f"{target}.{uuid.uuid4().hex[:8]}.new"
    try:
        shutil.copy2(index, new)
        os.replace(new, target)
    except OSError:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)
        raise


def branch_of(repo: Repository, path: str) -> str | None:
    """Names the branch that the clone at `path` was made for; None where there is no clone."""
    clone = _find(repo, path)
    return clone.branch if clone is not None else None


def origin_of(repo: Repository, path: str) -> str | None:
    """Names the mirror that the clone at `path` borrows from; None where none is known."""
    clone = _find(repo, path)
    return clone.origin if clone is not None else None


def clones(repo: Repository) -> dict[str, str]:
    """Maps each clone's own branch to its folder."""
    folder = os.path.join(repo.private, _FOLDER)
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return {}
    kept = (name for name in names if not name.startswith((".", "tmp-")))
    read = (_read(os.path.join(folder, name)) for name in kept)
    return {clone.branch: clone.path for clone in filter(None, read)}


def _file(repo: Repository, path: str) -> str:
    return os.path.join(repo.private, _FOLDER, _key(path))


def _key(path: str) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:24]


def _find(repo: Repository, path: str) -> _Clone | None:
    clone = _read(_file(repo, path))
    return clone if clone is not None and clone.path == path else None


def _read(file: str) -> _Clone | None:
    path, branch, origin, *_ = (*os.fsdecode(read_small(file) or b"").split("\0"), "", "")
    return _Clone(path, branch, origin or None) if path and branch else None
