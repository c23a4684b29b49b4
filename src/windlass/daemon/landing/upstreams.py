"""Upstreams: the branch of a remote that changes land on, asked before each try where it is now.

Owns the questions to a remote, and what is said where it cannot be landed on. Nothing here moves
anything but a ref of ours that says where the remote's branch was.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from windlass.core.errors import WindlassError
from windlass.core.ids import RepoId
from windlass.core.landing.changes import OPEN
from windlass.core.printable import printable_line
from windlass.daemon.gate import gates
from windlass.daemon.gate.gates import Target
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.landing import queues
from windlass.daemon.mail import notices
from windlass.git import remotes, repository
from windlass.git.repository import Repository
from windlass.store import changes as rows
from windlass.store.rows import Repo
from windlass.store.store import Writing


class Look(NamedTuple):
    """What came of asking: nothing is to be said where changes can land."""

    unreachable: str = ""
    held: str = ""
    """What a person has to do first."""


class Upstreams:
    """Asks remotes where their branches are."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def refresh(self, repo: Repo, branch: str) -> Look:
        """Brings the upstream's branch here, where landings go to a remote."""
        git = repos.git(repo)
        target = gates.target(self._context, repo, git, branch=branch)
        if target.mode == "local":
            return Look()
        try:
            tip = remotes.fetch(git, target.remote, target.branch)
        except remotes.Unreachable as error:
            return Look(unreachable=f"{error.message}; it is asked again ({error.hint})")
        except WindlassError as error:
            return Look(held=f"{error.message}: {error.hint}")
        return Look(held=_in_the_way(git, target, tip))

    def say_unreachable(
        self, repo: RepoId, why: str, heads: Mapping[str, str], *, is_first: bool
    ) -> None:
        """Says of what waits that it waits for the remote, and tells the person once."""

        def change(writing: Writing) -> None:
            queues.say(writing, repo, heads, why)
            if is_first:
                text = f"what is to land waits: {why}"
                notices.post(writing, repo, "windlass", "waiting", text, by_hand=True)

        self._context.store.write(change)

    def forget_unreachable(self, repo: RepoId, heads: Mapping[str, str]) -> None:
        """Takes back what `say_unreachable` said."""
        known = self._context.store.read(partial(rows.listed, repo=repo, states=OPEN))
        if any(change.why for change in known if change.id in heads):
            self.say_unreachable(repo, "", heads, is_first=False)


def _in_the_way(git: Repository, target: Target, tip: str | None) -> str:
    """Why nothing may land on an upstream before a person has done something; empty: nothing."""
    branch, remote = printable_line(target.branch), target.remote
    if tip is None:
        return f"{remote} has no branch {branch}; push it: git push {remote} {branch}"
    local = repository.read_ref(git, f"refs/heads/{target.branch}")
    if local is None or repository.is_ancestor(git, local, tip):
        return ""
    if repository.is_ancestor(git, tip, local):
        return ""
    own, theirs = repository.ahead_behind(git, local, tip)
    return (
        f"{branch} and {remote}/{branch} have diverged, by {own} and {theirs} commits; bring them"
        f" together, in {printable_line(git.root)}: git pull --rebase {remote} {branch}"
    )
