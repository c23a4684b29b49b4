"""What goes wrong in an intent: as the store keeps it, and as whoever asks again is told it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from windlass import disk_room
from windlass.core import errors
from windlass.core.errors import Internal, Unavailable, WindlassError

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


def busy(agent: str, seconds: float) -> Unavailable:
    """What to tell whoever has waited so long for what else is done with an agent."""
    return Unavailable(
        f"something else has been done with {agent} for {seconds:.0f} s, and goes on",
        f"see what it is: wl log {agent}; then try again",
    )
