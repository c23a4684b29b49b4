"""Work trees for gates: brought to one tree after the other, and changed by nobody else.

A gate tree is a repository of its own with one commit, whose author and date are always the same:
what a program can find out there depends on the tree alone. Whoever runs something in one does so
in a view of it. Files are made of the tree's names, which git checks.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from windlass import whole_file
from windlass.core.errors import GitError
from windlass.core.gate import patterns
from windlass.git import long_lists, object_transfer
from windlass.git.bounds import LONG
from windlass.git.environment import Dirs
from windlass.git.erasure import erase
from windlass.git.repository import object_format
from windlass.git.runner import run

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from windlass.git.repository import Repository

_ID = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_BRANCH = "refs/heads/main"
_WHO = {"NAME": "Windlass", "EMAIL": "gate@windlass.invalid", "DATE": "@946684800 +0000"}
_ALWAYS = {
    f"GIT_{role}_{key}": text for role in ("AUTHOR", "COMMITTER") for key, text in _WHO.items()
}
_MARK = "windlass-tree"
"""In the git folder of a gate tree: which tree its files are, while nothing is being changed."""
_MOST_TREES = 200
"""After so many a gate tree is made anew, without the objects of all before."""
_CONFIG = {"checkout.workers": "0"}


class Sized(NamedTuple):
    """A blob, and how large it is."""

    oid: str
    size: int


def bring(repo: Repository, place: Path, tree: str) -> None:
    """Has a gate tree hold exactly the files of a tree of the repository's.

    One that was left half changed is made anew.
    """
    git_dir = place / ".git"
    had, trees = _known(git_dir / _MARK)
    if had == tree:
        return
    if had is None or trees >= _MOST_TREES:
        erase(str(place))
        _make(repo, place)
        had, trees = None, 0
    (git_dir / _MARK).unlink(missing_ok=True)
    came = object_transfer.carry(repo, str(git_dir), wanted={tree}, had={had} if had else ())
    if tree not in came:
        raise GitError(
            f"the tree {tree} is not whole in {repo.root}",
            "`git fsck` says what is missing; in a partial clone, check the commit out once",
        )
    dirs = Dirs(git_dir=str(git_dir), work_tree=str(place))
    run(["read-tree", "--reset", "-u", tree], dirs=dirs, config=_CONFIG, timeout=LONG)
    said = run(["commit-tree", tree], dirs=dirs, stdin=b"tree\n", extra=_ALWAYS)
    run(["update-ref", "--no-deref", _BRANCH, said.out.decode().strip()], dirs=dirs)
    whole_file.replace(git_dir / _MARK, f"{tree} {trees + 1}\n".encode())


def tree_of(repo: Repository, rev: str) -> str:
    """The tree of a commit, or a tree itself; refuses what is neither."""
    return _tree_of_id(repo, rev) if _ID.fullmatch(rev) else _tree_of(repo, rev)


def _tree_of(repo: Repository, rev: str) -> str:
    said = repo.git(
        "rev-parse", "-q", "--verify", "--end-of-options", f"{rev}^{{tree}}", ok=(0, 1, 128)
    )
    if said.code:
        raise GitError(f"{rev} names no commit here", "`git log --oneline` shows some")
    return said.out.decode().strip()


_tree_of_id = lru_cache(maxsize=256)(_tree_of)
"""What an id names does not change; asking git again is most of what a known verdict costs."""


def trees_at(repo: Repository, refs: Iterable[str]) -> dict[str, str]:
    """The tree of what each of these refs holds, by its full name; of those that there are."""
    said = repo.git("for-each-ref", "--format=%(refname)%00%(tree)", *refs)
    lines = (line.partition(b"\0") for line in said.out.splitlines())
    return {os.fsdecode(ref): tree.decode() for ref, _, tree in lines}


def blobs(repo: Repository, tree: str, wanted: Sequence[str]) -> Mapping[str, str]:
    """What a tree has at these paths or patterns, and below folders: each blob by its path."""
    return _blobs(repo, tree, tuple(wanted)) if wanted else {}


@lru_cache(maxsize=64)
def _blobs(repo: Repository, tree: str, wanted: tuple[str, ...]) -> Mapping[str, str]:
    plain = not any(set(pattern) & set("*?") for pattern in wanted)
    args = ["ls-tree", "-r", "-z", "--full-tree", tree, *(("--", *wanted) if plain else ())]
    said = run(args, dirs=repo.dirs, extra={"GIT_LITERAL_PATHSPECS": "1"}, timeout=LONG)
    found = {}
    for line in long_lists.records(said.out):
        head, _, name = line.partition(b"\t")
        path = os.fsdecode(name)
        if path and (plain or patterns.matches_below(path, wanted)):
            found[path] = head.decode()
    return found


def names(repo: Repository, tree: str) -> list[str]:
    """Every path that a tree has a file at."""
    said = run(["ls-tree", "-r", "-z", "--full-tree", "--name-only", tree], dirs=repo.dirs)
    return [os.fsdecode(name) for name in long_lists.records(said.out) if name]


def sizes(repo: Repository, tree: str) -> dict[str, Sized]:
    """Every plain file of a tree by its path."""
    args = ["ls-tree", "-r", "-z", "-l", "--full-tree", tree]
    said = run(args, dirs=repo.dirs, timeout=LONG)
    found = {}
    for line in long_lists.records(said.out):
        head, _, name = line.partition(b"\t")
        mode, _, oid, size = head.decode().split()
        if mode.startswith("100"):
            found[os.fsdecode(name)] = Sized(oid, int(size) if size.isdigit() else 0)
    return found


def edited(repo: Repository, base: str, tree: str) -> list[str]:
    """Every path at which a tree has something else than another one."""
    args = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", base, tree]
    said = run(args, dirs=repo.dirs, timeout=LONG)
    return [os.fsdecode(name) for name in long_lists.records(said.out) if name]


def read_file(repo: Repository, tree: str, path: str, *, most: int) -> bytes | None:
    """What a plain file of a tree holds; None where there is none, or it is larger than `most`."""
    return _read_file(repo, tree, path, most)


@lru_cache(maxsize=32)
def _read_file(repo: Repository, tree: str, path: str, most: int) -> bytes | None:
    (entry, *_) = (*blobs(repo, tree, [path]).items(), None)
    if entry is None or entry[0] != path or not entry[1].startswith("100"):
        return None
    oid = entry[1].split()[2]
    size = int(repo.git("cat-file", "-s", oid).out)
    return repo.git("cat-file", "blob", oid).out if size <= most else None


def _make(repo: Repository, place: Path) -> None:
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    made = f"--object-format={object_format(repo)}"
    run(["init", "-q", "--template=", "--initial-branch=main", made, str(place)], cwd=str(place))


def _known(mark: Path) -> tuple[str | None, int]:
    try:
        tree, count = mark.read_text(encoding="ascii").split()
    except (FileNotFoundError, ValueError):
        return None, 0
    return tree, int(count)
