"""Observations and the state that follows from them, in the transaction of whoever saw something.

Each source's latest word about an agent is kept here; the fold itself is `core.states`'.
"""

from __future__ import annotations

from windlass.core import reasons, states
from windlass.core.crew import Agent
from windlass.core.events import AgentState, SessionEnded
from windlass.core.ids import Uid
from windlass.core.reasons import Reason
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


def is_known_limit(writing: Writing, agent: Agent, seen: Observation) -> bool:
    """Whether a screen tells of a limit that it was known to show, as a later daemon sees it again.

    What it said of its end ("resets 3pm") counts from the first time.
    """
    if seen.source is not Source.SCREEN or seen.value is not State.RATE_LIMITED:
        return False
    fresh = rows.agent(writing.connection, agent.uid)
    if fresh is None or fresh.state is not State.RATE_LIMITED:
        return False
    known = rows.observations(writing.connection, agent.uid)
    reason = reasons.in_short(seen.reason)
    return any(
        old.source is seen.source and old.session == seen.session and old.reason == reason
        for old in known
    )


def settle(writing: Writing, uid: Uid) -> None:
    """Folds the observations of an agent into its state; a change is an event."""
    agent = rows.agent(writing.connection, uid)
    if agent is None or agent.ended_at is not None:
        return
    verdict = states.fold(rows.observations(writing.connection, uid), now=writing.now)
    if verdict.state == agent.state:
        return
    winner = verdict.winner
    reason = winner.reason if winner else reasons.UNKNOWN
    changed = rows.change_agent(writing, uid, state=verdict.state, state_at=writing.now)
    event = AgentState(
        was=agent.state,
        now=verdict.state,
        source=winner.source if winner else "none",
        evidence=reasons.sentence(reason),
        session=winner.session if winner else 0,
        reason=reason.kind,
    )
    writing.emit(event, repo=agent.repo, agent=uid)
    reports.on_state(writing, agent, changed, reason)


def record_end(writing: Writing, agent: Agent, session: Session, facts: Facts) -> None:
    """Records that a session is over, once."""
    fresh = rows.session(writing.connection, agent.uid, session.number)
    if fresh.ended_at is not None:
        return
    ended = facts.exited_at or writing.now
    over = {"ended_at": ended, "exit_code": facts.exit_code}
    rows.change_session(writing, agent.uid, session.number, **over)
    reason = _how_it_ended(session, facts)
    how = reasons.how_it_ended(reason)
    event = SessionEnded(session=session.number, exit_code=facts.exit_code, how=how)
    writing.emit(event, repo=agent.repo, agent=agent.uid)
    seen = Observation(
        source=Source.PROCESS,
        value=State.STOPPED,
        at=ended,
        reason=reason,
        session=session.number,
    )
    observe(writing, agent, seen)


def _how_it_ended(session: Session, facts: Facts) -> Reason:
    number, code, why = session.number, facts.exit_code, facts.reason or ""
    if code is not None:
        return Reason(kind="exited", session=number, code=code, text=why)
    return Reason(kind="unstartable" if why else "vanished", session=number, text=why)
