# ruff: noqa: PTH118
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Which branches git is in the middle of something with, in any checkout of a repository.

While a branch is rebased no HEAD names it, and no lock says so; its end sets the branch to what it
was or to what came of it, and whatever moved it meanwhile is lost. Git's own `branch -f` refuses
the same branches.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from windlass.core.printable import printable_line
from windlass.git import gitfiles, workspace_state
from windlass.git.index_lock import CheckoutBusy
from windlass.git.repository import stands_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from windlass.git.repository import Repository

_LIMIT = 1 << 20


class _Use(NamedTuple):
    """What is done with a branch, in words, and how it ends."""

    doing: str
    end: str


_REBASE = _Use("rebased", "git rebase --continue, or --abort")
_AM = _Use("patched", "git am --continue, or --abort")
_BISECT = _Use("bisected", "git bisect reset")


def refuse(repo: Repository, branch: str) -> None:
    """Refuses a branch that is in use: it is free again when the person has ended that."""
    places = {repo.git_dir: repo.root}
    for admin, place in workspace_state.admins(repo).items():
        places[workspace_state.canonical(admin)] = place
    meant = stands_for(repo, branch)
    for git_dir, place in places.items():
        for ref, use in _uses(git_dir):
            if ref and stands_for(repo, ref.removeprefix("refs/heads/")) == meant:
                raise CheckoutBusy(
                    f"{printable_line(branch)} is being {use.doing} in {printable_line(place)}",
                    f"it waits for the end of that: {use.end}",
                )


def _uses(git_dir: str) -> Iterator[tuple[str, _Use]]:
    """The refs that git is in the middle of, by the folder of one checkout."""
    for folder in ("rebase-merge", "rebase-apply"):
        yield _text(git_dir, f"{folder}/head-name"), _REBASE
    # Each ref that goes along is followed by the two commits that it goes from and to.
    for ref in _text(git_dir, "rebase-merge/update-refs").split("\n")[::3]:
        yield ref, _REBASE
    if os.path.lexists(os.path.join(git_dir, "rebase-apply/applying")):
        yield _text(git_dir, "HEAD").removeprefix("ref: "), _AM
    if os.path.lexists(os.path.join(git_dir, "BISECT_LOG")):
        yield _text(git_dir, "BISECT_START"), _BISECT


def _text(git_dir: str, name: str) -> str:
    return os.fsdecode((gitfiles.read_below(git_dir, name, limit=_LIMIT) or b"").strip())
