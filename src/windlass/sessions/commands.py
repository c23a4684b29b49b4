"""The port `Commands` as this machine has it: what runs beside sessions, under marks."""

from __future__ import annotations

from windlass.sessions.processes import end_run, marked, nameless_below, run, running, users
from windlass.sessions.whole_run import run_whole

__all__ = ["end_run", "marked", "nameless_below", "run", "run_whole", "running", "users"]
