"""What goes wrong in an intent: as the store keeps it, and as whoever asks again is told it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from windlass import disk_room
from windlass.core import errors
from windlass.core.errors import Conflict, Internal, Unavailable, WindlassError

log = logging.getLogger(__name__)


def defect(step: str, error: Exception) -> WindlassError:
    """What to tell of an error that nobody expected in a step; the log has all of it."""
    log.error("step %s failed", step, exc_info=error)
    if hint := disk_room.hint(error):
        return Unavailable(f"{step}: {error}", hint)
    return Internal(
        f"{step}: {type(error).__name__}: {error}",
        "this is a defect of Windlass; `wl daemon logs` has the details",
    )


def as_data(error: WindlassError) -> dict[str, Any]:
    """An error as the store keeps it."""
    return {"kind": error.kind, "message": error.message, "hint": error.hint}


def rebuilt(data: Mapping[str, Any]) -> WindlassError:
    """The error that the store kept."""
    kind = errors.BY_KIND.get(data.get("kind", ""), Internal)
    return kind(data.get("message", "failed"), data.get("hint", ""))


def reworded(error: WindlassError, message: str, hint: str) -> WindlassError:
    """An error of the same kind in other words; not of its class, which may be built otherwise."""
    return rebuilt({"kind": error.kind, "message": message, "hint": hint})


def busy(agent: str, seconds: float, *, holder: str) -> Conflict:
    """What to tell whoever has waited so long for what else is done with an agent."""
    return Conflict(
        f"{agent} is busy: {holder or 'something else'} is under way, and did not end within"
        f" {seconds:.0f} s",
        f"see how far that is: wl log {agent}; then try again",
    )
