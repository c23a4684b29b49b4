"""Jobs: what waits longer than a command, for agents, gates, timers or people.

A job's state is data with a version, never a call that is under way. `advance` of its kind says
what follows from the next thing that happened: a new state, and effects, which are intents. Pure;
what keeps jobs and wakes them is the engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, NewType

import msgspec

from windlass.core.errors import Conflict
from windlass.core.ids import RepoId, Uid

JobId = NewType("JobId", str)
"""`job-` and twelve hex digits; no caller's key of an intent looks like one."""

PREFIX = "job-"
BEGUN, EFFECT, WOKEN, CANCELLED = "job.begun", "job.effect", "job.woken", "job.cancelled"
"""The kinds of news that every job hears of itself: see `core/events/jobs.py`."""
MOST_DEATHS = 3
"""Daemons that may die with a job under way that gets nowhere; then it is set aside."""

Status = Literal["open", "done", "set aside"]


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One job: where it stands, what it has heard of, and who drives it.

    `cursor` is the last event that it has taken in, `sequence` counts its effects. Who drives it
    writes under `generation` alone: a claim raises that, and has every older driver fail.
    """

    id: JobId
    kind: str
    subject: str
    repo: RepoId
    state: dict[str, Any]
    version: int
    sequence: int = 0
    cursor: int = 0
    wake_at: float | None = None
    status: Status = "open"
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    host: str | None = None
    generation: int = 0
    lease_until: float | None = None
    tries: int = 0
    created_at: float
    updated_at: float


class News(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened, as a job hears of it."""

    id: int
    kind: str
    data: dict[str, Any]
    at: float
    agent: Uid | None = None
    """The agent that it happened to, where it is about one."""


class Effect(NamedTuple):
    """Something to be done, once: an intent of the operation `what`."""

    what: str
    data: dict[str, Any]


class Decision(NamedTuple):
    """What follows from one piece of news. A job with a result is over.

    `wake_at` replaces the moment at which the job was to be woken, also by None.
    """

    state: dict[str, Any]
    effects: tuple[Effect, ...] = ()
    wake_at: float | None = None
    result: dict[str, Any] | None = None


Topic = tuple[RepoId | None, str, str | None]
"""News that a job waits for: the repository, the kind, and what it is about; None: whatever."""


class JobKind(NamedTuple):
    """One kind of job: what it hears of beside itself, and what it makes of that.

    It hears news of the kinds that it `hears` about its subjects, which follow from its state; one
    that has no `subjects` hears all of its repository. It hears of a new subject from the piece of
    news on that told it of that; so the effect that tells says how things stood then, in the
    transaction of its end (`standing` of its operation).

    Its `version` rises when a release means something else by the state; then `upgrades` has the
    rule from the version before, which gives the state that a job has now.
    """

    name: str
    advance: Callable[[dict[str, Any], News], Decision]
    hears: frozenset[str] = frozenset()
    subjects: Callable[[dict[str, Any]], frozenset[str]] | None = None
    version: int = 1
    upgrades: Mapping[int, Callable[[Job], dict[str, Any]]] = MappingProxyType({})

    def about(self, state: dict[str, Any]) -> frozenset[str] | None:
        """What a job in this state hears of beside itself; None where that is everything."""
        return None if self.subjects is None else self.subjects(state)

    def topics(self, job: Job) -> frozenset[Topic]:
        """The news that a job waits for beside what is about itself."""
        about = self.about(self.upgraded(job))
        subjects = (None,) if about is None else about
        return frozenset((job.repo, kind, subject) for kind in self.hears for subject in subjects)

    def upgraded(self, job: Job) -> dict[str, Any]:
        """Returns a job's state as this release means it; raises where no rule leads there."""
        state = job.state
        for version in range(job.version, self.version):
            if version not in self.upgrades:
                break
            state = self.upgrades[version](msgspec.structs.replace(job, state=state))
        else:
            if job.version <= self.version:
                return state
        raise Conflict(
            f"{job.kind} {job.id} is of version {job.version}, and this Windlass knows"
            f" {self.version}",
            "upgrade Windlass, or begin it anew",
        )


class Advance(NamedTuple):
    """What came of several pieces of news, one after the other."""

    decision: Decision
    cursor: int


class DueEffect(NamedTuple):
    """An effect that is recorded and not done: its key, and the operation that it is of."""

    key: str
    what: str


class JobNote(NamedTuple):
    """What a driver has to know of an open job: whom to wake for what, and what is to be done."""

    id: JobId
    topics: frozenset[Topic]
    wake_at: float | None = None
    effects: tuple[DueEffect, ...] = ()
    """What is to be done now."""
    is_over: bool = False


class Heard(NamedTuple):
    """An event that was committed, as far as it is needed to know whom to wake."""

    kind: str
    repo: RepoId | None
    subject: str | None

    @property
    def topics(self) -> tuple[Topic, Topic]:
        """The topics by which jobs may wait for it."""
        return (self.repo, self.kind, self.subject), (self.repo, self.kind, None)


def advanced(kind: JobKind, job: Job, news: Iterable[News]) -> Advance:
    """Takes in what happened since a job's cursor; what comes after its end changes nothing.

    It stops where the job hears of others than before: what follows is to be looked up anew.
    """
    decision = Decision(kind.upgraded(job), wake_at=job.wake_at)
    cursor, about = job.cursor, kind.about(decision.state)
    effects: tuple[Effect, ...] = ()
    for heard in news:
        cursor = max(cursor, heard.id)
        if decision.result is None:
            decision = kind.advance(decision.state, heard)
            effects += decision.effects
            if kind.about(decision.state) != about:
                break
    return Advance(decision._replace(effects=effects), cursor)


def effect_key(job: JobId, number: int) -> str:
    """The key of a job's effect, under which it happens once."""
    return f"{job}:{number}"


def owner(key: str) -> JobId | None:
    """The job whose effect has that key; None for what somebody asked for."""
    job, colon, number = key.rpartition(":")
    return JobId(job) if colon and job.startswith(PREFIX) and number.isdigit() else None


def number_of(key: str) -> int:
    """Which of its job's effects has that key."""
    return int(key.rpartition(":")[2])


def subject(job: JobId) -> str:
    """What events of a job are about."""
    return f"job:{job}"


def backoff(attempt: int, *, first: float = 1.0, most: float = 300.0) -> float:
    """Seconds to wait before the next of several attempts, twice as long after each."""
    return min(most, first * 2.0 ** min(attempt, 30))
