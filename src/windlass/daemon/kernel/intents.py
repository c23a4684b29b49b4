"""Intents: what a command sets out to do, recorded before it is done, as a list of steps.

Every step can be done twice. A daemon that dies between two steps is followed by one that does what
is not recorded as done, also where it is of another release (`intent_upgrades`). A step that fails
has the ones before it undone, where that makes sense; that is recorded before the first of them is,
so a daemon that dies meanwhile is followed by one that goes on undoing. What is done as soon as it
is recorded is finished in that transaction. The key of an intent is its client's, so a request sent
again after a crash finds its own outcome. Where the store cannot take a record, or a full disk does
not let a step be taken back, the intent goes on as soon as it can, and nothing else is begun with
its agents until then.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from windlass import disk_room
from windlass.core import errors
from windlass.core.errors import Conflict, Internal, Unavailable, WindlassError
from windlass.core.events import IntentDone, IntentFailed, IntentOpen, IntentUndoFailed
from windlass.core.ids import RepoId, Uid
from windlass.daemon.kernel import intent_upgrades
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intent_upgrades import GivenUp, Progress, Upgrade
from windlass.store import rows
from windlass.store.rows import Intent
from windlass.store.store import Writing

log = logging.getLogger(__name__)
T = TypeVar("T")
_STOPS = "stops"
"""The agents whose sessions an intent ends or starts anew, in its data."""


class RunningIntent:
    """One intent under way: its data, and ways to record more of it."""

    def __init__(self, context: Context, intent: Intent, writing: Writing | None = None) -> None:
        self.context = context
        self.intent = intent
        self._writing = writing
        self._next_changes: list[Callable[[Writing], Any]] = []

    @property
    def data(self) -> dict[str, Any]:
        """What the intent knows so far; kept with `keep`, never changed in place."""
        return self.intent.data

    def read(self, question: Callable[[sa.Connection], T]) -> T:
        """Answers a question from the store, in the first transaction as that is so far."""
        if self._writing is not None:
            return question(self._writing.connection)
        return self.context.store.read(question)

    def keep(self, **values: Any) -> None:
        """Adds to the data, durably, before the effect that needs it."""
        self._put(data={**self.intent.data, **values})

    def keep_in(self, writing: Writing, **values: Any) -> None:
        """Adds to the data in a transaction that does more."""
        self.intent = self._changed(writing, data={**self.intent.data, **values})
        self._next_changes.clear()

    def with_next_record(self, change: Callable[[Writing], Any]) -> None:
        """Has a change committed with whatever is recorded of this intent next.

        That a step is done, that it failed, or what it keeps. For what a step tells: a daemon that
        dies before the record has told nothing, and the next one, which does it again, tells once.
        """
        self._next_changes.append(change)

    def advance(self, step: str) -> None:
        """Records that a step is done."""
        self.take_over(Progress(self.intent.data, (*self.intent.done, step)), self.intent.version)

    def take_over(self, progress: Progress, version: int) -> None:
        """Records how far it is in the words of a version."""
        data, done = progress
        self._put(data=data, done=done, step=len(done), version=version)

    def turn_back(self, begun: Iterable[str], why: WindlassError) -> None:
        """Records that the steps of these names are taken back from now on, and why."""
        done = tuple(begun)
        self._put(done=done, step=len(done), error=_as_data(why))

    def took_back(self, step: str) -> None:
        """Records that a step is taken back."""
        done = tuple(name for name in self.intent.done if name != step)
        self._put(done=done, step=len(done))

    def finish(self, also: Callable[[Writing], Any] = lambda _: None, **ending: Any) -> None:
        """Records the ending, with its event and whatever belongs to it in one transaction."""

        def change(writing: Writing) -> Intent:
            also(writing)
            ended = self._changed(writing, **ending)
            writing.emit(_ended(ended), repo=ended.repo)
            return ended

        self.intent = self.context.store.write(change)
        self._next_changes.clear()

    def _put(self, **columns: Any) -> None:
        # Known only once it is committed: a full disk is found no sooner than that.
        self.intent = self.context.store.write(lambda w: self._changed(w, **columns))
        self._next_changes.clear()

    def _changed(self, writing: Writing, **columns: Any) -> Intent:
        for change in self._next_changes:
            change(writing)
        key, now = self.intent.id, writing.now
        return rows.change_intent(writing, key, updated_at=now, **columns)


Effect = Callable[[RunningIntent], None]


class Step(NamedTuple):
    """One idempotent effect, what takes it back, and for which data there is anything to do."""

    name: str
    do: Effect
    undo: Effect | None = None
    needed: Callable[[Mapping[str, Any]], bool] = lambda _: True


class Operation(NamedTuple):
    """A kind of intent.

    Its `version` rises when a release means something else by the data or by a step's name; then
    `upgrades` has the rule from the version before. Steps may be added and reordered without that.
    `counted` names the steps as the releases had them that only counted them, where that differs.
    Of the agents that it `stops` no session fails by itself meanwhile: their intents say so in
    their data, for whoever sees one end.
    """

    kind: str
    steps: tuple[Step, ...]
    locks: Callable[[Mapping[str, Any]], list[Uid]]
    result: Callable[[RunningIntent], Mapping[str, Any]]
    version: int = 1
    upgrades: Mapping[int, Upgrade] = MappingProxyType({})
    counted: tuple[str, ...] = ()
    stops: Callable[[Mapping[str, Any]], list[Uid]] = lambda _: []

    def progress(self, intent: Intent) -> Progress:
        """Returns how far an intent is; raises where this release cannot know, or gives it up."""
        names = [step.name for step in self.steps]
        data, done = intent_upgrades.upgraded(
            intent,
            version=self.version,
            steps=names,
            counted=self.counted or names,
            upgrades=self.upgrades,
        )
        return Progress(self.recorded(data), done)

    def recorded(self, data: dict[str, Any]) -> dict[str, Any]:
        """Returns the data of an intent with what is recorded for everybody to see."""
        stopped = self.stops(data)
        return {**data, _STOPS: stopped} if stopped else data


def of_one_agent(data: Mapping[str, Any]) -> list[Uid]:
    """Returns the one agent that an operation's data name."""
    return [Uid(data["uid"])]


