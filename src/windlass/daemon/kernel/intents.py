"""Intents: what a command sets out to do, recorded before it is done, as a list of steps.

Every step can be done twice. A daemon that dies between two steps is followed by one that does what
is not recorded as done, also where it is of another release (`intent_upgrades`). A step that fails
has the ones before it undone, where that makes sense; that is recorded before the first of them is,
so a daemon that dies meanwhile is followed by one that goes on undoing. What is done as soon as it
is recorded is finished in that transaction. The key of an intent is its client's, so a request sent
again after a crash finds its own outcome. Where the store cannot take a record, or a full disk does
not let a step be taken back, the intent goes on as soon as it can, and nothing else is begun with
its agents until then. One that no daemon survives is set aside (`set_aside`).
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
from windlass.core.events import (
    IntentDone,
    IntentFailed,
    IntentOpen,
    IntentSetAside,
    IntentUndoFailed,
)
from windlass.core.ids import RepoId, Uid
from windlass.daemon.kernel import intent_upgrades, set_aside
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intent_upgrades import GivenUp, Progress, Upgrade
from windlass.daemon.kernel.keyed_locks import StillHeld
from windlass.daemon.kernel.unrecorded import Unrecorded, what_follows
from windlass.store import rows
from windlass.store.rows import Intent
from windlass.store.store import Writing

log = logging.getLogger(__name__)
T = TypeVar("T")
_STOPS = "stops"
"""The agents whose sessions an intent ends or starts anew, in its data."""
PATIENCE = 60.0
"""Seconds that somebody who waits for an answer waits for what else is done with an agent."""


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

    def count_try(self) -> None:
        """Records that it is tried once more, before that is."""
        self._put(tries=self.intent.tries + 1)

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
    their data, for whoever sees one end. What only `ends` its agents is begun whatever else was set
    aside of them.
    """

    kind: str
    steps: tuple[Step, ...]
    locks: Callable[[Mapping[str, Any]], list[Uid]]
    result: Callable[[RunningIntent], Mapping[str, Any]]
    version: int = 1
    upgrades: Mapping[int, Upgrade] = MappingProxyType({})
    counted: tuple[str, ...] = ()
    stops: Callable[[Mapping[str, Any]], list[Uid]] = lambda _: []
    ends: bool = False

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
        tries=1,
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
        self._unrecorded = Unrecorded()
        self._tried: set[str] = set()
        """Open intents whose try by this daemon is recorded."""
        self._guard = threading.Lock()

    def add(self, operations: Iterable[Operation]) -> None:
        """Makes more operations known: those of services that themselves perform intents."""
        self._operations |= {operation.kind: operation for operation in operations}

    def close(self) -> None:
        """Has tries not count that end with this daemon: it did not die of them."""
        with self._guard:
            under_way = list(self._tried)
        if under_way:
            self._context.store.write(partial(rows.forget_tries, keys=under_way))

    def perform(
        self,
        kind: str,
        key: str | None,
        begin: Callable[[], IntentDraft],
        *,
        patience: float | None = None,
    ) -> dict[str, Any]:
        """Does it, or waits for whoever does, or returns how it ended.

        `begin` is asked only where nothing was begun under the key: what it checks may well be
        different after the fact. What was not begun within the seconds of `patience`, because
        something else is done with its agents, has failed; None waits for ever.
        """
        key = key or str(uuid.uuid4())
        with self._guard:
            under_way = self._running.get(key)
            if under_way is None:
                mine = self._running[key] = Future()
        if under_way is not None:
            return under_way.result()
        try:
            result = self._outcome(kind, key, begin, patience)
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

    def say_what_stops(self) -> None:
        """Has open intents of an older release say whose sessions they stop, before any is seen.

        What makes no sense is told of when it is its turn.
        """
        for intent in self._context.store.read(rows.open_intents):
            operation = self._operations.get(intent.kind)
            try:
                data = operation.recorded(intent.data) if operation else intent.data
            except (KeyError, TypeError, AttributeError):
                continue
            if data != intent.data:
                self._context.store.write(partial(rows.change_intent, key=intent.id, data=data))

    def take_up_unrecorded(self) -> None:
        """Goes on with what could not be recorded, if the store has room again.

        That is tried with a record that changes nothing: the steps would be done once more each
        time, and a project's own command may be among them.
        """
        for key in self._unrecorded.keys():  # noqa: SIM118 - no mapping
            try:
                intent = self._context.store.write(partial(_touched, key))
            except Exception as error:  # noqa: BLE001 - told when it was asked for; tried again
                log.debug("%s cannot be recorded yet: %s", key, error)
            else:
                self.resume(intent)

    def _outcome(
        self, kind: str, key: str, begin: Callable[[], IntentDraft], patience: float | None
    ) -> dict[str, Any]:
        intent = self._context.store.read(lambda c: rows.intent(c, key))
        if intent is None:
            begun, operation = begin(), self._operations[kind]
            intent = self._context.store.write(lambda w: self._record(w, operation, key, begun))
            if intent.status == "done":
                self._context.failpoints.reached(f"{kind}.finish.after")
            else:
                with self._guard:
                    self._tried.add(key)
        if intent.status == "done":
            return intent.result or {}
        if intent.status in ("failed", "set aside"):
            raise _rebuilt(intent.error or {})
        return self._taken_up(RunningIntent(self._context, intent), patience)

    def _taken_up(self, work: RunningIntent, patience: float | None) -> dict[str, Any]:
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
            self._count_try(work, ())
            raise self._give_up(self._operations[work.intent.kind], work) from None
        except Exception as error:
            failure = _defect("its data", error)
            self._report(work, failure)
            raise failure from error
        with self._holding(work, locks, patience), self._unrecorded_if_open(work, locks):
            self._count_try(work, locks)
            known = Progress(work.intent.data, work.intent.done)
            if (progress, operation.version) != (known, work.intent.version):
                work.take_over(progress, operation.version)
            if work.intent.error is not None:
                raise self._fail(operation, work)
            return self._go_on(operation, work)

    @contextlib.contextmanager
    def _holding(
        self, work: RunningIntent, agents: Iterable[Uid], patience: float | None
    ) -> Iterator[None]:
        """Holds the locks of an intent's agents; what was not begun does not wait for ever."""
        is_begun = work.intent.done or work.intent.error is not None
        with contextlib.ExitStack() as held:
            try:
                within = None if is_begun else patience
                held.enter_context(self._context.locks.holding(agents, within=within))
            except StillHeld as busy:
                raise self._give_way(work, Uid(busy.key), patience or 0.0) from None
            yield

    def _give_way(self, work: RunningIntent, agent: Uid, seconds: float) -> Unavailable:
        """Has an intent fail that never got the locks of its agents; returns what to tell."""
        row = self._context.store.read(lambda c: rows.agent(c, agent))
        name = row.id if row is not None else agent
        error = Unavailable(
            f"something else has been done with {name} for {seconds:.0f} s, and goes on",
            f"see what it is: wl log {name}; then try again",
        )
        work.finish(status="failed", error=_as_data(error))
        self._forget_if_over(work)
        return error

    def _count_try(self, work: RunningIntent, agents: Iterable[Uid]) -> None:
        """Records a try before it is made, or sets aside what was tried often enough.

        What goes on after the store took a record again is still the same try.
        """
        if work.intent.id in self._tried:
            return
        if work.intent.tries >= set_aside.MOST_TRIES:
            raise self._set_aside(work, agents)
        work.count_try()
        with self._guard:
            self._tried.add(work.intent.id)

    def _set_aside(self, work: RunningIntent, agents: Iterable[Uid]) -> Conflict:
        names = self._context.store.read(lambda c: set_aside.names_of(c, agents))
        error = set_aside.explained(work.intent, names)
        attached = set_aside.attached(work.intent, agents)
        self._report(work, error, status="set aside", data=attached)
        return error

    @contextlib.contextmanager
    def _unrecorded_if_open(self, work: RunningIntent, agents: Iterable[Uid]) -> Iterator[None]:
        """Remembers an intent that is left open, so that nothing else is begun with its agents."""
        try:
            yield
        except Exception as error:
            if work.intent.status != "open":
                raise
            self._unrecorded.add(work.intent, agents)
            if isinstance(error, Unavailable):
                raise Unavailable(error.message, what_follows(work.intent)) from error
            raise
        finally:
            self._forget_if_over(work)

    def _forget_if_over(self, work: RunningIntent) -> None:
        if work.intent.status != "open":
            self._unrecorded.discard(work.intent.id)
            with self._guard:
                self._tried.discard(work.intent.id)

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

    def _report(self, work: RunningIntent, error: WindlassError, **more: Any) -> None:
        log.error("%s %s: %s", work.intent.kind, work.intent.id, error.message)
        why = f"{error.message}; {error.hint}"
        ending = {"status": "failed", "error": _as_data(error), **more}
        work.finish(lambda w: self._tell(w, work.intent, why), **ending)
        self._forget_if_over(work)

    def _record(
        self, writing: Writing, operation: Operation, key: str, begin: IntentDraft
    ) -> Intent:
        """Records an intent; where no step is needed for it, that is all there is to do."""
        intent = set_out(writing, operation, key, begin)
        agents = operation.locks(intent.data)
        self._unrecorded.refuse(agents)
        if not operation.ends:
            set_aside.refuse_attached(writing, agents)
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
        also = set_aside.settle if operation.ends else lambda _: None
        try:
            result = dict(operation.result(work))
        except Exception:
            # All of it is done; only whoever asked cannot be told what became of it.
            work.finish(also, status="done", result={})
            raise
        reached(f"{operation.kind}.finish.before")
        work.finish(also, status="done", result=result)
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


def _touched(key: str, writing: Writing) -> Intent:
    return rows.change_intent(writing, key, updated_at=writing.now)


def _tell_of_failed_undo(intent: Intent, step: str, why: str, writing: Writing) -> None:
    writing.emit(IntentUndoFailed(intent=intent.id, step=step, error=why), repo=intent.repo)


def _ended(intent: Intent) -> IntentDone | IntentFailed | IntentSetAside:
    if intent.status == "done":
        return IntentDone(intent=intent.id, what=intent.kind, error=intent.error)
    if intent.status == "set aside":
        return IntentSetAside(
            intent=intent.id, what=intent.kind, tries=intent.tries, error=intent.error
        )
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
