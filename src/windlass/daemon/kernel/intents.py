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
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from typing import Any

from windlass.core.errors import Conflict, Internal, Unavailable, WindlassError
from windlass.core.ids import Uid
from windlass.daemon.kernel import (
    branch_moves,
    intent_errors,
    intent_steps,
    intent_upgrades,
    running_intents,
    set_aside,
    store_share,
)
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intent_upgrades import GivenUp, Progress
from windlass.daemon.kernel.keyed_locks import StillHeld
from windlass.daemon.kernel.operations import IntentDraft, Operation, set_out
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.kernel.unrecorded import Unrecorded, what_follows
from windlass.store import rows
from windlass.store.rows import Intent
from windlass.store.store import Writing

log = logging.getLogger(__name__)
PATIENCE = 60.0
"""Seconds that somebody who waits for an answer waits for what else is done with an agent."""

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

    def record(self, writing: Writing, kind: str, key: str, begin: IntentDraft) -> None:
        """Records an intent with whatever else a transaction does; `perform_recorded` does it."""
        set_out(writing, self._operations[kind], key, begin)
        with self._guard:
            self._tried.add(key)

    def perform_recorded(self, key: str) -> None:
        """Does what is left of an intent that is recorded; its failure is recorded, not raised."""
        intent = self._context.store.read(partial(rows.intent, key=key))
        if intent is not None and intent.status == "open":
            self.resume(intent)

    def retry(self, intent: Intent, *, request: str | None) -> dict[str, Any]:
        """Tries once more what was set aside or halted; once for each key of a request."""
        self._reopen(intent.id, request, back=False)
        return self._go_on(intent)

    def take_back(self, intent: Intent, *, request: str | None) -> None:
        """Takes back what can be of something that was set aside or halted, and has it fail."""
        self._reopen(intent.id, request, back=True)
        try:
            self._go_on(intent)
        except WindlassError:
            after = self._context.store.read(partial(rows.intent, key=intent.id))
            if after is None or after.status != "failed":
                raise
        else:
            raise Conflict(f"{intent.kind} is done, and not taken back any more", "see `wl undo`")

    def _reopen(self, key: str, request: str | None, *, back: bool) -> None:
        reopen = partial(set_aside.reopen, key=key, request=request, back=back)
        if self._context.store.write(reopen):
            with self._guard:
                self._tried.add(key)

    def _go_on(self, intent: Intent) -> dict[str, Any]:
        def gone() -> IntentDraft:
            raise Internal(f"intent {intent.id} was to be resumed and is not there")

        return self.perform(intent.kind, intent.id, gone)

    def resume(self, intent: Intent) -> None:
        """Goes on with what an earlier daemon left open; its failure is recorded, not raised."""
        try:
            self._go_on(intent)
        except WindlassError as error:
            log.warning("%s %s, resumed, failed: %s", intent.kind, intent.id, error.message)
        except Exception:
            log.exception("%s %s, resumed, could not be recorded", intent.kind, intent.id)

    def doubt_open(self) -> None:
        """Sets aside what is open in a store that was replaced by an older one: it may be done.

        The person decides, who can see what came of it.
        """
        for intent in self._context.store.read(rows.open_intents):
            work = RunningIntent(self._context, intent)
            try:
                agents = self._operations[intent.kind].locks(intent.data)
            except (KeyError, TypeError, AttributeError):
                continue  # of another release: told of when it is its turn
            self._set_aside(work, agents, set_aside.IN_AN_OLDER_STORE)

    def say_what_stops(self) -> None:
        """Records in open intents of an older release whose sessions they stop.

        Done before anybody looks at a session. Data that this release cannot read is passed over:
        it is told of when the intent is resumed.
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
            most = store_share.limit(self._context, begun.repo) if begun.caller else 0
            intent = self._context.store.write(
                lambda w: self._record(w, operation, key, begun, most)
            )
            if intent.status == "done":
                self._context.failpoints.reached(f"{kind}.finish.after")
            else:
                with self._guard:
                    self._tried.add(key)
        if intent.status == "done":
            known = self._operations.get(intent.kind)
            return known.kept_result(intent) if known is not None else intent.result or {}
        if intent.status in ("failed", "set aside", "halted"):
            raise intent_errors.rebuilt(intent.error or {})
        return self._taken_up(RunningIntent(self._context, intent), patience)

    def _taken_up(self, work: RunningIntent, patience: float | None) -> dict[str, Any]:
        """Does what is left of an intent, or of taking it back, or tells that it cannot."""
        operation = self._operations.get(work.intent.kind)
        try:
            if operation is None:
                raise intent_upgrades.unknown(work.intent, "nothing here does that")
            progress = operation.progress(work.intent)
            agents, held = operation.locks(progress.data), operation.holds(progress.data)
        except Conflict as error:
            self._report(work, error)
            raise
        except GivenUp:
            self._count_try(work, ())
            raise self._give_up(self._operations[work.intent.kind], work) from None
        except Exception as error:
            failure = intent_errors.defect("its data", error)
            self._report(work, failure)
            raise failure from error
        with self._holding(work, held, patience), self._unrecorded_if_open(work, held):
            self._count_try(work, agents)
            known = Progress(work.intent.data, work.intent.done)
            if (progress, operation.version) != (known, work.intent.version):
                work.take_over(progress, operation.version)
            if work.intent.error is None and set_aside.is_to_be_taken_back(work.intent):
                work.turn_back(operation.begun(work.intent), set_aside.given_up(work.intent))
            if work.intent.error is not None:
                raise intent_steps.fail(operation, work)
            return intent_steps.go_on(operation, work)

    @contextlib.contextmanager
    def _holding(
        self, work: RunningIntent, agents: Iterable[Uid], patience: float | None
    ) -> Iterator[None]:
        """Holds the locks of an intent's agents; what was not begun does not wait for ever."""
        is_begun = work.intent.done or work.intent.error is not None
        within = None if is_begun else patience
        holder = partial(self._named, work)
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(
                    self._context.locks.holding(agents, holder=holder, within=within)
                )
            except StillHeld as busy:
                raise self._give_way(work, busy, patience or 0.0) from None
            yield

    def _named(self, work: RunningIntent) -> str:
        """What an intent is called where somebody waits for it."""
        agents = self._operations[work.intent.kind].locks(work.data)
        names = self._context.store.read(lambda c: set_aside.names_of(c, agents))
        return set_aside.named(work.intent, names)

    def _give_way(self, work: RunningIntent, busy: StillHeld, seconds: float) -> Conflict:
        """Has an intent fail that never got the locks of its agents; returns what to tell."""
        row = self._context.store.read(lambda c: rows.agent(c, Uid(busy.key)))
        name = row.id if row is not None else busy.key
        error = intent_errors.busy(name, seconds, holder=busy.holder)
        work.finish(status="failed", error=intent_errors.as_data(error))
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

    def _set_aside(self, work: RunningIntent, agents: Iterable[Uid], why: str = "") -> Conflict:
        """Sets an intent aside, or halts it; returns what to tell."""
        names = self._context.store.read(lambda c: set_aside.names_of(c, agents))
        move = self._operations[work.intent.kind].moves(work.data)
        if move is None:
            error = set_aside.explained(work.intent, names, why)
            data = set_aside.attached(work.intent, agents)
            self._report(work, error, status="set aside", data=data)
            return error
        state = branch_moves.state(self._context, work.intent.repo, move)
        error = set_aside.halted(work.intent, names, move.branch, state, why)
        data = set_aside.attached(work.intent, agents, move.branch)
        self._report(work, error, status="halted", data=data)
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
        intent_steps.take_back(operation, work)
        self._report(work, error)
        return error

    def _report(self, work: RunningIntent, error: WindlassError, **more: Any) -> None:
        log.error("%s %s: %s", work.intent.kind, work.intent.id, error.message)
        why = f"{error.message}; {error.hint}"
        ending = {"status": "failed", "error": intent_errors.as_data(error), **more}
        work.finish(lambda w: self._tell(w, work.intent, why), **ending)
        self._forget_if_over(work)

    def _record(
        self, writing: Writing, operation: Operation, key: str, begin: IntentDraft, most: int
    ) -> Intent:
        """Records an intent, unless an agent asks that has filled `most` bytes of the store."""
        if begin.caller is None:
            return self._begun(writing, operation, key, begin)
        store_share.refuse_full(writing, begin.caller, most)
        intent = self._begun(writing, operation, key, begin)
        store_share.count(writing, begin.caller, intent)
        return intent

    def _begun(
        self, writing: Writing, operation: Operation, key: str, begin: IntentDraft
    ) -> Intent:
        """Records an intent; where no step is needed for it, that is all there is to do."""
        intent = set_out(writing, operation, key, begin)
        agents = operation.holds(intent.data)
        self._unrecorded.refuse(agents)
        if (move := operation.moves(intent.data)) is not None:
            set_aside.refuse_move(writing.connection, intent.repo, move.branch)
        set_aside.refuse_attached(writing, agents, ends=operation.ends)
        if any(step.needed(intent.data) for step in operation.steps):
            return intent
        work = RunningIntent(self._context, intent, writing)
        result = {**operation.result(work), **operation.standing(work)}
        done = rows.change_intent(writing, key, status="done", result=result)
        running_intents.tell_end(writing, done)
        return done


def _touched(key: str, writing: Writing) -> Intent:
    return rows.change_intent(writing, key, updated_at=writing.now)
