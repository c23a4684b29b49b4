"""Authors of what came back: who has ended is brought back, whose session has ended goes on.

Nobody is brought back whom a person has ended together with all others, and no session is begun
again that `wl estop` has ended: the person is told instead, and decides.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import sqlalchemy as sa

from windlass.api.daemon_record import EMERGENCY
from windlass.core.config import Config
from windlass.core.crew import DEFAULT_MAX_AGENTS, Agent
from windlass.core.errors import Conflict, Denied, WindlassError
from windlass.core.ids import Uid
from windlass.core.states import State
from windlass.daemon.kernel import file_stat
from windlass.daemon.kernel.context import Context
from windlass.store import rows
from windlass.store.rows import Session

Wake = Callable[[Uid, str], None]
"""Goes on with an agent whose session has ended, once under a key."""
BringBack = Callable[[Uid, str], None]
"""Restores an agent that has ended, once under a key, as what it was."""
_AT_REST = frozenset({State.PAUSED, State.RATE_LIMITED, State.CREATING})
"""States of agents that go on by themselves, or by the person's word alone."""


class _Author(NamedTuple):
    agent: Agent
    session: Session | None


class Authors:
    """Reaches the agents that have to mend something."""

    def __init__(self, context: Context, wake: Wake, bring_back: BringBack) -> None:
        self._context = context
        self._wake = wake
        self._bring_back = bring_back

    def resume(self, uid: Uid, key: str) -> None:
        """Has an agent go on whose session is over; a person's pause stays one."""
        author = self._context.store.read(partial(_author, uid=uid))
        if author is None or author.agent.ended_at is not None or author.agent.state in _AT_REST:
            return
        session = author.session
        if session is None or session.ended_at is None:
            return
        if (session.started_at or 0.0) <= self._emergency() <= session.ended_at:
            raise Denied("`wl estop` has ended its session", f"wl resume {author.agent.id}")
        self._wake(uid, key)

    def restore(self, uid: Uid, key: str, *, config: Config) -> None:
        """Brings back an agent that has ended; raises where that cannot be, or was not meant."""
        author = self._context.store.read(partial(_author, uid=uid))
        if author is None:
            raise Conflict("nobody knows its author any more", "mend it yourself")
        agent = author.agent
        if agent.ended_at is None:
            return
        by_hand = f"wl trash restore {agent.id}"
        if agent.ended_by == "nuke":
            raise Denied(f"{agent.id} was ended with others at once (nuke)", by_hand)
        if agent.ended_at <= self._emergency():
            raise Denied(f"{agent.id} ended before `wl estop`", by_hand)
        live = self._context.store.read(partial(rows.agents, repo=agent.repo))
        most = config.max_agents or DEFAULT_MAX_AGENTS
        if len(live) >= most:
            raise Denied(f"{len(live)} agents live, and max_agents is {most}", "end some: wl kill")
        self._bring_back(uid, key)

    def _emergency(self) -> float:
        return file_stat.written_at(self._context.folders.home / EMERGENCY)


def _author(connection: sa.Connection, uid: Uid) -> _Author | None:
    agent = rows.agent(connection, uid)
    return None if agent is None else _Author(agent, rows.newest_session(connection, uid))


def why_not(error: WindlassError) -> str:
    """Why an author could not be reached, with what to type."""
    return f"{error.message}; {error.hint}" if error.hint else error.message