def stops(intent: Intent, agent: Uid) -> bool:
    """Returns whether an open intent ends the session of an agent, or starts it anew."""
    return agent in intent.data.get(_STOPS, ())


class IntentDraft(NamedTuple):
    """What is needed to set out: who wants it, where, and the first transaction.

    `prepare` runs in the transaction that records the intent; what it raises means that nothing
    was begun.
    """

    repo: RepoId
    caller: Uid | None
    prepare: Callable[[Writing], dict[str, Any]]


def set_out(writing: Writing, operation: Operation, key: str, begin: IntentDraft) -> Intent:
    """Records a new intent of an operation, as this release means it, in the caller's transaction.

    Where the operation needs no step for it, nobody finishes it: `Intents` does that.
    """
    intent = Intent(
        id=key,
        kind=operation.kind,
        repo=begin.repo,
        caller=begin.caller,
        data=operation.recorded(begin.prepare(writing)),
        step=0,
        status="open",
        created_at=writing.now,
        updated_at=writing.now,
        version=operation.version,
    )
    rows.add_intent(writing, intent)
    writing.emit(IntentOpen(intent=key, what=operation.kind), repo=begin.repo)
    return intent


Tell = Callable[[Writing, Intent, str], Any]
"""Tells the person of an intent that nobody finishes any more, and why."""


