"""Agents that cannot go on by themselves: their managers and the person are told, once each.

Which kinds there are is in `core.mail.stalls`. That somebody was told is an event, so a daemon that
comes after does not tell it again; for how long something lasts is measured by this one alone.
"""

from __future__ import annotations

from functools import partial

import sqlalchemy as sa

from windlass.core import events
from windlass.core.crew import Agent
from windlass.core.events import AgentStalled, BranchMoved
from windlass.core.ids import Uid
from windlass.core.mail import messages, stalls
from windlass.core.mail.stalls import Stall
from windlass.core.states import State
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.mail import from_windlass, notices
from windlass.daemon.policy import denials
from windlass.daemon.states import reminders
from windlass.store import rows
from windlass.store.store import Writing

_BACK = 20


class Stalls:
    """Looks now and then for agents that stall."""

    def __init__(self, context: Context, fetcher: CommitFetcher) -> None:
        self._context = context
        self._fetcher = fetcher
        self._since: dict[Uid, dict[stalls.What, float]] = context.memory.per_agent()
        """Since when each agent is held up by what, by the clock that only goes forward."""
        self._denials: dict[Uid, str] = context.memory.per_agent()

    def denied(self, uid: Uid) -> str:
        """What an agent at work was denied again and again when it was last looked at, if so."""
        return self._denials.get(uid, "")

    def look(self) -> None:
        """Tells of whoever has stalled for long and was not told of yet."""
        for agent in self._context.store.read(rows.agents):
            found = [stall for stall in self._found(agent) if stall is not None]
            self._forget_others(agent.uid, found)
            for stall in found:
                if self._lasts(agent.uid, stall) and not self._is_told(agent, stall):
                    self._context.store.write(partial(_tell, agent=agent, stall=stall))

    def _found(self, agent: Agent) -> tuple[Stall | None, ...]:
        return self._denied(agent), self._setup(agent), self._homecoming(agent)

    def _denied(self, agent: Agent) -> Stall | None:
        def read(connection: sa.Connection) -> Stall | None:
            found = denials.hindrance(connection, agent)
            self._denials.pop(agent.uid, None)
            if found is None:
                return None
            if agent.state is not State.WAITING:
                self._denials[agent.uid] = found.reason
            elif reminders.expects(connection, agent):
                return None  # something else sets it going
            return stalls.denied(agent.id, found.reason, count=found.times)

        return self._context.store.read(read)

    def _setup(self, agent: Agent) -> Stall | None:
        if agent.state is not State.CREATING:
            return None
        seen = self._context.store.read(lambda c: rows.observations(c, agent.uid))
        log = self._context.folders.agent(agent.uid) / "setup.log"
        return stalls.setup(agent.id, seen[-1].evidence if seen else "", log=str(log))

    def _homecoming(self, agent: Agent) -> Stall | None:
        if agent.isolation != "box" or self._fetcher.too_much(agent) is not None:
            return None  # who commits too much is paused, and that is told
        error = self._fetcher.hindrance(agent, patience=stalls.LONG["homecoming"])
        return stalls.homecoming(agent.id, error.message, error.hint) if error else None

    def _forget_others(self, uid: Uid, found: list[Stall]) -> None:
        known = self._since.get(uid, {})
        kept = {stall.what: known[stall.what] for stall in found if stall.what in known}
        if kept or known:
            self._since[uid] = kept

    def _lasts(self, uid: Uid, stall: Stall) -> bool:
        now = self._context.clock.monotonic()
        since = self._since.setdefault(uid, {}).setdefault(stall.what, now)
        return now - since >= stalls.LONG[stall.what]

    def _is_told(self, agent: Agent, stall: Stall) -> bool:
        return self._context.store.read(lambda c: _is_told(c, agent, stall))


def _is_told(connection: sa.Connection, agent: Agent, stall: Stall) -> bool:
    """Whether it was told since the agent was set to work, or has brought something home."""
    told = rows.events(connection, agent=agent.uid, kind=AgentStalled.kind, last=_BACK)
    alike = [e for e in told if events.read(AgentStalled, e).what == stall.what]
    if stall.what == "denied":
        since = denials.set_to_work(connection, agent)
    elif stall.what == "homecoming":
        moved = rows.events(connection, agent=agent.uid, kind=BranchMoved.kind, last=1)
        since = moved[0].id if moved else 0
    else:
        return any(events.read(AgentStalled, e).session == agent.session for e in alike)
    return any(e.id > since for e in alike)


def _tell(writing: Writing, *, agent: Agent, stall: Stall) -> None:
    """Tells the log, the person and the manager, who would wait for it in vain."""
    if _is_told(writing.connection, agent, stall):
        return
    event = AgentStalled(id=agent.id, what=stall.what, why=stall.why, session=agent.session)
    writing.emit(event, repo=agent.repo, agent=agent.uid)
    text = stall.told(agent.id)
    notices.post(writing, agent.repo, agent.id, "waiting", text, agent=agent.uid)
    manager = rows.agent(writing.connection, agent.parent) if agent.parent else None
    if manager is not None and manager.ended_at is None:
        from_windlass.say(writing, manager, text, topic=messages.stall_of(agent.uid))
