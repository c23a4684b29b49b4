"""A daemon for `bench/churn.py`: the real one, with sessions in memory and a calendar to turn.

A thousand programs would take their time, and none of the daemon's memory. Each SIGUSR1 is more
than a year later: nothing is kept longer.
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.support.fake_sessions import FakeSessions

from windlass.core.sessions import StopReport
from windlass.daemon import main
from windlass.daemon.kernel.clock import SystemClock

_LATER = 400 * 86_400.0


class Calendar(SystemClock):
    """The machine's time, and the days that were turned."""

    turned = 0.0

    def now(self) -> float:
        """Seconds since the epoch, some days ahead."""
        return time.time() + self.turned

    def turn(self, *_: Any) -> None:
        """Goes on to a later day."""
        self.turned += _LATER


class Forgetful(FakeSessions):
    """Sessions that are forgotten when they end, as tmux does it."""

    def stop(self, *, folder: Path, name: str, marker: str, grace: float = 5.0) -> StopReport:
        """Ends a session, and forgets it."""
        report = super().stop(folder=folder, name=name, marker=marker, grace=grace)
        self.forget(folder, name)
        return report


calendar = Calendar()
signal.signal(signal.SIGUSR1, calendar.turn)
vars(main)["clocks"].from_variable = lambda _: calendar
vars(main)["TmuxSessions"] = lambda *_, **__: Forgetful(calendar)
sys.exit(main.run())
