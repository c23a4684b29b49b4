"""Usage windows of subscriptions: how much of one is used and when it begins anew, as a CLI says.

Pure. A CLI shows it at times, in its output or below its prompt; it is another's word, so what no
window could be is not believed: none lasts longer than its name says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

import msgspec

from windlass.core import limit_reset
from windlass.core.limit_reset import Zones

SESSION, WEEK = "five_hour", "seven_day"
_HOUR = 3600.0
_LONGEST = {SESSION: 5 * _HOUR}
_ANY = 7 * 24 * _HOUR
"""Seconds that a window lasts at most."""
_SLACK = _HOUR
_NAMES = {SESSION: "5-hour window", WEEK: "weekly window"}
_SAID = re.compile(
    r"you['\u2019]ve (?:used (?P<percent>\d{1,3})% of|(?P<all>hit|reached)) your"
    r" (?P<name>[\w -]{1,40}?) limit\b",
    re.IGNORECASE,
)
_SAID_NAMES = {"session": SESSION, "usage": SESSION, "5-hour": SESSION, "weekly": WEEK}
_LONGEST_NAME = 40


class UsageWindow(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a window is used, in percent, when it begins anew, and whose CLI said so."""

    name: str
    percent: float
    resets_at: float
    by: str = ""

    @property
    def title(self) -> str:
        """What people call it."""
        return _NAMES.get(self.name) or f"{self.name.replace('_', ' ')} window"


def believed(name: str, percent: float, resets_at: float, *, seen_at: float) -> UsageWindow | None:
    """A window as somebody tells of it; None for what cannot be, and for one that is over."""
    longest = _LONGEST.get(name, _ANY) + _SLACK
    if not percent >= 0 or not seen_at < resets_at <= seen_at + longest:
        return None
    if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
        return None
    return UsageWindow(name=name, percent=min(percent, 100.0), resets_at=resets_at)


def from_words(text: str, *, seen_at: float, zones: Zones) -> UsageWindow | None:
    """Reads what a program says to people: "You've used 85% of your session limit · resets 3pm"."""
    said = _SAID.search(text)
    resets_at = limit_reset.reset_at(text, seen_at=seen_at, zones=zones) if said else None
    if said is None or resets_at is None:
        return None
    name = _SAID_NAMES.get(said["name"].lower(), said["name"].lower())
    percent = 100.0 if said["all"] else float(said["percent"])
    return believed(name, percent, resets_at, seen_at=seen_at)


def too_full(windows: Iterable[UsageWindow], *, most: float, now: float) -> UsageWindow | None:
    """The window of those above a percentage that lasts longest; None where none is."""
    full = [window for window in windows if window.percent > most and window.resets_at > now]
    return max(full, key=lambda window: window.resets_at, default=None)


def sentence(window: UsageWindow, *, resets: datetime) -> str:
    """How full a window is, for people."""
    by = f" (as {window.by} was shown)" if window.by else ""
    return f"the {window.title} is used to {window.percent:.0f} %, until {resets:%a %H:%M}{by}"
