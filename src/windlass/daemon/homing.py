"""Clones of boxed agents: made, kept in step with the repository, and their work brought home.

A clone's commits come into the repository's own `agent/<id>` as soon as somebody looks, and within
a second or so by themselves; the repository's refs go out to the mirror that clones call `origin`.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from windlass.core.crew import Agent
from windlass.core.errors import WindlassError
from windlass.core.ids import RepoId, Uid
from windlass.daemon import boxes, repos
from windlass.daemon.context import Context
from windlass.git import homecoming, mirror, workspaces
from windlass.store import rows
from windlass.store.store import Writing

log = logging.getLogger(__name__)


def lodge(context: Context, agent: Agent) -> None:
    """Makes an agent's workspace, of the kind that its isolation asks for."""
    if agent.branch is None:
        return
    workspaces.create(
        repos.git(repos.by_id(context, agent.repo)),
        path=agent.workspace,
        branch=agent.branch,
        base=agent.base,
        agent=agent.id,
        origin=prepare(context, agent),
    )


def ensure(context: Context, agent: Agent) -> None:
    """Makes a workspace again that was deleted by hand."""
    if agent.branch is None:
        return
    workspaces.ensure(
        repos.git(repos.by_id(context, agent.repo)),
        path=agent.workspace,
        branch=agent.branch,
        agent=agent.id,
        origin=prepare(context, agent),
    )


def prepare(context: Context, agent: Agent) -> str | None:
    """The mirror, up to date, that a boxed agent's clone has for `origin`; None for a worktree."""
    if agent.isolation != "box":
        return None
    refresh(context, agent.repo)
    return str(context.folders.mirror(agent.repo))


def bring(context: Context, agent: Agent) -> None:
    """Brings what a boxed agent committed into the repository; quick where nothing is new."""
    if agent.isolation != "box" or agent.branch is None or agent.ended_at is not None:
        return
    repo = repos.by_id(context, agent.repo)
    seen = homecoming.signature(agent.workspace, agent.branch)
    if seen == context.brought.get(agent.uid) or repos.is_gone(repo):
        return
    with context.holding([_coming_home(agent)]):
        if not Path(agent.workspace).is_dir():
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
    with context.holding([_coming_home(agent)]):
        yield
        context.brought[agent.uid] = homecoming.signature(agent.workspace, agent.branch or "")


def _coming_home(agent: Agent) -> Uid:
    return Uid(f"{agent.uid} comes home")


def try_to_bring(context: Context, agent: Agent) -> None:
    """Brings it for somebody who has more to do; what goes wrong is recorded, once."""
    try:
        bring(context, agent)
    except WindlassError as error:
        told = error.message
        if context.stuck.get(agent.uid) == told:
            return
        context.stuck[agent.uid] = told
        log.warning("%s does not come home: %s", agent.id, told)
        context.store.write(
            lambda w: w.emit(
                "branch.stuck", repo=agent.repo, agent=agent.uid, id=agent.id, error=told
            )
        )


def refresh(context: Context, repo: RepoId) -> None:
    """Shows the repository's refs, as they are now, to its boxed agents."""
    known = repos.by_id(context, repo)
    if not repos.is_gone(known):
        mirror.refresh(repos.git(known), str(context.folders.mirror(repo)))


def keep_in_step(context: Context) -> None:
    """Does both for every boxed agent that lives."""
    boxed = [agent for agent in context.store.read(rows.agents) if agent.isolation == "box"]
    for agent in boxed:
        if agent.session > 0:
            try_to_bring(context, agent)
    for repo in {agent.repo for agent in boxed}:
        try:
            refresh(context, repo)
        except WindlassError as error:
            log.warning("the mirror of %s is not in step: %s", repo, error.message)


def _tell(writing: Writing, *, agent: Agent, tip: str) -> None:
    writing.emit("branch.moved", repo=agent.repo, agent=agent.uid, id=agent.id, tip=tip)
