"""Reconciles the store with the crew that lives: when a daemon starts, before anybody is answered.

A store that was lost and begun anew, or replaced by an older copy, knows nothing of some agents and
takes others for what they were. Cards say how they are. Order is by the numbers of events alone:
the store is right about an agent unless the agent's card is from further on.
"""

from __future__ import annotations

import json
import logging
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from sqlalchemy.exc import IntegrityError

from windlass.core import crew
from windlass.core.crew import Agent
from windlass.core.events import AgentGone, AgentRefused, AgentTakenIn, StoreReplaced
from windlass.core.ids import Uid
from windlass.core.reasons import Reason
from windlass.core.states import Observation, Source, State
from windlass.daemon.kernel.cards import Card, Cards
from windlass.daemon.kernel.context import Context, session_name
from windlass.daemon.mail import notices
from windlass.daemon.states import observations
from windlass.store import rows
from windlass.store.rows import Repo, Session
from windlass.store.store import Replaced, Writing

log = logging.getLogger(__name__)


class _Differences(NamedTuple):
    """What the store does not know of the crew."""

    newer: list[Card]
    """Agents that the store does not know, or knows as they were before."""
    ended: dict[Uid, str | None]
    """Agents that the store takes for alive and that have ended, with their archives."""
    last: int
    """How far the log had come."""


def reconcile(context: Context) -> bool:
    """Takes in whom the store does not know, and ends whom it knows and who is gone.

    Returns whether the store is older than what lives: what is open in it may be done by now.
    """
    cards = Cards(context)
    found = _differences(context, cards.all())
    replaced = context.store.replaced
    behind = bool(found.ended)
    if replaced is not None or found.newer or found.ended:
        sessions = {card.agent.uid: sessions_of(context, card.agent) for card in found.newer}
        taken_in = context.store.write(lambda w: _record(w, replaced, found, sessions))
        behind = behind or bool(taken_in)
    cards.bring_in_step()
    context.store.listen(cards.heed)
    copy = replaced.copy if replaced is not None else None
    return behind or (copy is not None and not copy.rescued)


def _differences(context: Context, cards: list[Card]) -> _Differences:
    last = context.store.read(rows.newest_event)
    live = context.store.read(rows.agents)
    newer = [
        card
        for card in cards
        if card.event > last or context.store.read(partial(rows.agent, uid=card.agent.uid)) is None
    ]
    carded = {card.agent.uid for card in cards}
    names = {(card.agent.repo, card.agent.id) for card in newer}
    archives = _Archives(context)
    ended: dict[Uid, str | None] = {}
    for agent in live:
        if agent.uid in carded:
            continue
        if not context.folders.agent(agent.uid).exists() and (archive := archives.of(agent.uid)):
            ended[agent.uid] = archive
        elif (agent.repo, agent.id) in names:  # somebody else has the name, and the workspace, now
            ended[agent.uid] = None
    return _Differences(newer, ended, max((last, *(card.event for card in cards))))


class _Archives:
    """The archives of ended agents, read when somebody is first looked for."""

    def __init__(self, context: Context) -> None:
        self._folder = context.folders.archive
        self._by_uid: dict[str, str] | None = None

    def of(self, uid: Uid) -> str | None:
        """The newest archive of an agent."""
        if self._by_uid is None:
            self._by_uid = {}
            for file in sorted(self._folder.glob("*/agent.json")):
                self._by_uid[_uid_in(file)] = file.parent.name
        return self._by_uid.get(uid)


def _uid_in(file: Path) -> str:
    try:
        row = json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        log.warning("%s does not say whose it is: %s", file, error)
        return ""
    return str(row.get("uid", "")) if isinstance(row, dict) else ""


def _record(
    writing: Writing,
    replaced: Replaced | None,
    found: _Differences,
    sessions: dict[Uid, list[Session]],
) -> list[Agent]:
    """Has the store know the crew as it is, and the person what was done; returns who is back."""
    copy = replaced.copy if replaced else None
    event = StoreReplaced(
        why=replaced.why if replaced else "it does not know all that lives",
        copy=str(copy.path) if copy else None,
        kept=str(replaced.kept) if replaced and replaced.kept else None,
    )
    writing.emit(event, beyond=found.last)
    for uid, archive in found.ended.items():
        _end(writing, uid, archive)
    taken_in = [card.agent for card in found.newer if _try(writing, card, sessions)]
    refused = [card.agent for card in found.newer if card.agent not in taken_in]
    for agent in taken_in:
        _drop_unknown_parent(writing, agent.uid)
    place = f"the copy {event.copy}" if copy else "nothing: it was begun anew"
    lost = "the database was lost, or is an older one: it does not know all that lives"
    if replaced is not None:
        lost = f"the database was lost ({event.why}); in its place is {place}"
    missing = "mail and history since then are not in it"
    if copy and copy.rescued:
        missing = "that has everything up to the loss"
    for repo in rows.repos(writing.connection):
        text = (
            f"{lost}{_named('taken in again', taken_in, repo)}"
            f"{_named('could not be taken in again', refused, repo)}; {missing};"
            " `wl doctor` names orphans"
        )
        notices.post(writing, repo.id, "windlass", "waiting", text, by_hand=True)
    return taken_in


