"""Clones of boxed agents: made, kept in step with the repository, and their work brought home.

A clone's commits come into the repository's own `agent/<id>` as soon as somebody looks, and within
a second or so by themselves; the repository's refs go out to the mirror that clones call `origin`.
What does not come home is tried again after ever longer pauses, or when its clone has changed.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from windlass.core.crew import Agent
from windlass.core.errors import WindlassError
from windlass.core.events import BranchMoved, BranchStuck
from windlass.core.ids import RepoId, Uid
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context, Stuck
from windlass.daemon.launch import boxes
from windlass.git import homecoming, mirror, workspaces
from windlass.store import rows
from windlass.store.store import Writing

log = logging.getLogger(__name__)

_LONGEST_PAUSE = 60.0
_PATIENCE = 2.0
"""Seconds that somebody who has more to do waits for a homecoming that is under way."""


class Homecomings:
    """Fetches new commits of boxed agents into the repository, and refreshes what they see of it.

    Each comes home in a thread of the pool, and once at a time: a clone that keeps git busy for
    minutes holds up neither the others nor whoever looks at its agent.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._under_way: set[Uid] = set()
        self._guard = threading.Lock()

    def keep_in_step(self) -> None:
        """Begins to bring everybody's work home, and shows them the repositories' refs."""
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
        """Has an agent's work brought home soon, unless it is there or under way."""
        if agent.isolation != "box" or agent.branch is None:
            return
        seen = homecoming.signature(agent.workspace, agent.branch)
        if seen == self._context.brought.get(agent.uid):
            return
        with self._guard:
            if agent.uid in self._under_way:
                return
            self._under_way.add(agent.uid)
        self._context.pools.begin("homecoming", self._bring, agent)

    def _bring(self, agent: Agent) -> None:
        try:
            try_to_fetch_commits(self._context, agent)
        finally:
            with self._guard:
                self._under_way.discard(agent.uid)


def create_workspace(context: Context, agent: Agent) -> None:
    """Makes an agent's workspace, of the kind that its isolation asks for."""
    if agent.branch is None:
        return
    workspaces.create(
        repos.git(repos.by_id(context, agent.repo)),
        path=agent.workspace,
        branch=agent.branch,
        base=agent.base,
        agent=agent.id,
        origin=refreshed_mirror(context, agent),
    )


def recreate_workspace(context: Context, agent: Agent) -> None:
    """Makes a workspace again that was deleted by hand."""
    if agent.branch is None:
        return
    workspaces.ensure(
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
    """Brings what a boxed agent committed into the repository; quick where nothing is new."""
    if agent.isolation != "box" or agent.branch is None or agent.ended_at is not None:
        return
    seen = homecoming.signature(agent.workspace, agent.branch)
    if seen == context.brought.get(agent.uid):
        return
    repo = repos.by_id(context, agent.repo)
    if repos.is_gone(repo):
        return
    with context.locks.holding([_coming_home(agent)]):
        # It may have been brought, or its branch removed, while we waited.
        if seen == context.brought.get(agent.uid) or not Path(agent.workspace).is_dir():
            return
        tip = homecoming.fetch(
            repos.git(repo),
            path=agent.workspace,
            branch=agent.branch,
            upload_pack=boxes.reading(context, agent),
        )
        context.brought[agent.uid] = seen
        context.stuck.pop(agent.uid, None)
    if tip is not None:
        context.store.write(partial(_tell, agent=agent, tip=tip))
        refresh(context, agent.repo)


@contextlib.contextmanager
def halted(context: Context, agent: Agent) -> Iterator[None]:
    """Keeps an agent's work from coming home meanwhile: its branch is being removed."""
    with context.locks.holding([_coming_home(agent)]):
        yield
        context.brought[agent.uid] = homecoming.signature(agent.workspace, agent.branch or "")


def _coming_home(agent: Agent) -> Uid:
    return Uid(f"{agent.uid} comes home")


def try_to_fetch_commits(context: Context, agent: Agent) -> None:
    """Brings it for somebody who has more to do; what goes wrong is recorded, once.

    Where that went wrong lately, and the clone is as it was, nothing is tried.
    """
    if agent.isolation != "box":
        return
    with context.locks.trying(_coming_home(agent), within=_PATIENCE) as is_free:
        if not is_free:
            return  # it is under way, and takes long
    seen = homecoming.signature(agent.workspace, agent.branch or "")
    before = context.stuck.get(agent.uid)
    if before is not None and before.holds(seen, context.clock.now()):
        return
    try:
        fetch_commits(context, agent)
    except WindlassError as error:
        why, again = error.message, before is not None and before.seen == seen
        pause = min(2 * before.pause, _LONGEST_PAUSE) if before is not None and again else 1.0
        context.stuck[agent.uid] = Stuck(why, seen, context.clock.now(), pause)
        if before is None or before.why != why:
            _complain(context, agent, why)


def _complain(context: Context, agent: Agent, why: str) -> None:
    log.warning("%s does not come home: %s", agent.id, why)
    event = BranchStuck(id=agent.id, error=why)
    context.store.write(lambda w: w.emit(event, repo=agent.repo, agent=agent.uid))


def refresh(context: Context, repo: RepoId) -> None:
    """Shows the repository's refs, as they are now, to its boxed agents."""
    known = repos.by_id(context, repo)
    if not repos.is_gone(known):
        mirror.refresh(repos.git(known), str(context.folders.mirror(repo)))


def _tell(writing: Writing, *, agent: Agent, tip: str) -> None:
    writing.emit(BranchMoved(id=agent.id, tip=tip), repo=agent.repo, agent=agent.uid)
