"""The machine's time: the only module of the daemon that asks for it, or sleeps.

A scale makes timers and waits shorter, so that a test need not sit through them. The wall clock is
never scaled, because it is written into rows; nor is the patience with programs outside of the
daemon, which are no faster for it.
"""

from __future__ import annotations

import math
import os
import time
from datetime import timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

from windlass.core.errors import ConfigError

VARIABLE = "WINDLASS_CLOCK_SCALE"
_LARGEST = 1000.0


class SystemClock:
    """The machine's time; timers and waits are shorter by the scale."""

    def __init__(self, scale: float = 1.0) -> None:
        self._scale = scale

    def now(self) -> float:
        """Returns the seconds since the epoch; never scaled."""
        return time.time()

    def monotonic(self) -> float:
        """Returns seconds that only go forward, for how long ago and until when."""
        return time.monotonic() * self._scale

    def offset(self) -> float:
        """Returns how far the wall clock is ahead of the machine's seconds that only go forward."""
        return time.time() - time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Lets this thread rest for so many seconds of this clock."""
        time.sleep(self.real(seconds))

    def real(self, seconds: float) -> float:
        """Returns how many of the machine's seconds so many of this clock take."""
        return seconds / self._scale

    @property
    def unscaled(self) -> SystemClock:
        """The same clock at the machine's pace, for waits on programs outside of the daemon."""
        return SystemClock()


def from_variable(text: str | None) -> SystemClock:
    """Makes the clock that the variable asks for; without it the plain one."""
    if not text:
        return SystemClock()
    try:
        scale = float(text)
    except ValueError:
        scale = math.nan
    if not 1 <= scale <= _LARGEST:
        raise ConfigError(
            f"{VARIABLE} is {text!r}, which is no number from 1 to {_LARGEST:g}",
            f"write how many times faster timers run, such as 20, or unset {VARIABLE}",
        )
    return SystemClock(scale)


def zone(name: str) -> tzinfo:
    """Finds a time zone by its name, or the machine's own for an empty one.

    LookupError or ValueError where this machine knows no such zone.
    """
    if name:
        try:
            return ZoneInfo(name)
        except OSError as error:  # "America" is a folder of them
            raise LookupError(name) from error
    try:
        if os.environ.get("TZ"):
            return ZoneInfo(os.environ["TZ"].removeprefix(":"))
        with open("/etc/localtime", "rb") as file:  # noqa: PTH123 - what its reader takes
            return ZoneInfo.from_file(file)
    except (OSError, LookupError, ValueError):
        offset = time.localtime().tm_gmtoff  # as it is now, without the changes of a year
        return timezone(timedelta(seconds=offset))