class Intents:
    """Runs operations: whatever is asked for twice under one key is done once."""

    def __init__(
        self,
        context: Context,
        operations: Iterable[Operation] = (),
        tell: Tell = lambda *_: None,
    ) -> None:
        self._context = context
        self._tell = tell
        self._operations: dict[str, Operation] = {}
        self.add(operations)
        self._running: dict[str, Future[dict[str, Any]]] = {}
        self._unrecorded: dict[str, _Unrecorded] = {}
        """Intents of which something happened that the store did not take."""
        self._guard = threading.Lock()

    def add(self, operations: Iterable[Operation]) -> None:
        """Makes more operations known: those of services that themselves perform intents."""
        self._operations |= {operation.kind: operation for operation in operations}

    def perform(
        self, kind: str, key: str | None, begin: Callable[[], IntentDraft]
    ) -> dict[str, Any]:
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

        def gone() -> IntentDraft:
            raise Internal(f"intent {intent.id} was to be resumed and is not there")

        try:
            self.perform(intent.kind, intent.id, gone)
        except WindlassError as error:
            log.warning("%s %s, resumed, failed: %s", intent.kind, intent.id, error.message)
        except Exception:
            log.exception("%s %s, resumed, could not be recorded", intent.kind, intent.id)

    def take_up_unrecorded(self) -> None:
        """Goes on with what could not be recorded, if the store has room again.

        That is tried with a record that changes nothing: the steps would be done once more each
        time, and a project's own command may be among them.
        """
        for key in list(self._unrecorded):
            try:
                intent = self._context.store.write(partial(_touched, key))
            except Exception as error:  # noqa: BLE001 - told when it was asked for; tried again
                log.debug("%s cannot be recorded yet: %s", key, error)
            else:
                self.resume(intent)

    def _outcome(self, kind: str, key: str, begin: Callable[[], IntentDraft]) -> dict[str, Any]:
        intent = self._context.store.read(lambda c: rows.intent(c, key))
        if intent is None:
            begun, operation = begin(), self._operations[kind]
            intent = self._context.store.write(lambda w: self._record(w, operation, key, begun))
            if intent.status == "done":
                self._context.failpoints.reached(f"{kind}.finish.after")
        if intent.status == "done":
            return intent.result or {}
        if intent.status == "failed":
            raise _rebuilt(intent.error or {})
        return self._taken_up(RunningIntent(self._context, intent))

    def _taken_up(self, work: RunningIntent) -> dict[str, Any]:
        """Does what is left of an intent, or of taking it back, or tells that it cannot."""
        operation = self._operations.get(work.intent.kind)
        try:
            if operation is None:
                raise intent_upgrades.unknown(work.intent, "nothing here does that")
            progress = operation.progress(work.intent)
            locks = operation.locks(progress.data)
        except Conflict as error:
            self._report(work, error)
            raise
        except GivenUp:
            raise self._give_up(self._operations[work.intent.kind], work) from None
        except Exception as error:
            failure = _defect("its data", error)
            self._report(work, failure)
            raise failure from error
        with self._context.locks.holding(locks), self._unrecorded_if_open(work, locks):
            known = Progress(work.intent.data, work.intent.done)
            if (progress, operation.version) != (known, work.intent.version):
                work.take_over(progress, operation.version)
            if work.intent.error is not None:
                raise self._fail(operation, work)
            return self._go_on(operation, work)

    @contextlib.contextmanager
    def _unrecorded_if_open(self, work: RunningIntent, agents: Iterable[Uid]) -> Iterator[None]:
        """Remembers an intent that is left open, so that nothing else is begun with its agents.

        Whoever asked is told that it failed, but the store does not know: it goes on later, and
        must not find that the agent whose work it kept has worked on meanwhile.
        """
        try:
            yield
        except Exception as error:
            if work.intent.status != "open":
                raise
            with self._guard:
                left = _Unrecorded(work.intent.kind, frozenset(agents))
                self._unrecorded[work.intent.id] = left
            if isinstance(error, Unavailable):
                raise Unavailable(error.message, _what_follows(work.intent)) from error
            raise
        finally:
            if work.intent.status != "open":
                with self._guard:
                    self._unrecorded.pop(work.intent.id, None)

    def _refuse_unrecorded(self, agents: Iterable[Uid]) -> None:
        wanted = frozenset(agents)
        with self._guard:
            kinds = {left.kind for left in self._unrecorded.values() if left.agents & wanted}
        if kinds:
            raise Unavailable(
                f"{', '.join(sorted(kinds))} was begun here before, could not be recorded, and goes"
                " on by itself",
                "free some disk space, then look again: wl list",
            )

    def _give_up(self, operation: Operation, work: RunningIntent) -> Conflict:
        """Takes back what an older release had done; returns what to tell of that."""
        error = Conflict(
            f"{operation.kind} was begun by an older release of Windlass, and is taken back",
            "do it again",
        )
        work.turn_back(work.intent.done, error)
        self._take_back(operation, work)
        self._report(work, error)
        return error

    def _report(self, work: RunningIntent, error: WindlassError) -> None:
        log.error("%s %s: %s", work.intent.kind, work.intent.id, error.message)
        why = f"{error.message}; {error.hint}"
        work.finish(
            lambda w: self._tell(w, work.intent, why), status="failed", error=_as_data(error)
        )

    def _record(
        self, writing: Writing, operation: Operation, key: str, begin: IntentDraft
    ) -> Intent:
        """Records an intent; where no step is needed for it, that is all there is to do."""
        intent = set_out(writing, operation, key, begin)
        self._refuse_unrecorded(operation.locks(intent.data))
        if any(step.needed(intent.data) for step in operation.steps):
            return intent
        result = dict(operation.result(RunningIntent(self._context, intent, writing)))
        done = rows.change_intent(writing, key, status="done", result=result)
        writing.emit(_ended(done), repo=done.repo)
        return done

    def _go_on(self, operation: Operation, work: RunningIntent) -> dict[str, Any]:
        reached = self._context.failpoints.reached
        for step in operation.steps:
            if step.name in work.intent.done or not step.needed(work.data):
                continue
            try:
                reached(f"{operation.kind}.{step.name}.before")
                step.do(work)
                reached(f"{operation.kind}.{step.name}.after")
            except Exception as error:
                failure = error if isinstance(error, WindlassError) else _defect(step.name, error)
                work.turn_back((*work.intent.done, step.name), failure)
                self._fail(operation, work)
                raise failure from error
            work.advance(step.name)
        result = dict(operation.result(work))
        reached(f"{operation.kind}.finish.before")
        work.finish(status="done", result=result)
        reached(f"{operation.kind}.finish.after")
        return result

    def _fail(self, operation: Operation, work: RunningIntent) -> WindlassError:
        """Takes back what was begun, as far as that is still to be done; returns the failure."""
        reached = self._context.failpoints.reached
        self._take_back(operation, work)
        reached(f"{operation.kind}.fail.before")
        work.finish(status="failed")
        reached(f"{operation.kind}.fail.after")
        return _rebuilt(work.intent.error or {})

    def _take_back(self, operation: Operation, work: RunningIntent) -> None:
        """Undoes the steps that were begun, the last one first, and records each."""
        reached = self._context.failpoints.reached
        for step in reversed(operation.steps):
            if step.undo is None or step.name not in work.intent.done:
                continue
            reached(f"{operation.kind}.{step.name}.undo.before")
            try:
                step.undo(work)
            except Exception as error:
                self._refuse_without_room(work, error)
                log.exception("taking back %s.%s failed", operation.kind, step.name)
                why = error.message if isinstance(error, WindlassError) else str(error)
                work.with_next_record(partial(_tell_of_failed_undo, work.intent, step.name, why))
            reached(f"{operation.kind}.{step.name}.undo.after")
            work.took_back(step.name)

    def _refuse_without_room(self, work: RunningIntent, error: Exception) -> None:
        """Refuses to call it a failure that something could not be taken back on a full disk.

        Else what was half made would stay, with nobody to remove it.
        """
        known = self._context.store.read(rows.repos)
        roots = (repo.root for repo in known if repo.id == work.intent.repo)
        full = disk_room.full(self._context.folders.home, *roots)
        if full or disk_room.is_lacking(error):
            failed = (work.intent.error or {}).get("message", work.intent.kind)
            where = full or getattr(error, "filename", None) or self._context.folders.home
            raise Unavailable(f"no room left on the disk of {where}: {failed}") from error


