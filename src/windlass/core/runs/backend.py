"""A model that cannot be asked: who tries, when, and who waits until it answers. Pure.

All runs of one driver share it. While it is down one of them tries at a time, with ever longer
pauses between; when it answers again, those that waited go on one after the other.
"""

from __future__ import annotations

import re

import msgspec

FIRST, LONGEST = 5.0, 300.0
"""Seconds until the first try, and between later ones at most; a pause may be half as long again.
"""
STAGGER = 5.0
"""Seconds between two that go on once it answers again."""
TRIAL = 60.0
"""Seconds in which nobody else tries, because somebody does."""
_CALM = 2 * LONGEST
"""Seconds after an outage for which those who want to begin go one after the other."""
_NOT_ITS_FAULT = re.compile(
    r"authentication|oauth|billing|credit balance|invalid_request|too long|max_output_tokens",
    re.IGNORECASE,
)


class Backend(msgspec.Struct, frozen=True, kw_only=True):
    """How a model has answered lately."""

    failures: int = 0
    """Tries in a row that failed; none while it answers."""
    since: float = 0.0
    """When the first of them did."""
    why: str = ""
    until: float = 0.0
    """Nobody asks it before."""
    trier: str = ""
    """Who was let to try last."""
    free: float = 0.0
    """When the next of those may go on that waited."""
    calm: float = 0.0
    """Until when they go one after the other."""


class Turn(msgspec.Struct, frozen=True):
    """When somebody may ask, or is to ask for their turn once more."""

    at: float
    is_now: bool
    reserved: float = 0.0
    """The turn that is theirs for as long as the model answers; nothing while it is down."""


def is_outage(said: str) -> bool:
    """Whether a turn failed because of the model, rather than of what it was asked or by whom."""
    return _NOT_ITS_FAULT.search(said) is None


def failed(backend: Backend, who: str, *, why: str, at: float, jitter: float) -> Backend:
    """A turn has failed. What others had asked before that was known says nothing new."""
    if backend.failures and at < backend.until and who != backend.trier:
        return backend
    failures = backend.failures + 1
    pause = min(LONGEST, FIRST * 2.0 ** min(failures - 1, 16)) * (1 + jitter / 2)
    return Backend(
        failures=failures,
        since=backend.since if backend.failures else at,
        why=why,
        until=at + pause,
    )


def answered(backend: Backend, *, at: float) -> Backend:
    """The model has answered somebody."""
    return Backend(free=at, calm=at + _CALM) if backend.failures else backend


def asked(backend: Backend, who: str, *, at: float, turn: float = 0.0) -> tuple[Backend, Turn]:
    """Somebody wants to ask it, maybe at the turn that it was given before."""
    if backend.failures:
        if at < backend.until:
            return backend, Turn(backend.until, is_now=False)
        return msgspec.structs.replace(backend, until=at + TRIAL, trier=who), Turn(at, is_now=True)
    if at >= backend.calm or 0 < turn <= at:
        return backend, Turn(at, is_now=True)
    if turn > at:  # woken a moment too early
        return backend, Turn(turn, is_now=False, reserved=turn)
    mine = max(at, backend.free)
    backend = msgspec.structs.replace(backend, free=mine + STAGGER)
    return backend, Turn(mine, is_now=mine <= at, reserved=mine)
