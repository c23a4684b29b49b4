"""Commits of files that we wrote for the person, on the branch that they have checked out.

They are made as the person makes theirs: by plain git, with their name, hooks and signature. What
else they have changed or staged is neither committed nor touched.
"""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

import msgspec

from windlass.core.errors import GitError
from windlass.core.printable import printable
from windlass.git import repository
from windlass.git.bounds import LONG
from windlass.git.person_git import run_as_the_user
from windlass.git.runner import run, spell

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from windlass.git.repository import Repository

_MODE = "100644"
_LINES = 12


def tree_with(repo: Repository, commit: str, files: Mapping[str, bytes]) -> str:
    """The tree that a commit would have with these files; nothing refers to it."""
    with tempfile.TemporaryDirectory(dir=repo.make_private(), prefix="tree-") as folder:
        dirs = msgspec.structs.replace(repo.dirs, index=os.path.join(folder, "index"))  # noqa: PTH118 - as everywhere in here
        run(["read-tree", commit], dirs=dirs, timeout=LONG)
        for path, held in files.items():
            oid = repo.git("hash-object", "-w", "--stdin", stdin=held).out.decode().strip()
            run(["update-index", "--add", "--cacheinfo", f"{_MODE},{oid},{path}"], dirs=dirs)
        return run(["write-tree"], dirs=dirs).out.decode().strip()


def staged(repo: Repository, path: str) -> bytes | None:
    """What the person's index has of a path; None where it has nothing."""
    said = repo.git("ls-files", "--stage", "-z", "--", f":(top,literal){path}")
    entry = said.out.partition(b"\0")[0].partition(b"\t")[0].split()
    if not entry:
        return None
    return repo.git("cat-file", "blob", entry[1].decode()).out


def is_ignored(repo: Repository, path: str) -> bool:
    """Whether git leaves a path of the checkout out, by a file of the repository's."""
    dirs = msgspec.structs.replace(repo.dirs, work_tree=repo.root)
    said = run(["check-ignore", "-q", "--", path], dirs=dirs, ok=(0, 1))
    return said.code == 0


def commit(repo: Repository, paths: Sequence[str], *, message: str) -> str:
    """Commits these files of the checkout and nothing else; returns the commit.

    Where git or a hook refuses, the index is as it was.
    """
    fresh = [path for path in paths if staged(repo, path) is None]
    try:
        if fresh:
            _plain(repo, ["add", "--intent-to-add", "--", *_literal(fresh)])
        _plain(repo, ["commit", "--quiet", "--only", "-m", message, "--", *_literal(paths)])
    except GitError:
        if fresh:
            _plain(repo, ["reset", "--quiet", "--", *_literal(fresh)])
        raise
    return repository.require_commit(repo)


def _literal(paths: Iterable[str]) -> list[str]:
    return [f":(top,literal){path}" for path in paths]


def _plain(repo: Repository, args: list[str]) -> None:
    said = run_as_the_user(args, cwd=repo.root, timeout=LONG)
    if said.code:
        lines = printable(said.out.decode(errors="backslashreplace")).strip().splitlines()
        above = "\n".join(lines[-_LINES:])
        raise GitError(f"`{spell(args[:1])}` was refused:\n{above}" if above else "git refused it")
