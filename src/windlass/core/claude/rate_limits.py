"""What Claude Code says of the windows of a subscription, in headless output and below its prompt.

Seen in the program itself: `rate_limit_event` is printed when what it knows of a limit changes,
with the part that is used as a fraction and the reset in seconds since the epoch. Pure, and total.
"""

from __future__ import annotations

from typing import Any

from windlass.core import usage_windows
from windlass.core.usage_windows import UsageWindow

_FRACTION = 2.0
"""Up to here a number is a part of one: somewhat more than all can be used."""
_MILLISECONDS = 1e11
"""From here on a moment is in milliseconds."""
_LARGEST = 1e15


def from_output(line: Any, *, at: float) -> UsageWindow | None:
    """Reads a line of headless output; None where it tells of no window."""
    match line:
        case {"type": "rate_limit_event", "rate_limit_info": dict() as info}:
            name, used, resets = (
                info.get(key) for key in ("rateLimitType", "utilization", "resetsAt")
            )
        case _:
            return None
    is_all = used is None and info.get("status") == "rejected"
    part, moment = (1.0 if is_all else _number(used)), _number(resets)
    if not isinstance(name, str) or part is None or moment is None:
        return None
    percent = part * 100 if part <= _FRACTION else part
    resets_at = moment / 1000 if moment > _MILLISECONDS else moment
    return usage_windows.believed(name, percent, resets_at, seen_at=at)


def _number(value: Any) -> float | None:
    """A number that can be one; in JSON they may be of any size."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) < _LARGEST else None
