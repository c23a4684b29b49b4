"""An intent under way: what is known of it, and every way to record more of that."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import sqlalchemy as sa

from windlass.core import jobs
from windlass.core.errors import WindlassError
from windlass.core.events import (
    IntentDone,
    IntentFailed,
    IntentHalted,
    IntentSetAside,
    JobEffect,
)
from windlass.daemon.kernel import intent_errors, set_aside
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intent_upgrades import Progress
from windlass.store import rows
from windlass.store.rows import Intent
from windlass.store.store import Writing

T = TypeVar("T")


class _Known:
    """What is known of an intent; whoever records more of it holds the lock meanwhile."""

    def __init__(self, intent: Intent) -> None:
        self.intent = intent
        self.lock = threading.RLock()


class RunningIntent:
    """One intent under way: its data, and ways to record more of it.

    For one thread; others that work on the same intent have one each, from `beside`.
    """

    def __init__(self, context: Context, intent: Intent, writing: Writing | None = None) -> None:
        self.context = context
        self._known = _Known(intent)
        self._writing = writing
        self._next_changes: list[Callable[[Writing], Any]] = []

    def beside(self) -> RunningIntent:
        """The same intent for another thread: what that tells is committed with its own records."""
        other = RunningIntent(self.context, self.intent)
        other._known = self._known
        return other

    def join(self, other: RunningIntent) -> None:
        """Takes over what another thread has told, and not recorded."""
        self._next_changes += other._next_changes

    @property
    def intent(self) -> Intent:
        """How the intent stands."""
        return self._known.intent

    @intent.setter
    def intent(self, intent: Intent) -> None:
        self._known.intent = intent

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
        self.amend(lambda _: values)

    def amend(self, more: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        """Adds to the data what follows from it, durably; nobody else adds anything meanwhile."""
        with self._known.lock:
            data = self.intent.data
            self._put(data={**data, **more(data)})

    def keep_entry(self, name: str, key: str, value: Any) -> None:
        """Adds an entry to a table of the data, durably."""
        self.amend(lambda data: {name: {**data.get(name, {}), key: value}})

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
        """Records that a step is done; whoever dies from then on has died of the next one."""
        done = (*self.intent.done, step)
        tries = {"tries": 1} if self.intent.tries > 1 else {}
        self._put(done=done, step=len(done), **tries)

    def take_over(self, progress: Progress, version: int) -> None:
        """Records how far it is in the words of a version."""
        data, done = progress
        self._put(data=data, done=done, step=len(done), version=version)

    def turn_back(self, begun: Iterable[str], why: WindlassError) -> None:
        """Records that the steps of these names are taken back from now on, and why."""
        done = tuple(begun)
        self._put(done=done, step=len(done), error=intent_errors.as_data(why))

    def took_back(self, step: str) -> None:
        """Records that a step is taken back."""
        done = tuple(name for name in self.intent.done if name != step)
        self._put(done=done, step=len(done))

    def finish(self, also: Callable[[Writing], Any] = lambda _: None, **ending: Any) -> None:
        """Records the ending, with its event and whatever belongs to it in one transaction."""
        self._finish(also, lambda _: ending)

    def succeed(
        self,
        result: Mapping[str, Any],
        *,
        standing: Callable[[RunningIntent], Mapping[str, Any]],
        also: Callable[[Writing], Any] = lambda _: None,
    ) -> dict[str, Any]:
        """Records that it is done; returns its result, with how things stand by then."""

        def ending(writing: Writing) -> dict[str, Any]:
            in_the_end = RunningIntent(self.context, self.intent, writing)
            return {"status": "done", "result": {**result, **standing(in_the_end)}}

        self._finish(also, ending)
        return self.intent.result or {}

    def _finish(
        self, also: Callable[[Writing], Any], ending: Callable[[Writing], dict[str, Any]]
    ) -> None:
        def change(writing: Writing) -> Intent:
            also(writing)
            over = self._changed(writing, **ending(writing))
            tell_end(writing, over)
            return over

        self.intent = self.context.store.write(change)
        self._next_changes.clear()

    def _put(self, **columns: Any) -> None:
        # Known only once it is committed: a full disk is found no sooner than that.
        with self._known.lock:
            self.intent = self.context.store.write(lambda w: self._changed(w, **columns))
        self._next_changes.clear()

    def _changed(self, writing: Writing, **columns: Any) -> Intent:
        for change in self._next_changes:
            change(writing)
        key, now = self.intent.id, writing.now
        return rows.change_intent(writing, key, updated_at=now, **columns)


def tell_end(writing: Writing, intent: Intent) -> None:
    """Tells of an ending; where it is a job's effect, that job too."""
    writing.emit(ended(intent), repo=intent.repo)
    job = jobs.owner(intent.id)
    if job is None:
        return
    effect = JobEffect(
        job=job,
        number=jobs.number_of(intent.id),
        what=intent.kind,
        status=intent.status,
        result=intent.result,
        error=intent.error,
    )
    writing.emit(effect, repo=intent.repo, subject=jobs.subject(job))


def ended(intent: Intent) -> IntentDone | IntentFailed | IntentSetAside | IntentHalted:
    """The event that tells of an ending, or of what stays between."""
    if intent.status == "done":
        return IntentDone(intent=intent.id, what=intent.kind, error=intent.error)
    if intent.status == "set aside":
        return IntentSetAside(
            intent=intent.id, what=intent.kind, tries=intent.tries, error=intent.error
        )
    if intent.status == "halted":
        branch = set_aside.branch_of(intent)
        return IntentHalted(
            intent=intent.id,
            what=intent.kind,
            branch=branch,
            tries=intent.tries,
            error=intent.error,
        )
    return IntentFailed(intent=intent.id, what=intent.kind, error=intent.error)