class _Unrecorded(NamedTuple):
    """What is known of an intent without asking the store."""

    kind: str
    agents: frozenset[Uid]


def _touched(key: str, writing: Writing) -> Intent:
    return rows.change_intent(writing, key, updated_at=writing.now)


def _what_follows(intent: Intent) -> str:
    """Says what becomes of an intent that could not be recorded."""
    if intent.error is not None:
        return "put that right; what can be taken back is, by itself: then look, and do it again"
    return "put that right, and it goes on by itself; it need not be asked for again"


def _tell_of_failed_undo(intent: Intent, step: str, why: str, writing: Writing) -> None:
    writing.emit(IntentUndoFailed(intent=intent.id, step=step, error=why), repo=intent.repo)


def _ended(intent: Intent) -> IntentDone | IntentFailed:
    if intent.status == "done":
        return IntentDone(intent=intent.id, what=intent.kind, error=intent.error)
    return IntentFailed(intent=intent.id, what=intent.kind, error=intent.error)


def _defect(step: str, error: Exception) -> WindlassError:
    log.error("step %s failed", step, exc_info=error)
    if disk_room.is_lacking(error):
        return Unavailable(f"{step}: {error}", disk_room.HINT)
    return Internal(
        f"{step}: {type(error).__name__}: {error}",
        "this is a defect of Windlass; `wl daemon logs` has the details",
    )


def _as_data(error: WindlassError) -> dict[str, Any]:
    return {"kind": error.kind, "message": error.message, "hint": error.hint}


def _rebuilt(data: Mapping[str, Any]) -> WindlassError:
    kind = errors.BY_KIND.get(data.get("kind", ""), Internal)
    return kind(data.get("message", "failed"), data.get("hint", ""))
