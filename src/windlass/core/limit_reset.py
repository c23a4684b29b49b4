"""When a limit that stopped an agent is over: read from what its program said, or guessed.

Pure. A program names a moment in many forms: seconds since the epoch, a duration, a time of day
with or without a day and a zone. What cannot be read is tried after a while, and then ever later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta, tzinfo

from windlass.core.reasons import Reason
from windlass.core.states import Observation, State

Zones = Callable[[str], tzinfo]
"""Finds a time zone by its name; LookupError or ValueError for one that is not known."""
FIRST_TRY, LAST_TRY = 5 * 60.0, 60 * 60.0
"""Seconds after which a limit of unknown length is tried first, and between later tries at most."""
TOPIC = "limit"
"""The topic of what an agent is told when its limit is over; stored, so it stays as it is."""
GO_ON = "The limit that stopped you is over. Go on with your goal where you were."

_LONGEST = 32 * 86400.0
"""Seconds: no limit lasts longer, and what is said to is misread."""
_JUST_PASSED = 3600.0
"""Seconds by which a time of day may lie back and still be today's: it has just passed."""
_ENDED_TURN_RULES = ("usage-limit", "usage-limit-dialog", "api-limited")
_EPOCH = re.compile(r"\|\s*(?P<seconds>\d{10})(?:\d{3})?(?!\d)")
_UNIT = r"(?:d(?:ays?)?|h(?:(?:ou)?rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)(?![a-z])"
_DURATION = re.compile(
    rf"\b(?:resets?|try(?:ing)? again|retry(?:ing)?|wait)(?:[ _-](?:in|after|for))[: ]\s*"
    rf"(?P<parts>\d+\s*{_UNIT}(?:[ ,]*(?:and )?\d+\s*{_UNIT})*|\d+(?=\s*(?:$|[.,;·)\"}}])))",
    re.IGNORECASE,
)
_PART = re.compile(r"(\d+)\s*([dhms]?)", re.IGNORECASE)
_SECONDS = {"d": 86400, "h": 3600, "m": 60, "s": 1, "": 1}
_ISO = re.compile(
    r"\breset\w*(?: (?:at|on))?:? (?P<when>\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?"
    r"(?:Z|[+-]\d\d:?\d\d)?)",
    re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_CLOCK = re.compile(
    r"\b(?:resets?|try again after|available again)(?: (?:at|on))?:? "
    rf"(?:(?P<month>{'|'.join(_MONTHS)})[a-z]* (?P<date>\d{{1,2}})(?:st|nd|rd|th)?"
    r"(?:,? (?P<year>\d{4}))?(?:,| at|, at)? ?"
    rf"|(?P<day>{'|'.join(_DAYS)})[a-z]*(?:,| at|, at)? |(?P<tomorrow>tomorrow)(?:,| at)? )?"
    r"(?:(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<half>[ap]\.?m\b\.?)?)?"
    r"(?: ?\((?P<zone>[\w+/-]+)\)| (?P<letters>(?-i:[A-Z]{2,5}))\b)?",
    re.IGNORECASE,
)


def is_parked(seen: Observation | None) -> bool:
    """Whether a limit has ended an agent's turn, so that nothing goes on by itself."""
    return seen is not None and seen.value is State.RATE_LIMITED and ends_turn(seen.reason)


def ends_turn(reason: Reason) -> bool:
    """Whether the reason for being at a limit is that it ended a turn."""
    return reason.kind == "turn_failed" or reason.rule in _ENDED_TURN_RULES


def due(
    limited: Observation,
    others: Iterable[Observation],
    *,
    pause: float,
    last_try: float | None,
    zones: Zones,
) -> float:
    """When a parked agent is to go on; never sooner than a pause after the last try.

    Nor before the limit was seen: a program may name a moment that has passed. Another source may
    have seen the time that the deciding one does not tell.
    """
    also = [o for o in others if o.session == limited.session and is_parked(o)]
    read = (reset_at(o.reason.text, seen_at=o.at, zones=zones) for o in (limited, *also))
    when = next((moment for moment in read if moment is not None), limited.at + pause)
    earliest = limited.at if last_try is None else max(limited.at, last_try + pause)
    return max(when, earliest)


def back_off(tries: int) -> float:
    """How long to wait after so many tries that were in vain."""
    return min(FIRST_TRY * 2.0 ** min(tries, 10), LAST_TRY)


def reset_at(text: str, *, seen_at: float, zones: Zones) -> float | None:
    """When a limit is over, by what a program said of it at a time; None where it does not say."""
    for read in (_of_epoch, _of_duration, _of_iso, _of_clock):
        try:
            moment = read(text, seen_at, zones)
        except (ValueError, LookupError, OverflowError):
            continue
        if moment is not None and seen_at - _JUST_PASSED <= moment <= seen_at + _LONGEST:
            return moment
    return None


def _of_epoch(text: str, seen_at: float, zones: Zones) -> float | None:
    del seen_at, zones
    found = _EPOCH.search(text)
    return float(found["seconds"]) if found else None


def _of_duration(text: str, seen_at: float, zones: Zones) -> float | None:
    del zones
    found = _DURATION.search(text)
    if found is None:
        return None
    return seen_at + sum(
        int(number) * _SECONDS[unit.lower()] for number, unit in _PART.findall(found["parts"])
    )


def _of_iso(text: str, seen_at: float, zones: Zones) -> float | None:
    del seen_at
    found = _ISO.search(text)
    if found is None:
        return None
    moment = datetime.fromisoformat(found["when"])
    return (moment if moment.tzinfo else moment.replace(tzinfo=zones(""))).timestamp()


def _of_clock(text: str, seen_at: float, zones: Zones) -> float | None:
    """A time of day: the next one of its kind, or one that has just passed."""
    for found in _CLOCK.finditer(text):
        if found["hour"] is None and found["month"] is None:
            continue
        if found["hour"] is not None and not (found["half"] or found["minute"]):
            continue  # "resets 3" may be anything
        return _moment(found, seen_at, zones(found["zone"] or found["letters"] or ""))
    return None


def _moment(found: re.Match[str], seen_at: float, zone: tzinfo) -> float:
    seen = datetime.fromtimestamp(seen_at, zone)
    hour = int(found["hour"] or 0)
    if half := found["half"]:
        if not 1 <= hour <= 12:
            raise ValueError(found[0])
        hour = hour % 12 + (12 if half[0].lower() == "p" else 0)
    at = seen.replace(hour=hour, minute=int(found["minute"] or 0), second=0, microsecond=0)
    earliest = seen - timedelta(seconds=_JUST_PASSED)
    if found["month"]:
        month = _MONTHS.index(found["month"][:3].lower()) + 1
        at = at.replace(year=int(found["year"] or seen.year), month=month, day=int(found["date"]))
        if not found["year"] and at < earliest:
            at = at.replace(year=at.year + 1)
    elif found["day"]:
        ahead = _DAYS.index(found["day"][:3].lower()) - seen.weekday()
        at += timedelta(days=ahead % 7)
        if at < earliest:
            at += timedelta(days=7)
    elif found["tomorrow"] or at < earliest:
        at += timedelta(days=1)
    return at.timestamp()
