"""The Protocols of the system: what its parts need of one another, and of the world."""

from __future__ import annotations

from typing import Protocol

from windlass.core.dialect import Dialect
from windlass.core.driving import Abilities, SessionRequest
from windlass.core.launch import Launch


class WallClock(Protocol):
    """Where the time of day comes from, so that tests can turn it."""

    def now(self) -> float:
        """Returns the seconds since the epoch, as they are written into rows."""


class Clock(WallClock, Protocol):
    """Where all time comes from: the hour, how long something takes, and every wait."""

    def monotonic(self) -> float:
        """Returns seconds that only go forward, for how long ago and until when."""

    def sleep(self, seconds: float) -> None:
        """Lets this thread rest for so many seconds of this clock."""

    def real(self, seconds: float) -> float:
        """Returns how many of the machine's seconds so many of this clock take."""

    @property
    def unscaled(self) -> Clock:
        """Returns the same clock at the machine's pace, for waits on programs outside."""


class Driver(Protocol):
    """The adapter for one agent CLI."""

    @property
    def name(self) -> str:
        """Returns the name that people choose it by."""

    @property
    def dialect(self) -> Dialect:
        """Returns how this CLI speaks."""

    @property
    def abilities(self) -> Abilities:
        """Returns what this CLI offers."""

    @property
    def pinned(self) -> tuple[str, ...]:
        """Returns the options that an agent keeps: its conversation lies where they say."""

    @property
    def variables(self) -> tuple[str, ...]:
        """Returns patterns of the variables that a boxed session needs of the person's own."""

    def check(self) -> str:
        """Returns the CLI's version; raises DriverError or ConfigError with how to install it."""

    def require_ready(self, request: SessionRequest) -> None:
        """Raises ConfigError where a session would stop at a question to the person."""

    def reaches(self, request: SessionRequest) -> tuple[str, ...]:
        """Returns the `host:port` of whatever a session cannot work without."""

    def trusts(self, request: SessionRequest) -> bool:
        """Returns whether the CLI works in the workspace without asking the person first."""

    def asks_for_trust(self, request: SessionRequest) -> Launch | None:
        """Returns how to start the CLI so that it asks that, if it ever does."""

    def metered(self, request: SessionRequest) -> bool:
        """Returns whether tokens cost this person money, rather than a part of a subscription."""

    def status_file(self, request: SessionRequest, pid: int) -> str | None:
        """Returns where the process tells its own status, if the CLI has such a file."""

    def launch(self, request: SessionRequest) -> Launch:
        """Writes what the session needs into the agent's folder and returns how to start it."""

    def transcript(self, request: SessionRequest) -> str:
        """Returns the absolute path of the session's conversation, whether it exists yet or not."""
