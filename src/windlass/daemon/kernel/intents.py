"""Intents: what a command sets out to do, recorded before it is done, as a list of steps.

Every step can be done twice. A daemon that dies between two steps is followed by one that goes on
at the step recorded; a step that fails has the ones before it undone, where that makes sense. The
key of an intent is its client's, so a request sent again after a crash finds its own outcome.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple

import msgspec

from windlass.core import errors
from windlass.core.errors import Internal, WindlassError
from windlass.core.events import IntentDone, IntentFailed, IntentOpen, IntentUndoFailed
from windlass.core.ids import RepoId, Uid
from windlass.daemon.kernel.context import Context
from windlass.store import rows
from windlass.store.rows import Intent
from windlass.store.store import Writing

log = logging.getLogger(__name__)


class Work:
    """One intent under way: its data, and a way to keep more."""

    def __init__(self, context: Context, intent: Intent) -> None:
        self.context = context
        self.intent = intent

    @property
    def data(self) -> dict[str, Any]:
        """What the intent knows so far; kept with `keep`, never changed in place."""
        return self.intent.data

    def keep(self, **values: Any) -> None:
        """Adds to the data, durably, before the effect that needs it."""
        self._put(data={**self.intent.data, **values})

    def keep_in(self, writing: Writing, **values: Any) -> None:
        """Adds to the data in a transaction that does more."""
        data = {**self.intent.data, **values}
        self.intent = msgspec.structs.replace(self.intent, data=data, updated_at=writing.now)
        rows.put_intent(writing, self.intent)

    def advance(self, step: int) -> None:
        """Records that the steps before `step` are done."""
        self._put(step=step)

    def finish(self, **ending: Any) -> None:
        """Records the ending, with its event in the same transaction."""

        def change(writing: Writing) -> None:
            self.intent = msgspec.structs.replace(self.intent, updated_at=writing.now, **ending)
            rows.put_intent(writing, self.intent)
            writing.emit(_ended(self.intent), repo=self.intent.repo)

        self.context.store.write(change)

    def _put(self, **changes: Any) -> None:
        def change(writing: Writing) -> None:
            self.intent = msgspec.structs.replace(self.intent, updated_at=writing.now, **changes)
            rows.put_intent(writing, self.intent)

        self.context.store.write(change)


Effect = Callable[[Work], None]


class Step(NamedTuple):
    """One idempotent effect, and what takes it back."""

    name: str
    do: Effect
    undo: Effect | None = None


class Operation(NamedTuple):
    """A kind of intent."""

    kind: str
    steps: tuple[Step, ...]
    locks: Callable[[Mapping[str, Any]], list[Uid]]
    result: Callable[[Work], Mapping[str, Any]]


class Begin(NamedTuple):
    """What is needed to set out: who wants it, where, and the first transaction.

    `prepare` runs in the transaction that records the intent; what it raises means that nothing
    was begun.
    """

    repo: RepoId
    caller: Uid | None
    prepare: Callable[[Writing], dict[str, Any]]


class Intents:
    """Runs operations, once per key."""

    def __init__(self, context: Context, operations: tuple[Operation, ...]) -> None:
        self._context = context
        self._operations = {operation.kind: operation for operation in operations}
        self._running: dict[str, Future[dict[str, Any]]] = {}
        self._guard = threading.Lock()

    def perform(self, kind: str, key: str | None, begin: Callable[[], Begin]) -> dict[str, Any]:
        """Does it, or waits for whoever does, or returns how it ended.

        `begin` is asked only where nothing was begun under the key: what it checks may well be
        different after the fact.
        """
        key = key or str(uuid.uuid4())
        with self._guard:
            under_way = self._running.get(key)
            if under_way is None:
                mine = self._running[key] = Future()
        if under_way is not None:
            return under_way.result()
        try:
            result = self._outcome(kind, key, begin)
        except BaseException as error:
            mine.set_exception(error)
            mine.exception()  # nobody may be waiting
            raise
        else:
            mine.set_result(result)
            return result
        finally:
            with self._guard:
                del self._running[key]

    def resume(self, intent: Intent) -> None:
        """Goes on with what an earlier daemon left open; its failure is recorded, not raised."""

        def gone() -> Begin:
            raise Internal(f"intent {intent.id} was to be resumed and is not there")

        try:
            self.perform(intent.kind, intent.id, gone)
        except WindlassError as error:
            log.warning("%s %s, resumed, failed: %s", intent.kind, intent.id, error.message)

    def _outcome(self, kind: str, key: str, begin: Callable[[], Begin]) -> dict[str, Any]:
        found = self._context.store.read(lambda c: rows.intent(c, key))
        if found is None:
            begun = begin()
            found = self._context.store.write(lambda w: self._record(w, kind, key, begun))
        if found.status == "done":
            return found.result or {}
        if found.status == "failed":
            raise _rebuilt(found.error or {})
        operation = self._operations[found.kind]
        work = Work(self._context, found)
        with self._context.locks.holding(operation.locks(found.data)):
            return self._go_on(operation, work)

    def _record(self, writing: Writing, kind: str, key: str, begin: Begin) -> Intent:
        intent = Intent(
            id=key,
            kind=kind,
            repo=begin.repo,
            caller=begin.caller,
            data=begin.prepare(writing),
            step=0,
            status="open",
            created_at=writing.now,
            updated_at=writing.now,
        )
        rows.put_intent(writing, intent)
        writing.emit(IntentOpen(intent=key, what=kind), repo=begin.repo)
        return intent

    def _go_on(self, operation: Operation, work: Work) -> dict[str, Any]:
        reached = self._context.failpoints.reached
        for number in range(work.intent.step, len(operation.steps)):
            step = operation.steps[number]
            try:
                reached(f"{operation.kind}.{step.name}.before")
                step.do(work)
                reached(f"{operation.kind}.{step.name}.after")
            except Exception as error:
                failure = error if isinstance(error, WindlassError) else _defect(step.name, error)
                self._take_back(operation, work, number)
                work.finish(status="failed", error=_as_data(failure))
                raise failure from error
            work.advance(number + 1)
        result = dict(operation.result(work))
        reached(f"{operation.kind}.finish.before")
        work.finish(status="done", result=result)
        reached(f"{operation.kind}.finish.after")
        return result

    def _take_back(self, operation: Operation, work: Work, failed: int) -> None:
        for step in reversed(operation.steps[: failed + 1]):
            if step.undo is None:
                continue
            try:
                step.undo(work)
            except Exception as error:
                log.exception("taking back %s.%s failed", operation.kind, step.name)
                told = error.message if isinstance(error, WindlassError) else str(error)
                _tell_of_failed_undo(work, step.name, told)


def _tell_of_failed_undo(work: Work, step: str, told: str) -> None:
    failed = IntentUndoFailed(intent=work.intent.id, step=step, error=told)
    work.context.store.write(lambda w: w.emit(failed, repo=work.intent.repo))


def _ended(intent: Intent) -> IntentDone | IntentFailed:
    if intent.status == "done":
        return IntentDone(intent=intent.id, what=intent.kind, error=intent.error)
    return IntentFailed(intent=intent.id, what=intent.kind, error=intent.error)


def _defect(step: str, error: Exception) -> Internal:
    log.error("step %s failed", step, exc_info=error)
    return Internal(
        f"{step}: {type(error).__name__}: {error}",
        "this is a defect of Windlass; `wl daemon logs` has the details",
    )


def _as_data(error: WindlassError) -> dict[str, Any]:
    return {"kind": error.kind, "message": error.message, "hint": error.hint}


def _rebuilt(data: Mapping[str, Any]) -> WindlassError:
    kind = errors.BY_KIND.get(data.get("kind", ""), Internal)
    return kind(data.get("message", "failed"), data.get("hint", ""))
