"""Pauses of agents that are beyond a limit: of money, time or disk.

A pause can fail, when a process would not end. It is tried again at the next look, but not for
ever, and what was exceeded is told once. Who is beyond what is judged by `budgets` and `disk`, and
by `states.evidence`, which knows files that nobody may make.
"""

from __future__ import annotations

import logging
import threading
from functools import partial
from typing import Any, NamedTuple

from windlass.core.crew import Agent
from windlass.core.errors import Conflict, WindlassError
from windlass.core.events import EventData
from windlass.core.ids import Uid
from windlass.core.mail import messages
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.operations import IntentDraft
from windlass.daemon.mail import from_windlass, notices
from windlass.store import rows
from windlass.store.store import Writing

log = logging.getLogger(__name__)

_TRIES = 3


class Overrun(NamedTuple):
    """A session of an agent that is beyond a limit: its name, why, and the events that tell it.

    `notice` is what is told of it where more is to do than `hint` says, which lets it go on.
    """

    agent: Agent
    session: int
    limit: str
    why: str
    events: tuple[EventData, ...]
    notice: str = ""
    hint: str = ""

    @property
    def told(self) -> str:
        """What the person and the agent's manager are told: why, and what lets it go on."""
        resume = f"wl resume {self.agent.id}"
        steps = [self.hint] if self.hint else []
        steps += [] if resume in self.hint else [resume]
        go_on = ", then ".join(steps)
        return self.notice or f"Agent {self.agent.id} was paused: {self.why}. To go on: {go_on}"


class LimitPauses:
    """Pauses the sessions of agents that are beyond a limit."""

    def __init__(self, context: Context, intents: Intents) -> None:
        self._context = context
        self._intents = intents
        self._under_way: set[Uid] = set()
        self._guard = threading.Lock()

    def begin(self, overrun: Overrun) -> None:
        """Has an agent paused in a thread of its own, one at a time for each."""
        with self._guard:
            if overrun.agent.uid in self._under_way:
                return
            self._under_way.add(overrun.agent.uid)
        self._context.pools.begin("budget", self._try, overrun)

    def _try(self, overrun: Overrun) -> None:
        try:
            self.perform(overrun)
        except Exception:
            # Nobody waits for this thread; the next look tries again.
            log.exception("cannot pause %s", overrun.agent.id)
        finally:
            with self._guard:
                self._under_way.discard(overrun.agent.uid)

    def perform(self, overrun: Overrun) -> None:
        """Pauses an agent, unless that session is over or too many tries have failed."""
        agent = overrun.agent
        for number in range(1, _TRIES + 1):
            key = f"{overrun.limit}-{agent.uid}-{overrun.session}-{number}"
            known = self._context.store.read(partial(rows.intent, key=key))
            if known is not None and known.status == "failed":
                continue
            begin = partial(_begin, overrun, is_news=number == 1)
            try:
                self._intents.perform("pause", key, begin)
            except Conflict:
                log.debug("%s needs no pause any more", agent.id)
            except WindlassError as error:
                log.warning("cannot pause %s: %s", agent.id, error.message)
            return


def _begin(overrun: Overrun, *, is_news: bool) -> IntentDraft:
    agent = overrun.agent

    def prepare(writing: Writing) -> dict[str, Any]:
        session = rows.newest_session(writing.connection, agent.uid)
        if session is None or session.number != overrun.session or session.ended_at is not None:
            raise Conflict(f"session {overrun.session} of {agent.id} is over", "nothing to pause")
        if is_news:
            _tell(writing, overrun)
        return {"uid": agent.uid, "number": overrun.session, "why": f"paused: {overrun.why}"}

    return IntentDraft(agent.repo, None, prepare)


def _tell(writing: Writing, overrun: Overrun) -> None:
    """Tells the log, the person and the manager, who would wait for it in vain."""
    agent = overrun.agent
    for event in overrun.events:
        writing.emit(event, repo=agent.repo, agent=agent.uid)
    notices.post(writing, agent.repo, agent.id, "waiting", overrun.told, agent=agent.uid)
    manager = rows.agent(writing.connection, agent.parent) if agent.parent else None
    if manager is not None and manager.ended_at is None:
        from_windlass.say(writing, manager, overrun.told, topic=messages.state_of(agent.uid))
