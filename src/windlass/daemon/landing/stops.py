"""The effect `landing.stop`: changes leave the queue without having landed, and authors hear of it.

An agent has its ticket in its mailbox; where its session has ended it goes on, and where it has
ended itself it is brought back. The person is told where that cannot be, after
`landing.max_attempts` times, and of what only a person can decide.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from windlass.core import shapes
from windlass.core.config import Config
from windlass.core.errors import WindlassError
from windlass.core.gate.spec import GateSpec
from windlass.core.ids import RepoId, Uid
from windlass.core.landing import job as landing_job
from windlass.core.landing.changes import OPEN, Change, ChangeId, Ticket
from windlass.core.landing.moves import Event, Facts
from windlass.core.landing.queue import Stopped
from windlass.core.printable import printable_line
from windlass.daemon.gate import gates
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import Operation, Step
from windlass.daemon.kernel.project_file import PROJECT_FILE
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.landing import authors, findings, moves, tells, tickets
from windlass.daemon.landing.authors import Authors
from windlass.daemon.landing.tickets import Evidence
from windlass.daemon.launch import clones
from windlass.daemon.mail import notices
from windlass.git import mainline, repository, squashes
from windlass.git.repository import Repository
from windlass.store import changes as rows
from windlass.store import rows as agent_rows
from windlass.store.rows import Repo
from windlass.store.store import Writing

log = logging.getLogger(__name__)
_EVENTS: Mapping[str, Event] = {
    "rejected": "merge.hard_fail",
    "conflict": "merge.conflict",
    "held": "merge.held",
    "nothing-to-land": "merge.nothing",
}
"""What the lifecycle hears of a change that the queue stops in a state."""
_STOPPABLE = OPEN | {"proposed"}
_NAMED = 5


class Stops:
    """Says of changes why they do not land as they are."""

    def __init__(self, context: Context, authors: Authors) -> None:
        self._context = context
        self._authors = authors

    def operation(self) -> Operation:
        """What is known is put together, told in one transaction, and authors are woken."""
        return Operation(
            landing_job.STOP,
            (Step("tell", self._tell), Step("wake", self._wake), Step("restore", self._restore)),
            lambda _: [],
            lambda work: {"changes": [found["change"] for found in work.data["stopped"]]},
        )

    def _tell(self, work: RunningIntent) -> None:
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        stopped = [shapes.convert(kept, Stopped) for kept in work.data["stopped"]]
        gate = gates.find(self._context, repo, branch=work.data["target"])
        spec = gate.spec if gate is not None else None
        most = gate.config.landing.max_attempts if gate is not None else 1
        tip = work.data.get("tip", "")
        written = {
            found.change: tickets.ticket(found, self._evidence(repo, found, tip=tip, gate=spec))
            for found in stopped
        }

        def stop(writing: Writing) -> None:
            woken, lost = [], []
            for found in stopped:
                ticket = written[found.change]
                change = _stop(writing, repo.id, found, ticket, Facts(most=most))
                author = tells.mending_agent(writing, change, most=most) if change else None
                if author is not None and author.ended_at is None:
                    woken.append(author.uid)
                elif author is not None:
                    lost.append({"change": found.change, "uid": author.uid})
            work.keep_in(writing, woken=woken, lost=lost, most=most)

        if "woken" not in work.data:
            self._show_target(repo.id)
            self._context.store.write(stop)

    def _evidence(
        self, repo: Repo, stopped: Stopped, *, tip: str, gate: GateSpec | None
    ) -> Evidence:
        """What is known of why a change stops, from the gate and from git."""
        found = self._context.store.read(
            partial(findings.of_try, repo=repo.id, tried=stopped.tried)
        )
        evidence = Evidence(base=tip, finding=found, gate=gate)
        if not tip or not stopped.paths:
            return evidence
        try:
            git = squashes.seen(repos.git(repo))
            return evidence._replace(landed=_landed_there(git, stopped, tip))
        except WindlassError as error:  # a ticket with less in it is a ticket
            log.warning("what landed where %s conflicts: %s", stopped.change, error.message)
            return evidence

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
        """Has authors go on whose sessions have ended."""
        for uid in work.data["woken"]:
            self._resume(work, Uid(uid))

    def _resume(self, work: RunningIntent, uid: Uid) -> None:
        try:
            self._authors.resume(uid, f"{work.intent.id}:wake:{uid}")
        except WindlassError as error:
            why = f"has a ticket and cannot be resumed: {authors.why_not(error)}"
            self._context.store.write(partial(_tell_of_author, uid=uid, why=why))

    def _restore(self, work: RunningIntent) -> None:
        """Brings back authors that have ended, and gives them their tickets; else the person."""
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        gate = gates.find(self._context, repo, branch=work.data["target"])
        config = gate.config if gate is not None else Config()
        for lost in work.data["lost"]:
            uid, why = Uid(lost["uid"]), ""
            try:
                self._authors.restore(uid, f"{work.intent.id}:back:{uid}", config=config)
            except WindlassError as error:
                why = authors.why_not(error)
            self._context.store.write(partial(_reach, work=work, lost=lost, why=why))
            if not why:
                self._resume(work, uid)


def _stop(
    writing: Writing, repo: RepoId, stopped: Stopped, ticket: Ticket, facts: Facts
) -> Change | None:
    """Takes a change out of the queue, unless it has another revision or state by now."""
    found = rows.find(writing.connection, repo, ChangeId(stopped.change))
    if found is None:
        return None
    if found.head != stopped.head or found.state not in _STOPPABLE:
        if found.state not in OPEN:  # the queue has it still, and nobody has said so
            moves.left(writing, found)
        return None
    columns: dict[str, Any] = {"ticket": ticket}
    if stopped.state in tells.CAME_BACK:
        columns["attempts"] = found.attempts + 1
    if stopped.tried is not None and stopped.tried.marks:
        columns["guards"] = (*found.guards, *stopped.tried.marks)
    if stopped.tried is not None and (edits := stopped.tried.edits):
        # Whoever has let it in has not seen these.
        columns |= {"edits": (*found.edits, *edits), "approval": None}
        columns["alone"] = found.alone or PROJECT_FILE in edits
    return moves.leave(writing, found, _EVENTS[stopped.state], facts, why=ticket.why, **columns)


def _tell_of_author(writing: Writing, *, uid: Uid, why: str) -> None:
    author = agent_rows.agent(writing.connection, uid)
    if author is not None:
        text = f"{author.id} {why}"
        notices.post(writing, author.repo, author.id, "waiting", text, by_hand=True)


def _reach(writing: Writing, *, work: RunningIntent, lost: dict[str, str], why: str) -> None:
    """Gives an author that is back its ticket, once, or tells the person that it is not."""
    change = rows.find(writing.connection, RepoId(work.intent.repo), ChangeId(lost["change"]))
    author = agent_rows.agent(writing.connection, Uid(lost["uid"]))
    reached = work.data.get("reached", [])
    if change is None or author is None or change.id in reached:
        return
    if why:
        tells.tell_person(writing, change, most=work.data["most"], why=why)
    elif change.state in tells.CAME_BACK:
        tells.give_ticket(writing, change, author, most=work.data["most"], back=True)
    work.keep_in(writing, reached=[*reached, change.id])


def _landed_there(git: Repository, stopped: Stopped, tip: str) -> tuple[str, ...]:
    """What the target got where a change conflicts, since that began."""
    begun = next(iter(repository.merge_bases(git, stopped.head, tip)), "")
    if not begun:
        return ()
    there = mainline.moves(git, tip, since=begun, limit=_NAMED, paths=stopped.paths[:_NAMED])
    return tuple(f"{move.commit[:10]} {printable_line(move.subject)}" for move in there)