def _named(what: str, agents: list[Agent], repo: Repo) -> str:
    """Tells the person which agents of a repository something became of."""
    names = [agent.id for agent in agents if agent.repo == repo.id]
    return f"; {what}: {', '.join(names)}" if names else ""


def _try(writing: Writing, card: Card, sessions: dict[Uid, list[Session]]) -> bool:
    """Takes an agent in, unless its card contradicts the store: a daemon starts in any case."""
    evidence = f"crew/{card.agent.uid}.json"
    try:
        with writing.connection.begin_nested():
            take_in(writing, card, sessions[card.agent.uid], evidence=evidence)
    except IntegrityError as error:
        refused = AgentRefused(id=card.agent.id, evidence=evidence, why=str(error.orig))
        writing.emit(refused, agent=card.agent.uid)
        return False
    return True


def _end(writing: Writing, uid: Uid, archive: str | None) -> None:
    how = f"archive/{archive}" if archive else "another agent has its name"
    agent = rows.change_agent(
        writing, uid, ended_at=writing.now, ended_by="an older store", archive=archive
    )
    writing.emit(AgentGone(id=agent.id, evidence=how), repo=agent.repo, agent=agent.uid)


def take_in(writing: Writing, card: Card, sessions: list[Session], *, evidence: str) -> None:
    """Makes an agent known as its card has it, with the sessions that it has had."""
    connection, agent = writing.connection, card.agent
    rows.keep_repo(writing, card.repo)
    others = [other for other in rows.agents(connection) if other.uid != agent.uid]
    slot = crew.free_slot(others) if agent.slot in {o.slot for o in others} else agent.slot
    newest = max((session.number for session in sessions), default=0)
    alive = msgspec.structs.replace(
        agent,
        slot=slot,
        session=max(agent.session, newest) if sessions else 0,
        state=State.CREATING,
        state_at=writing.now,
        archive=None,
        ended_at=None,
        ended_by=None,
    )
    if rows.agent(connection, agent.uid) is None:
        rows.add_agent(writing, alive)
    else:
        rows.change_agent(writing, **msgspec.structs.asdict(alive))
    known = {session.number for session in rows.sessions(connection, agent.uid)}
    for session in sessions:
        if session.number not in known:
            rows.add_session(writing, session)
    writing.emit(AgentTakenIn(id=agent.id, evidence=evidence), repo=agent.repo, agent=agent.uid)
    observations.observe(writing, alive, _first_seen(agent, newest, evidence, now=writing.now))


def _first_seen(agent: Agent, session: int, evidence: str, *, now: float) -> Observation:
    """What is known of an agent before its session is looked at."""
    if agent.state is State.PAUSED:
        source, value = Source.WINDLASS, State.PAUSED
        reason = Reason(kind="paused", text="paused before the store was lost")
    elif session:
        source, value = Source.WINDLASS, State.CREATING
        reason = Reason(kind="session_begun", session=session)
    else:
        source, value = Source.PROCESS, State.STOPPED
        reason = Reason(kind="restored", text=evidence)
    return Observation(source=source, value=value, at=now, reason=reason, session=session)


def _drop_unknown_parent(writing: Writing, uid: Uid) -> None:
    agent = rows.agent(writing.connection, uid)
    above = rows.agent(writing.connection, agent.parent) if agent and agent.parent else None
    if agent and agent.parent and (above is None or above.ended_at is not None):
        rows.change_agent(writing, uid, parent=None)


def sessions_of(context: Context, agent: Agent) -> list[Session]:
    """The sessions that an agent's folder tells of; all but the newest are over."""
    folder = context.folders.agent(agent.uid) / "sessions"
    numbers = sorted(int(path.name) for path in folder.glob("[0-9]*") if path.name.isdecimal())
    now = context.clock.now()
    sessions = []
    for number in numbers:
        own = context.folders.session(agent.uid, number)
        if (started := context.sessions.started(own)) is None:
            continue
        begun = context.sessions.begun(own, session_name(agent))
        over = now if number != numbers[-1] else None
        sessions.append(
            Session(
                agent=agent.uid,
                number=number,
                marker=started.marker,
                started_at=now if begun else None,
                ended_at=over,
            )
        )
    return sessions
