"""Why the agents of runs rest that are paused, at a limit, or ask for something."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import sqlalchemy as sa

from windlass.core import reasons, states
from windlass.core.ids import Uid
from windlass.core.states import State
from windlass.daemon.runs.standstill import RESTS
from windlass.store import mailbox, rows


def _asks(agent: str, questions: Sequence[str]) -> str:
    """What somebody asks, and how it is answered."""
    if len(questions) > 1:
        return f"asks you {len(questions)} things: {questions[-1]}; wl questions shows all"
    return f"asks you: {questions[0]}; wl answer {agent} '...'"


def of_agents(connection: sa.Connection, agents: Collection[Uid], *, now: float) -> dict[Uid, str]:
    """What keeps each of these agents that rests; those at work are not among them."""
    found: dict[Uid, str] = {}
    for uid in agents:
        agent = rows.agent(connection, uid)
        if agent is None or agent.ended_at is not None:
            continue
        asked = mailbox.questions(connection, repo=agent.repo, sender=uid)
        if asked and agent.state is State.WAITING:
            found[uid] = _asks(agent.id, [question.body for question in asked])
        if agent.state not in RESTS:
            continue
        winner = states.fold(rows.observations(connection, uid), now=now).winner
        why = reasons.sentence(winner.reason) if winner is not None else ""
        found[uid] = f"its agent is {agent.state.value.replace('_', ' ')}" + f": {why}" * bool(why)
    return found
