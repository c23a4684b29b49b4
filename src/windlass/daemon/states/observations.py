"""Observations and the state that follows from them, in the transaction of whoever saw something.

Each source's latest word about an agent is kept here; the fold itself is `core.states`'.
"""

from __future__ import annotations

import msgspec

from windlass.core import states
from windlass.core.crew import Agent
from windlass.core.events import AgentState, SessionEnded
from windlass.core.ids import Uid
from windlass.core.sessions import Facts
from windlass.core.states import Observation, Source, State
from windlass.daemon.states import reports
from windlass.store import rows
from windlass.store.rows import Session
from windlass.store.store import Writing

TOOLS = "tools"
"""The mark that counts an agent's tool calls, from session to session."""


def observe(writing: Writing, agent: Agent, seen: Observation) -> None:
    """Keeps an observation and the state that follows from it, in one transaction."""
    rows.put_observation(writing, agent.uid, seen)
    settle(writing, agent.uid)


def settle(writing: Writing, uid: Uid) -> None:
    """Folds the observations of an agent into its state; a change is an event."""
    agent = rows.agent(writing.connection, uid)
    if agent is None or agent.ended_at is not None:
        return
    verdict = states.fold(rows.observations(writing.connection, uid), now=writing.now)
    if verdict.state == agent.state:
        return
    winner = verdict.winner
    changed = msgspec.structs.replace(agent, state=verdict.state, state_at=writing.now)
    rows.put_agent(writing, changed)
    told = AgentState(
        was=agent.state,
        now=verdict.state,
        source=winner.source if winner else "none",
        evidence=winner.evidence if winner else "",
        session=winner.session if winner else 0,
    )
    writing.emit(told, repo=agent.repo, agent=uid)
    reports.on_state(writing, agent, changed, winner.evidence if winner else "")


def record_end(writing: Writing, agent: Agent, session: Session, facts: Facts) -> None:
    """Records that a session is over, once."""
    fresh = rows.session(writing.connection, agent.uid, session.number)
    if fresh.ended_at is not None:
        return
    ended = facts.exited_at or writing.now
    kept = msgspec.structs.replace(fresh, ended_at=ended, exit_code=facts.exit_code)
    rows.put_session(writing, kept)
    how = (
        "ended without a trace"
        if facts.exit_code is None
        else f"ended with exit code {facts.exit_code}"
    )
    if facts.reason:
        how = "could not be started" if facts.exit_code is None else how
        how = f"{how}: {facts.reason}"
    told = SessionEnded(session=session.number, exit_code=facts.exit_code, how=how)
    writing.emit(told, repo=agent.repo, agent=agent.uid)
    seen = Observation(
        source=Source.PROCESS,
        value=State.STOPPED,
        at=ended,
        evidence=f"session {session.number} {how}",
        session=session.number,
    )
    observe(writing, agent, seen)
