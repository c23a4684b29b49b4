"""Workspaces of agents: made as their isolation asks, and clones kept in step with the repository.

A boxed agent works in a clone. Its commits are fetched into the repository's own `agent/<id>` as
soon as somebody looks, and within a second or so by themselves; the repository's refs go out to the
mirror that clones call `origin`. A fetch that failed is tried again after ever longer pauses, or
when its clone has changed.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Protocol

from windlass.core.crew import Agent
from windlass.core.errors import WindlassError
from windlass.core.events import BranchMoved, BranchStuck
from windlass.core.ids import RepoId, Uid
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context, FailedFetch
from windlass.daemon.launch import boxes
from windlass.git import homecoming, mirror
from windlass.git.repository import Repository
from windlass.git.workspaces import Workspace
from windlass.store import rows
from windlass.store.store import Writing

log = logging.getLogger(__name__)

_LONGEST_PAUSE = 60.0
_PATIENCE = 2.0
"""Seconds that somebody who has more to do waits for a fetch that is under way."""


class MakeWorkspace(Protocol):
    """How `git.workspaces` makes a workspace."""

    def __call__(
        self, repo: Repository, *, path: str, branch: str, agent: str, origin: str | None
    ) -> Workspace:
        """Makes it; of a clone `origin` is the mirror."""


class CommitFetcher:
    """Fetches new commits of boxed agents into the repository, and refreshes what they see of it.

    Each clone is fetched from in a thread of the pool, and once at a time: one that keeps git busy
    for minutes holds up neither the others nor whoever looks at its agent.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._under_way: set[Uid] = set()
        self._guard = threading.Lock()

    def keep_in_step(self) -> None:
        """Begins to fetch everybody's commits, and shows them the repositories' refs."""
        boxed = [a for a in self._context.store.read(rows.agents) if a.isolation == "box"]
        for agent in boxed:
            if agent.session > 0:
                self.begin(agent)
        for repo in {agent.repo for agent in boxed}:
            try:
                refresh(self._context, repo)
            except WindlassError as error:
                log.warning("the mirror of %s is not in step: %s", repo, error.message)

    def begin(self, agent: Agent) -> None:
        """Has an agent's commits fetched soon, unless they are here or under way."""
        if agent.isolation != "box" or agent.branch is None:
            return
        seen = homecoming.signature(agent.workspace, agent.branch)
        if seen == self._context.fetched.get(agent.uid):
            return
        with self._guard:
            if agent.uid in self._under_way:
                return
            self._under_way.add(agent.uid)
        self._context.pools.begin("fetch", self._fetch, agent)

    def _fetch(self, agent: Agent) -> None:
        try:
            try_to_fetch_commits(self._context, agent)
        finally:
            with self._guard:
                self._under_way.discard(agent.uid)


def make_workspace(context: Context, agent: Agent, make: MakeWorkspace) -> None:
    """Makes the workspace of an agent that has a branch, of the kind that its isolation asks for.

    `make` is `workspaces.create` with the agent's base, or `workspaces.ensure` for one that was
    deleted by hand.
    """
    if agent.branch is None:
        return
    make(
        repos.git(repos.by_id(context, agent.repo)),
        path=agent.workspace,
        branch=agent.branch,
        agent=agent.id,
        origin=refreshed_mirror(context, agent),
    )


def refreshed_mirror(context: Context, agent: Agent) -> str | None:
    """The mirror, up to date, that a boxed agent's clone has for `origin`; None for a worktree."""
    if agent.isolation != "box":
        return None
    refresh(context, agent.repo)
    return str(context.folders.mirror(agent.repo))


def fetch_commits(context: Context, agent: Agent) -> None:
    """Fetches what a boxed agent committed into the repository; quick where nothing is new."""
    if agent.isolation != "box" or agent.branch is None or agent.ended_at is not None:
        return
    seen = homecoming.signature(agent.workspace, agent.branch)
    if seen == context.fetched.get(agent.uid):
        return
    repo = repos.by_id(context, agent.repo)
    if repos.is_gone(repo):
        return
    with context.locks.holding([_fetch_lock(agent)]):
        # It may have been fetched, or its branch removed, while we waited.
        if seen == context.fetched.get(agent.uid) or not Path(agent.workspace).is_dir():
            return
        tip = homecoming.fetch(
            repos.git(repo),
            path=agent.workspace,
            branch=agent.branch,
            upload_pack=boxes.reading_prefix(context, agent),
        )
        context.fetched[agent.uid] = seen
        context.failed_fetches.pop(agent.uid, None)
    if tip is not None:
        context.store.write(partial(_tell_of_commits, agent=agent, tip=tip))
        refresh(context, agent.repo)


@contextlib.contextmanager
def fetching_halted(context: Context, agent: Agent) -> Iterator[None]:
    """Keeps an agent's commits from being fetched meanwhile: its branch is being removed."""
    with context.locks.holding([_fetch_lock(agent)]):
        yield
        context.fetched[agent.uid] = homecoming.signature(agent.workspace, agent.branch or "")


def _fetch_lock(agent: Agent) -> Uid:
    return Uid(f"{agent.uid} fetch")


def try_to_fetch_commits(context: Context, agent: Agent) -> None:
    """Fetches for somebody who has more to do; what goes wrong is recorded, once.

    Where that went wrong lately, and the clone is as it was, nothing is tried.
    """
    if agent.isolation != "box":
        return
    with context.locks.trying(_fetch_lock(agent), within=_PATIENCE) as is_free:
        if not is_free:
            return  # it is under way, and takes long
    seen = homecoming.signature(agent.workspace, agent.branch or "")
    before = context.failed_fetches.get(agent.uid)
    if before is not None and before.holds(seen, context.clock.now()):
        return
    try:
        fetch_commits(context, agent)
    except WindlassError as error:
        why, again = error.message, before is not None and before.seen == seen
        pause = min(2 * before.pause, _LONGEST_PAUSE) if before is not None and again else 1.0
        context.failed_fetches[agent.uid] = FailedFetch(why, seen, context.clock.now(), pause)
        if before is None or before.why != why:
            _tell_of_failure(context, agent, why)


def _tell_of_failure(context: Context, agent: Agent, why: str) -> None:
    log.warning("the commits of %s cannot be fetched: %s", agent.id, why)
    event = BranchStuck(id=agent.id, error=why)
    context.store.write(lambda w: w.emit(event, repo=agent.repo, agent=agent.uid))


def refresh(context: Context, repo: RepoId) -> None:
    """Shows the repository's refs, as they are now, to its boxed agents."""
    known = repos.by_id(context, repo)
    if not repos.is_gone(known):
        mirror.refresh(repos.git(known), str(context.folders.mirror(repo)))


def _tell_of_commits(writing: Writing, *, agent: Agent, tip: str) -> None:
    writing.emit(BranchMoved(id=agent.id, tip=tip), repo=agent.repo, agent=agent.uid)
