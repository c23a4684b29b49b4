"""The driver of jobs on one machine: in the daemon's own process, woken by what it commits.

Owns whom to wake and when; nothing of it has to be kept, because every job knows by its cursor what
it has not heard of. A job advances in one thread at a time.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence

from windlass.core import jobs
from windlass.core.errors import WindlassError
from windlass.core.jobs import DueEffect, Heard, JobId, JobNote, Topic
from windlass.core.ports import Clock, Ledger

log = logging.getLogger(__name__)

Begin = Callable[[Callable[[], None]], bool]
"""Has something done in a thread; False where nothing is begun any more."""
Perform = Callable[[DueEffect], None]
"""Has an effect done, in a thread that is its own business."""
_SUBJECT = jobs.subject(JobId(""))


class EmbeddedEngine:
    """Drives the jobs of one daemon; `run` is its part on the event loop."""

    def __init__(self, ledger: Ledger, clock: Clock, *, begin: Begin, perform: Perform) -> None:
        self._ledger = ledger
        self._clock = clock
        self._begin = begin
        self._perform = perform
        self._guard = threading.Lock()
        self._open: dict[JobId, JobNote] = {}
        self._waiting: dict[Topic, set[JobId]] = {}
        """Who waits for which news."""
        self._wakes: dict[JobId, float] = {}
        """When each job is to be woken, by the monotonic clock."""
        self._meant: dict[JobId, tuple[float, float]] = {}
        """The time of day that a job asked for last, and what that was by the monotonic clock."""
        self._busy: dict[JobId, bool] = {}
        """Jobs that advance just now, and whether something happened to them meanwhile."""
        self._failures: dict[JobId, int] = {}
        self._changed: Callable[[], object] = lambda: None

    def open(self) -> None:
        """Takes over the jobs that there are, and goes on with each."""
        for note in self._ledger.claim():
            self._heard(note.id, note)
            self._wake(note.id)

    def heed(self, heard: Sequence[Heard]) -> None:
        """Wakes whoever hears of what was committed just now."""
        wanted: dict[JobId, None] = {}
        with self._guard:
            for event in heard:
                if event.subject is not None and event.subject.startswith(_SUBJECT):
                    wanted[JobId(event.subject.removeprefix(_SUBJECT))] = None
                for topic in event.topics:
                    wanted |= dict.fromkeys(self._waiting.get(topic, ()))
        for job in wanted:
            self._wake(job)

    async def run(self) -> None:
        """Wakes jobs when their moment comes, for as long as it is not cancelled."""
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        self._changed = lambda: loop.call_soon_threadsafe(changed.set)
        while True:
            changed.clear()
            seconds = self._until_next()
            try:
                wait = None if seconds is None else self._clock.real(seconds)
                await asyncio.wait_for(changed.wait(), wait)
            except TimeoutError:
                self.wake_due()

    def wake_due(self) -> None:
        """Wakes every job whose moment has come."""
        now = self._clock.monotonic()
        with self._guard:
            due = [job for job, at in self._wakes.items() if at <= now]
            for job in due:
                del self._wakes[job]
                if job in self._open:
                    self._open[job] = self._open[job]._replace(wake_at=None)
        for job in due:
            self._begin(lambda job=job: self._tell_moment(job))  # type: ignore[misc]

    def _until_next(self) -> float | None:
        with self._guard:
            earliest = min(self._wakes.values(), default=None)
        return None if earliest is None else max(0.0, earliest - self._clock.monotonic())

    def _tell_moment(self, job: JobId) -> None:
        """Says that a job's moment has come; later once more, where that cannot be recorded."""
        if job in self._failures:  # it waits for its own sake, and not because it wanted to
            self._wake(job)
            return
        try:
            self._ledger.wake(job)
        except WindlassError as error:
            self._try_later(job, error)

    def _wake(self, job: JobId) -> None:
        """Has a job take in what happened; once more afterwards, if it is at that already."""
        with self._guard:
            is_busy = job in self._busy
            self._busy[job] = is_busy
        if not is_busy and not self._begin(lambda: self._advance(job)):
            with self._guard:
                self._busy.pop(job, None)

    def _advance(self, job: JobId) -> None:
        while True:
            with self._guard:
                self._busy[job] = False
            try:
                note = self._ledger.advance(job)
                self._failures.pop(job, None)
            except WindlassError as error:
                self._try_later(job, error)
            else:
                self._heard(job, note)
            with self._guard:
                if not self._busy[job]:
                    del self._busy[job]
                    return

    def _heard(self, job: JobId, note: JobNote | None) -> None:
        for effect in note.effects if note is not None else ():
            self._perform(effect)
        if note is not None and not note.is_over:
            self._take_note(note)
            return
        with self._guard:
            self._wait_for(job, frozenset())
            for known in (self._open, self._wakes, self._meant):
                known.pop(job, None)

    def _take_note(self, note: JobNote) -> None:
        with self._guard:
            if self._wait_for(note.id, note.topics) and note.id in self._busy:
                # Between its last look and now something of that may have happened.
                self._busy[note.id] = True
            self._open[note.id] = note
            self._wakes.pop(note.id, None)
            if note.wake_at is not None:
                self._wakes[note.id] = self._moment(note.id, note.wake_at)
        self._changed()

    def _wait_for(self, job: JobId, topics: frozenset[Topic]) -> bool:
        """Has a job be woken for this news and for no other; says whether some of it is new."""
        note = self._open.get(job)
        before = note.topics if note is not None else frozenset()
        for topic in before - topics:
            self._waiting[topic].discard(job)
            if not self._waiting[topic]:
                del self._waiting[topic]
        for topic in topics - before:
            self._waiting.setdefault(topic, set()).add(job)
        return bool(topics - before)

    def _moment(self, job: JobId, wake_at: float) -> float:
        """When that is by the monotonic clock, reckoned once: the hour may be set meanwhile."""
        asked, moment = self._meant.get(job, (None, 0.0))
        if asked != wake_at:
            moment = self._clock.monotonic() + max(0.0, wake_at - self._clock.now())
            self._meant[job] = (wake_at, moment)
        return moment

    def _try_later(self, job: JobId, error: WindlassError) -> None:
        """Goes on with a job after a while: the store takes nothing just now."""
        with self._guard:
            failures = self._failures.get(job, 0)
            self._failures[job] = failures + 1
            self._wakes[job] = self._clock.monotonic() + jobs.backoff(failures)
        log.warning("%s goes on later: %s", job, error.message)
        self._changed()
