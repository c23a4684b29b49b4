"""Agents in their first session, in the store alone: put there, found at their end, looked at."""

from __future__ import annotations

from functools import partial

from tests.support import whole_rows

from windlass.core.crew import Agent
from windlass.core.sessions import Facts
from windlass.core.states import State
from windlass.daemon.kernel.context import Context
from windlass.daemon.states import observations
from windlass.store import rows
from windlass.store.rows import Session


def begins(context: Context, agent: Agent) -> Agent:
    """Keeps an agent, and that its first session runs."""
    session = Session(agent=agent.uid, number=1, marker=agent.uid, started_at=1.0)
    context.store.write(lambda w: whole_rows.put_agent(w, agent))
    context.store.write(lambda w: whole_rows.put_session(w, session))
    return agent


def ends(context: Context, agent: Agent, code: int | None) -> None:
    """Has an agent's session be found at its end."""
    session = context.store.read(lambda c: rows.session(c, agent.uid, 1))
    facts = Facts(alive=False, exit_code=code)
    context.store.write(partial(observations.record_end, agent=agent, session=session, facts=facts))


def state_of(context: Context, agent: Agent) -> State:
    """The state that an agent is in now."""
    now = context.store.read(lambda c: rows.agent(c, agent.uid))
    assert now is not None
    return now.state
