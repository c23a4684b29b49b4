# ruff: noqa: PTH102, PTH118
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""The `.gitattributes` of a commit, where a merge that is made of objects alone finds them.

Git reads them from files, also for `merge-tree` (git < 2.41 knows no `--attr-source`). Which of its
own drivers merges a path (`merge=union`, `-merge`) is the target's word; no other driver runs.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import msgspec

from windlass.core.errors import GitError
from windlass.git import index_entries, workspace_state
from windlass.git.bounds import LONG
from windlass.git.environment import limited
from windlass.git.index_entries import EMPTY_TREE, PLAIN
from windlass.git.repository import null_oid
from windlass.git.runner import armed, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from windlass.git.environment import Dirs
    from windlass.git.repository import Repository

_MOST = 64 << 20
"""Bytes of attributes that one commit may have."""


@contextlib.contextmanager
def seen(repo: Repository, commit: str) -> Iterator[Dirs]:
    """Lends folders in which git sees the attributes of a commit, and no other file."""
    with workspace_state.scratch(repo) as folder:
        tree = os.path.join(folder, "tree")
        os.mkdir(tree)
        index = os.path.join(folder, "index")
        dirs = armed(msgspec.structs.replace(repo.dirs, work_tree=tree, index=index))
        if entries := _listed(repo, commit):
            lines = [b"%s %s\t%s" % (*entry, path) for path, entry in entries.items()]
            index_entries.feed(["update-index", "-z", "--index-info"], lines, dirs=dirs)
            run(["checkout-index", "-a", "-q"], dirs=dirs, timeout=LONG)
        yield dirs


def _listed(repo: Repository, commit: str) -> dict[bytes, index_entries.Entry]:
    empty = EMPTY_TREE[len(null_oid(repo))]
    changes = index_entries.between(
        limited(repo.dirs), empty, commit, only=":(glob)**/.gitattributes"
    )
    entries = {c.path: c.new for c in changes if c.new is not None and c.new.mode in PLAIN}
    if entries:
        asked = b"".join(entry.oid + b"\n" for entry in entries.values())
        said = run(["cat-file", "--batch-check=%(objectsize)"], dirs=repo.dirs, stdin=asked)
        if sum(int(size) for size in said.out.split() if size.isdigit()) > _MOST:
            raise GitError(
                f"{commit[:10]} has more than {_MOST >> 20} MiB of .gitattributes",
                "nothing is merged into it before some of them are removed",
            )
    return entries
