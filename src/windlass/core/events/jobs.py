"""Events of jobs, which wait longer than a command: each hears of its own, and goes on by that."""

from __future__ import annotations

from typing import Any

from windlass.core.events.catalogue import EventData


class JobBegun(EventData, kind="job.begun"):
    """A job was begun: `what` is its kind, `about` what it is for."""

    job: str
    what: str
    about: str


class JobEffect(EventData, kind="job.effect"):
    """Something that a job had done ended: `status` as that of its intent."""

    job: str
    number: int
    what: str
    status: str
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class JobWoken(EventData, kind="job.woken"):
    """The moment came that a job was waiting for."""

    job: str


class JobCancelled(EventData, kind="job.cancelled"):
    """Somebody wants a job to end; `why` is what they said."""

    job: str
    why: str = ""


class JobDone(EventData, kind="job.done"):
    """A job is over, with its result."""

    job: str
    what: str
    about: str
    result: dict[str, Any]


class JobSetAside(EventData, kind="job.set_aside"):
    """A job cannot go on, or daemons died of it again and again; it is left as it is."""

    job: str
    what: str
    about: str
    error: dict[str, Any]
