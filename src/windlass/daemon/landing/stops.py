"""The effect `landing.stop`: changes leave the queue without having landed, and authors hear of it.

An agent has its ticket in its mailbox, and is woken where its session has ended. The person is told
after `landing.max_attempts` times, and of what only a person can decide.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from windlass.core import shapes
from windlass.core.crew import Agent
from windlass.core.errors import WindlassError
from windlass.core.events import ChangeStopped
from windlass.core.ids import RepoId, Uid
from windlass.core.landing import changes as core
from windlass.core.landing import job as landing_job
from windlass.core.landing.changes import OPEN, Change, ChangeId, Ticket
from windlass.core.landing.job import Stopped
from windlass.core.states import State
from windlass.daemon.gate import gates
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import Operation, Step
from windlass.daemon.kernel.project_file import PROJECT_FILE
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.landing import tickets
from windlass.daemon.launch import clones
from windlass.daemon.mail import from_windlass, notices
from windlass.store import changes as rows
from windlass.store import rows as agent_rows
from windlass.store import verdicts
from windlass.store.store import Writing

log = logging.getLogger(__name__)
_CAME_BACK = frozenset({"rejected", "conflict"})
_STOPPABLE = OPEN | {"proposed"}


Wake = Callable[[Uid, str, Uid | None], None]
"""Goes on with an agent whose session has ended, once under a key, as somebody or the person."""


class _Told(NamedTuple):
    change: Change
    author: Agent | None


class Stops:
    """Says of changes why they do not land as they are."""

    def __init__(self, context: Context, wake: Wake) -> None:
        self._context = context
        self._wake_agent = wake

    def operation(self) -> Operation:
        """What is known is put together, told in one transaction, and authors are woken."""
        return Operation(
            landing_job.STOP,
            (Step("tell", self._tell), Step("wake", self._wake)),
            lambda _: [],
            lambda work: {"changes": [found["change"] for found in work.data["stopped"]]},
        )

    def _tell(self, work: RunningIntent) -> None:
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        stopped = [shapes.convert(kept, Stopped) for kept in work.data["stopped"]]
        gate = gates.find(self._context, repo)
        spec = gate.spec if gate is not None else None
        most = gate.config.landing.max_attempts if gate is not None else 1
        written = {}
        for found in stopped:
            tree = found.tried.tree if found.tried is not None else ""
            newest = partial(verdicts.newest_not_green, repo=repo.id, tree=tree)
            verdict = self._context.store.read(newest)
            written[found.change] = tickets.ticket(found, verdict, spec)

        def change(writing: Writing) -> None:
            woken = []
            for found in stopped:
                ticket = written[found.change]
                told = _stop(writing, repo.id, found, ticket)
                if told is not None and _tell_whom_it_concerns(writing, told, ticket, most=most):
                    woken.append(told.change.author)
            work.keep_in(writing, woken=[*work.data.get("woken", []), *woken])

        if "woken" not in work.data:
            self._show_target(repo.id)
            self._context.store.write(change)

    def _show_target(self, repo: RepoId) -> None:
        """Shows boxed authors the target as it is: the ticket asks them to merge just that."""
        live = self._context.store.read(partial(agent_rows.agents, repo=repo))
        if not any(agent.isolation == "box" for agent in live):
            return
        try:
            clones.refresh_mirror(self._context, repo)
        except WindlassError as error:  # it is tried again each second
            log.warning("the mirror of %s is not in step: %s", repo, error.message)

    def _wake(self, work: RunningIntent) -> None:
        """Has authors go on whose sessions have ended; a person's pause stays one."""
        for uid in work.data["woken"]:
            author = self._context.store.read(partial(agent_rows.agent, uid=Uid(uid)))
            if author is None or author.ended_at is not None or author.state != State.STOPPED:
                continue
            try:
                self._wake_agent(author.uid, f"{work.intent.id}:wake:{uid}", None)
            except WindlassError as error:
                text = f"{author.id} has a ticket and cannot be resumed: {error.message}"
                self._context.store.write(
                    lambda writing, author=author, text=text: notices.post(  # type: ignore[misc]
                        writing, author.repo, author.id, "waiting", text, by_hand=True
                    )
                )


def _stop(writing: Writing, repo: RepoId, stopped: Stopped, ticket: Ticket) -> _Told | None:
    """Takes a change out of the queue, unless it has another revision or state by now."""
    found = rows.find(writing.connection, repo, ChangeId(stopped.change))
    if found is None or found.head != stopped.head or found.state not in _STOPPABLE:
        return None
    columns: dict[str, Any] = {"state": stopped.state, "why": ticket.why, "ticket": ticket}
    if stopped.state in _CAME_BACK:
        columns["attempts"] = found.attempts + 1
    if stopped.tried is not None and stopped.tried.marks:
        columns["guards"] = (*found.guards, *stopped.tried.marks)
    if stopped.tried is not None and (edits := stopped.tried.edits):
        # Whoever has let it in has not seen these.
        columns |= {"edits": (*found.edits, *edits), "approval": None}
        columns["alone"] = found.alone or PROJECT_FILE in edits
    rows.move(writing, found, **columns)
    event = ChangeStopped(change=found.id, target=found.target, state=stopped.state, why=ticket.why)
    writing.emit(event, repo=repo, subject=core.subject(found.id))
    author = _live(writing.connection, found.author)
    stopped_now = msgspec.structs.replace(found, **columns)
    for waiting in rows.listed(writing.connection, repo, states=OPEN):
        if found.id in waiting.needs:
            why = f"it needs {found.id}, which is {stopped.state}"
            rows.move(writing, waiting, state="held", why=why)
            held = ChangeStopped(change=waiting.id, target=waiting.target, state="held", why=why)
            writing.emit(held, repo=repo, subject=core.subject(waiting.id))
    return _Told(stopped_now, author)


def _tell_whom_it_concerns(writing: Writing, told: _Told, ticket: Ticket, *, most: int) -> bool:
    """Tells the author of what came back, or the person; says whether the author is to be woken."""
    change, author = told
    is_back = change.state in _CAME_BACK
    if is_back and author is not None and change.attempts < most:
        text = tickets.to_author(change, ticket, most=most)
        from_windlass.say(writing, author, text, topic=f"change:{change.id}")
        return True
    if change.state != "nothing-to-land":
        text = tickets.to_person(change, author.id if author else None, most=most)
        notices.post(writing, change.repo, "windlass", "waiting", text, by_hand=True)
    return False


def _live(connection: sa.Connection, uid: Uid | None) -> Agent | None:
    found = agent_rows.agent(connection, uid) if uid is not None else None
    return found if found is not None and found.ended_at is None else None
