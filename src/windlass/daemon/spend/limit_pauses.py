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
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.operations import IntentDraft
from windlass.daemon.mail import notices
from windlass.store import rows
from windlass.store.store import Writing

log = logging.getLogger(__name__)

_TRIES = 3


class Overrun(NamedTuple):
    """A session of an agent that is beyond a limit: its name, why, and the events that tell it.

    `notice` is what the person is told besides, where there is something to do.
    """

    agent: Agent
    session: int
    limit: str
    why: str
    events: tuple[EventData, ...]
    notice: str = ""


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
            told = overrun if number == 1 else overrun._replace(events=(), notice="")
            try:
                self._intents.perform("pause", key, partial(_begin, told))
            except Conflict:
                log.debug("%s needs no pause any more", agent.id)
            except WindlassError as error:
                log.warning("cannot pause %s: %s", agent.id, error.message)
            return


def _begin(overrun: Overrun) -> IntentDraft:
    agent = overrun.agent

    def prepare(writing: Writing) -> dict[str, Any]:
        session = rows.newest_session(writing.connection, agent.uid)
        if session is None or session.number != overrun.session or session.ended_at is not None:
            raise Conflict(f"session {overrun.session} of {agent.id} is over", "nothing to pause")
        for event in overrun.events:
            writing.emit(event, repo=agent.repo, agent=agent.uid)
        if overrun.notice:
            text = overrun.notice
            notices.post(writing, agent.repo, agent.id, "waiting", text, agent=agent.uid)
        return {"uid": agent.uid, "number": overrun.session, "why": f"paused: {overrun.why}"}

    return IntentDraft(agent.repo, None, prepare)
