"""When the agent of a run is not at work, though its step is not over: it waits for somebody."""

from __future__ import annotations

from functools import partial
from typing import Any

import sqlalchemy as sa

from windlass.core.crew import Agent
from windlass.core.events import RunWaits
from windlass.core.ids import Uid
from windlass.core.jobs import JobId
from windlass.core.states import State
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.states import reminders
from windlass.store import mailbox, rows
from windlass.store.store import Writing

RESTS = (State.PAUSED, State.RATE_LIMITED, State.ASKING)
"""States in which an agent waits for somebody, or for a limit to be over."""


def rests(work: RunningIntent) -> dict[str, Any]:
    """Whether an agent waits by now: time that passes then is not its own."""
    agent = work.read(partial(rows.agent, uid=Uid(work.data["uid"])))
    if agent is None:
        return {"rests": False}
    asks = agent.state is State.WAITING and work.read(partial(expects, agent=agent))
    return {"rests": agent.state in RESTS or asks}


def expects(connection: sa.Connection, agent: Agent) -> bool:
    """Whether a turn begins by itself: with an answer, with mail, or with news of its crew."""
    return reminders.expects(connection, agent)


def tell(writing: Writing, agent: Agent, *, task: str, run: JobId) -> None:
    """Says to those who follow a run what its agent asks."""
    asked = mailbox.questions(writing.connection, repo=agent.repo, sender=agent.uid)
    several = len(asked) > 1
    told = [(one.body, one.id if several else "") for one in asked] or [("", "")]
    for question, message in told:
        waits = RunWaits(task=task, run=run, agent=agent.id, question=question, message=message)
        writing.emit(waits, repo=agent.repo, agent=agent.uid)
