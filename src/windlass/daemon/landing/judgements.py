"""What a person says of a change: it may land, it may not, it is not wanted any more."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from windlass.api.verbs import Caller
from windlass.api.wire.landing import ChangeView, JudgeRequest
from windlass.core.errors import Conflict
from windlass.core.events import ChangeApproved, ChangeStopped
from windlass.core.ids import RepoId
from windlass.core.landing import changes as core
from windlass.core.landing.changes import OPEN, Approval, Change, ChangeId
from windlass.core.printable import printable_line
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.landing import submissions, views
from windlass.store import changes as rows
from windlass.store.store import Writing

Judge = Callable[[Writing, Change, str], None]
_OVER: frozenset[core.State] = frozenset({"landed", "dropped", "nothing-to-land"})


class Judgements:
    """The operations `approve`, `block`, `drop` and `change.retry`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def operations(self) -> tuple[Operation, ...]:
        """None has a step: each is done as soon as it is recorded."""
        return tuple(Operation(kind, (), lambda _: [], self._result) for kind in _JUDGES)

    def begin(self, kind: str, caller: Caller, request: JudgeRequest) -> IntentDraft:
        """Finds the change, and refuses what nobody can decide any more."""
        repo = lookup.scope(self._context, caller, request).require_repo().id
        found = views.find(self._context, repo, request["change"])
        expect = request.get("expect")

        def prepare(writing: Writing) -> dict[str, Any]:
            change = rows.find(writing.connection, repo, found.id)
            if change is None:
                raise AssertionError(found.id)
            if change.state in _OVER:
                raise Conflict(
                    f"{change.id} is {change.state}: there is nothing to"
                    f" {kind.removeprefix('change.')}",
                    f"wl show {change.id}",
                )
            if expect is not None and expect != change.head:
                raise Conflict(
                    f"{change.id} is at {change.head}, not at {printable_line(expect)}",
                    f"look again: wl diff {change.id}",
                )
            _JUDGES[kind](writing, change, request.get("why", ""))
            return {"change": change.id}

        return IntentDraft(repo, None, prepare)

    def _result(self, work: RunningIntent) -> ChangeView:
        name = ChangeId(work.data["change"])
        return work.read(partial(views.kept, repo=RepoId(work.intent.repo), name=name))


def _approve(writing: Writing, change: Change, why: str) -> None:
    """Lets this revision in: what held it for a person does not any more."""
    del why
    approval = Approval(by="person", at=writing.now)
    rows.move(writing, change, approval=approval, blocked="")
    event = ChangeApproved(change=change.id, head=change.head, by="person")
    writing.emit(event, repo=change.repo, subject=core.subject(change.id))
    if change.state == "held":
        _enter_again(writing, change)


def _enter_again(writing: Writing, change: Change) -> None:
    approved = rows.find(writing.connection, change.repo, change.id)
    if approved is not None:
        submissions.enter(writing, approved)


def _block(writing: Writing, change: Change, why: str) -> None:
    """Keeps this revision out until it is approved; the next one is looked at anew."""
    blocked = why or "by the person"
    _stop(writing, change, state="held", why=f"blocked: {blocked}", approval=None, blocked=blocked)


def _drop(writing: Writing, change: Change, why: str) -> None:
    """Takes a change back. Its branch stays as it is, and so does its author."""
    _stop(writing, change, state="dropped", why=why or "by the person")


def _stop(writing: Writing, change: Change, *, state: core.State, why: str, **columns: Any) -> None:
    rows.move(writing, change, state=state, why=why, **columns)
    if change.state in OPEN or state == "dropped":
        event = ChangeStopped(change=change.id, target=change.target, state=state, why=why)
        writing.emit(event, repo=change.repo, subject=core.subject(change.id))
    if state == "dropped":
        for waiting in rows.listed(writing.connection, change.repo, states=OPEN):
            if change.id in waiting.needs:
                _stop(writing, waiting, state="held", why=f"it needs {change.id}, which is dropped")


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
    rows.move(writing, change, ticket=None)
    submissions.enter(writing, change)


_JUDGES: dict[str, Judge] = {
    "approve": _approve,
    "block": _block,
    "drop": _drop,
    "change.retry": _retry,
}
