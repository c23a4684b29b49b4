"""The ledger of jobs: state, cursor and effects of a job change in one transaction, or not at all.

Implements the port that engines drive jobs by. What a job makes of what it hears is decided outside
of the writer, from what was read, and written only if nothing of that has changed meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from windlass.core import jobs as core
from windlass.core.errors import Conflict, Unavailable, WindlassError
from windlass.core.events import JobBegun, JobCancelled, JobDone, JobSetAside, JobWoken
from windlass.core.ids import RepoId
from windlass.core.jobs import Advance, DueEffect, Job, JobId, JobKind, JobNote, News, Topic
from windlass.daemon.kernel import intent_errors
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.operations import IntentDraft
from windlass.store import jobs as rows
from windlass.store import rows as intent_rows
from windlass.store.store import Writing

log = logging.getLogger(__name__)

Tell = Callable[[Writing, Job, str], None]
"""Tells the person of a job that was set aside, and why."""


class Jobs:
    """The jobs of this machine: begun, advanced, cancelled."""

    def __init__(self, context: Context, intents: Intents, *, tell: Tell = lambda *_: None) -> None:
        self._context = context
        self._intents = intents
        self._tell = tell
        self._kinds: dict[str, JobKind] = {}

    def add(self, kinds: Iterable[JobKind]) -> None:
        """Makes more kinds of jobs known."""
        self._kinds |= {kind.name: kind for kind in kinds}

    def begin(
        self, writing: Writing, kind: str, *, repo: RepoId, subject: str, state: dict[str, Any]
    ) -> Job:
        """Begins a job in the caller's transaction; it goes on by itself once that is committed.

        It hears of what happens from then on: what its state says was known already.
        """
        job = Job(
            id=JobId(f"{core.PREFIX}{self._context.new_uid()}"),
            kind=kind,
            subject=subject,
            repo=repo,
            state=state,
            version=self._kinds[kind].version,
            cursor=intent_rows.newest_event(writing.connection),
            host=self._host,
            created_at=writing.now,
            updated_at=writing.now,
        )
        rows.add(writing, job)
        begun = JobBegun(job=job.id, what=kind, about=subject)
        writing.emit(begun, repo=repo, subject=core.subject(job.id))
        return job

    def cancel(self, writing: Writing, job: Job, why: str) -> None:
        """Tells a job that somebody wants it to end; how, it decides itself."""
        event = JobCancelled(job=job.id, why=why)
        writing.emit(event, repo=job.repo, subject=core.subject(job.id))

    def claim(self) -> list[JobNote]:
        """Takes over every open job; sets aside what daemons died with again and again.

        And what jobs that are over have left to do: they decided it with their end.
        """
        claimed = self._context.store.write(partial(rows.claim, host=self._host))
        notes = []
        for job in claimed:
            if job.tries > core.MOST_DEATHS:
                self._set_aside(
                    job,
                    Conflict(
                        f"{job.kind} {job.id} got nowhere under {core.MOST_DEATHS} daemons,"
                        " which all died",
                        "`wl dev jobs` shows it; begin it anew once you know why",
                    ),
                )
            else:
                # What it waits for is known once it advances, which is the first that it does.
                notes.append(JobNote(job.id, frozenset(), job.wake_at, tuple(self._left(job))))
        over = self._context.store.read(rows.with_effects_left)
        return [*notes, *(self._note(job, self._left(job)) for job in over)]

    def _left(self, job: Job) -> list[DueEffect]:
        return self._context.store.read(partial(rows.open_effects, job=job.id))

    def advance(self, job_id: JobId) -> JobNote | None:
        """Has a job take in everything that happened to it since it was last looked at."""
        due: list[DueEffect] = []
        while True:
            job = self._context.store.read(partial(rows.find, job=job_id))
            if job is None:
                return None
            if job.status != "open":
                return self._note(job, due)
            try:
                kind = self._kind(job)
                news, _ = self._news(kind, job)
                if not news:
                    self._forget_deaths(job)
                    return self._note(job, due)
                advance = core.advanced(kind, job, news)
            except WindlassError as error:
                if isinstance(error, Unavailable):
                    raise
                self._set_aside(job, error)
                continue
            except Exception as error:
                log.exception("%s %s", job.kind, job.id)
                self._set_aside(job, intent_errors.defect(job.kind, error))
                continue
            begun = self._write(job, kind, advance)
            if begun is None:
                log.warning("%s is driven by somebody else", job.id)
                return None
            due += begun

    def _forget_deaths(self, job: Job) -> None:
        """A job with nothing to do is not what its daemons died of, however many there were."""

        def change(writing: Writing) -> None:
            if not rows.open_effects(writing.connection, job.id):
                rows.change(writing, job, tries=0)

        if job.tries:
            self._context.store.write(change)

    def _kind(self, job: Job) -> JobKind:
        if job.kind not in self._kinds:
            raise Conflict(f"nothing here does a {job.kind}", "it is of another release")
        return self._kinds[job.kind]

    def catch_up(self) -> None:
        """Has open jobs that nothing happens to know that, so that old events may go."""
        for job in self._context.store.read(lambda c: rows.listed(c, status="open")):
            kind = self._kinds.get(job.kind)
            if kind is None:
                continue
            news, end = self._news(kind, job)
            if not news and end is not None and end > job.cursor:
                self._context.store.write(partial(rows.change, job=job, cursor=end))

    def wake(self, job_id: JobId) -> None:
        """Tells a job that the moment came that it waited for."""
        self._context.store.write(partial(self.hasten, job_id=job_id))

    def hasten(self, writing: Writing, job_id: JobId) -> None:
        """Tells a job so in the caller's transaction, whenever that moment would be."""
        job = rows.find(writing.connection, job_id)
        if job is None or job.status != "open" or job.wake_at is None:
            return
        if rows.change(writing, job, wake_at=None):
            writing.emit(JobWoken(job=job.id), repo=job.repo, subject=core.subject(job.id))

    @property
    def _host(self) -> str:
        return "here"

    def _news(self, kind: JobKind, job: Job) -> tuple[list[News], int | None]:
        about = kind.about(kind.upgraded(job))
        read = partial(rows.news, job=job, hears=kind.hears, about=about)
        return self._context.store.read(read)

    def _note(self, job: Job, due: Iterable[DueEffect]) -> JobNote:
        is_over = job.status != "open"
        topics = frozenset[Topic]() if is_over else self._kind(job).topics(job)
        return JobNote(job.id, topics, job.wake_at, tuple(due), is_over)

    def _write(self, job: Job, kind: JobKind, advance: Advance) -> list[DueEffect] | None:
        """Writes what follows, its effects too; None where somebody else drives the job by now."""
        decision, cursor = advance
        is_over = decision.result is not None
        due = [
            DueEffect(core.effect_key(job.id, number), effect.what)
            for number, effect in enumerate(decision.effects, start=job.sequence + 1)
        ]

        def change(writing: Writing) -> bool:
            changed = rows.change(
                writing,
                job,
                state=decision.state,
                version=kind.version,
                sequence=job.sequence + len(due),
                cursor=cursor,
                wake_at=None if is_over else decision.wake_at,
                status="done" if is_over else "open",
                result=decision.result,
                tries=0,
            )
            if not changed:
                return False
            for (key, what), effect in zip(due, decision.effects, strict=True):
                draft = IntentDraft(job.repo, None, partial(_given, effect.data))
                self._intents.record(writing, what, key, draft)
            if decision.result is not None:
                done = JobDone(job=job.id, what=job.kind, about=job.subject, result=decision.result)
                writing.emit(done, repo=job.repo, subject=core.subject(job.id))
            return True

        reached = self._context.failpoints.reached
        reached(f"job.{job.kind}.advance.before")
        if not self._context.store.write(change):
            return None
        reached(f"job.{job.kind}.advance.after")
        return due

    def _set_aside(self, job: Job, error: WindlassError) -> None:
        data = intent_errors.as_data(error)
        event = JobSetAside(job=job.id, what=job.kind, about=job.subject, error=data)

        def change(writing: Writing) -> None:
            if rows.change(writing, job, status="set aside", error=data, wake_at=None):
                writing.emit(event, repo=job.repo, subject=core.subject(job.id))
                self._tell(writing, job, error.message)

        log.error("%s %s is set aside: %s", job.kind, job.id, error.message)
        self._context.store.write(change)


def _given(data: dict[str, Any], _: Writing) -> dict[str, Any]:
    """What an effect's intent begins with: what its job decided."""
    return dict(data)
