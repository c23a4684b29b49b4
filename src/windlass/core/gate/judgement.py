"""From how a check ended to its outcome. Only what is known to have tested something is green."""

from __future__ import annotations

from typing import NamedTuple

from windlass.core.gate.spec import Check
from windlass.core.gate.verdicts import Outcome

_MISSING = (126, 127)
_KILLED = 137
_NO_ROOM = ("No space left on device", "Disk quota exceeded", "ENOSPC")
_NO_NETWORK = (
    *("Temporary failure in name resolution", "Name or service not known", "getaddrinfo"),
    *("Could not resolve host", "Network is unreachable", "EAI_AGAIN", "ENOTFOUND", "ENETUNREACH"),
)
_NO_MEMORY = ("MemoryError", "Cannot allocate memory", "out of memory", "ENOMEM")


class CheckRun(NamedTuple):
    """What is known of a check that ended."""

    code: int
    timed_out: bool
    seconds: float
    end: str
    """The last of what it said."""
    ran: int | None = None
    """How many tests it ran; None where nothing says so."""
    failed: int = 0
    network: bool = True
    """Whether it had one."""


class Judged(NamedTuple):
    """An outcome, and in one line what stands against a better one."""

    outcome: Outcome
    why: str = ""


def judged(check: Check, run: CheckRun) -> Judged:
    """Judges a check by its code and by what its tests report."""
    if run.timed_out:
        return Judged("could-not-run", f"took longer than {run.seconds:.0f} s and was ended")
    if run.code in _MISSING and not run.ran:
        return Judged("could-not-run", f"ended with {run.code}: a command is missing")
    if run.code == _KILLED:
        return Judged("could-not-run", "was killed: out of memory?")
    if run.code:
        return _unsuccessful(run)
    if check.tests == "none":
        return Judged("passed")
    if run.failed:
        return Judged("failed", f"ended with 0 although {run.failed} tests failed")
    if run.ran is None:
        return Judged(
            "ran-nothing",
            "nothing says that a test ran: set junit, or tests to none for a check without any",
        )
    return Judged("passed") if run.ran else Judged("ran-nothing", "ran no test")


def _unsuccessful(run: CheckRun) -> Judged:
    for signs, what in ((_NO_ROOM, "no room left"), (_NO_MEMORY, "out of memory")):
        if any(sign in run.end for sign in signs) and not run.failed:
            return Judged("could-not-run", f"ended with {run.code}: {what}")
    if run.ran == 0 and not run.failed:
        return Judged("ran-nothing", f"ran no test, and ended with {run.code}")
    lacking = not run.network and any(sign in run.end for sign in _NO_NETWORK)
    hint = "; it has no network: gate.network" if lacking else ""
    return Judged("failed", f"ended with {run.code}{hint}")
