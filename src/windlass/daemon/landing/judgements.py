"""What a person says of a change: it may land, it may not, it is not wanted any more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from windlass.api.verbs import Caller
from windlass.api.wire.landing import ChangeView, JudgeRequest
from windlass.core.errors import Conflict
from windlass.core.events import ChangeApproved, ConfigAccepted
from windlass.core.ids import RepoId
from windlass.core.landing import changes as core
from windlass.core.landing.changes import OPEN, OVER, Approval, Change, ChangeId
from windlass.core.printable import printable_line
from windlass.core.project_config import Line
from windlass.daemon.gate import gates
from windlass.daemon.kernel import accepted_lines, lookup, repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.landing import gate_changes, moves, queues, views
from windlass.daemon.landing.submissions import Submissions
from windlass.git import gate_trees
from windlass.store import changes as rows
from windlass.store.store import Writing

Judge = Callable[[Writing, Change, str], None]


class Judgements:
    """The operations `approve`, `block`, `drop` and `change.retry`."""

    def __init__(self, context: Context, submissions: Submissions) -> None:
        self._context = context
        self._submissions = submissions

    def operations(self) -> tuple[Operation, ...]:
        """Each is done as soon as it is recorded, but for an approval that accepts lines."""
        steps = {
            "approve": (
                Step("accept", self._accept, needed=_accepts),
                Step("approve", self._approve, needed=_accepts),
            )
        }
        return tuple(
            Operation(kind, steps.get(kind, ()), lambda _: [], self._result) for kind in _JUDGES
        )

    def begin(self, kind: str, caller: Caller, request: JudgeRequest) -> IntentDraft:
        """Finds the change, and refuses what nobody can decide any more."""
        repo = lookup.scope(self._context, caller, request).require_repo().id
        found = views.find(self._context, repo, request["change"])
        expect = request.get("expect")
        lines = self._wider(found) if kind == "approve" and found.alone else ()

        def prepare(writing: Writing) -> dict[str, Any]:
            change = rows.find(writing.connection, repo, found.id)
            if change is None:
                raise AssertionError(found.id)
            if change.state in OVER:
                raise Conflict(
                    f"{change.id} is {change.state}: there is nothing to"
                    f" {kind.removeprefix('change.')}",
                    f"wl show {change.id}",
                )
            if kind in ("block", "drop"):
                queues.refuse_landing(writing, change)
            if expect is not None and expect != change.head:
                raise Conflict(
                    f"{change.id} is at {change.head}, not at {printable_line(expect)}",
                    f"look again: wl diff {change.id}",
                )
            if kind == "approve" and expect is None and change.seen not in ("", change.head):
                raise Conflict(
                    f"{change.id} has another revision than the one that you looked at",
                    f"look again: wl diff {change.id}",
                )
            # One that was set aside lands nothing, and nobody would know.
            is_anew = self._submissions.begin_queue(writing, repo, change.target)
            if is_anew and kind == "change.retry" and change.state in OPEN:
                return {"change": change.id}
            if lines:
                if change.head != found.head:
                    raise Conflict(f"{change.id} has another revision by now", "look again")
                return {"change": change.id, "accepts": [list(line) for line in lines]}
            _JUDGES[kind](writing, change, request.get("why", ""))
            return {"change": change.id}

        return IntentDraft(repo, None, prepare)

    def _wider(self, change: Change) -> tuple[Line, ...]:
        """What a change would have the gate reach that the person has not accepted."""
        repo = repos.by_id(self._context, change.repo)
        gate = gates.read(self._context, repo, branch=change.target)
        git = repos.git(gate.repo)
        found = gate_changes.find(self._context, gate, git, gate_trees.tree_of(git, change.head))
        return found.lines if found is not None else ()

    def _accept(self, work: RunningIntent) -> None:
        """Records the person's word for what they were shown."""
        lines = [Line(*line) for line in work.data["accepts"]]
        root = repos.by_id(self._context, RepoId(work.intent.repo)).root
        home, now = self._context.folders.home, self._context.clock.now()
        accepted_lines.accept(home, root, lines, now=now)
        told = ConfigAccepted(root=root, keys=[line.key for line in lines])
        work.with_next_record(lambda w: w.emit(told, repo=work.intent.repo))

    def _approve(self, work: RunningIntent) -> None:
        def change(writing: Writing) -> None:
            name = ChangeId(work.data["change"])
            found = rows.find(writing.connection, RepoId(work.intent.repo), name)
            if found is not None and found.state not in OVER:
                _approve(writing, found, "")

        work.with_next_record(change)

    def _result(self, work: RunningIntent) -> ChangeView:
        name = ChangeId(work.data["change"])
        return work.read(partial(views.kept, repo=RepoId(work.intent.repo), name=name))


def _accepts(data: Mapping[str, Any]) -> bool:
    return bool(data.get("accepts"))


def _approve(writing: Writing, change: Change, why: str) -> None:
    """Lets this revision in: what held it for a person does not any more."""
    del why
    approval = Approval(by="person", at=writing.now)
    rows.note(writing, change, approval=approval, blocked="")
    event = ChangeApproved(change=change.id, head=change.head, by="person")
    writing.emit(event, repo=change.repo, subject=core.subject(change.id))
    approved = msgspec.structs.replace(change, approval=approval, blocked="")
    if moves.hears(approved, "change.approved"):
        moves.enter(writing, approved, "change.approved")


def _block(writing: Writing, change: Change, why: str) -> None:
    """Keeps this revision out until it is approved; the next one is looked at anew."""
    blocked = why or "by the person"
    stop = moves.leave if change.state in OPEN else moves.move
    why = f"blocked: {blocked}"
    stop(writing, change, "change.blocked", why=why, approval=None, blocked=blocked)


def _drop(writing: Writing, change: Change, why: str) -> None:
    """Takes a change back. Its branch stays as it is, and so does its author."""
    moves.leave(writing, change, "change.dropped", why=why or "by the person")


def _retry(writing: Writing, change: Change, why: str) -> None:
    """Has the same revision tried once more. Who says so has not looked at it: see `_approve`."""
    del why
    if change.state in OPEN:
        raise Conflict(f"{change.id} is in the queue already", "`wl queue` shows where")
    if change.state == "draft":
        raise Conflict(
            f"{change.id} has not been proposed yet", f"`wl merge {change.id}` proposes it"
        )
    if change.waits_for_a_person:
        raise Conflict(
            f"{change.id} waits for your word: {printable_line(change.waits_for_a_person)}",
            f"look at it and let it in: wl diff {change.id}; wl approve {change.id}",
        )
    rows.note(writing, change, ticket=None)
    moves.enter(writing, change, "change.retried")


_JUDGES: dict[str, Judge] = {
    "approve": _approve,
    "block": _block,
    "drop": _drop,
    "change.retry": _retry,
}
