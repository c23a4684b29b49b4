"""Ages and durations as people read and write them: 5s 5m 2h 1d."""

from __future__ import annotations

import re

from windlass.core.errors import UserError

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def age(seconds: float) -> str:
    """Says a duration in its largest whole unit."""
    whole = max(0, int(seconds))
    for unit in ("d", "h", "m"):
        if whole >= _UNITS[unit]:
            return f"{whole // _UNITS[unit]}{unit}"
    return f"{whole}s"


def seconds(text: str) -> float:
    """Reads `30`, `1.5s`, `5m`, `2h` or `1d` as seconds."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip())
    if not parts:
        raise UserError(f"{text!r} is not a duration", "write 30, 30s, 5m, 2h or 1d")
    return float(parts[1]) * _UNITS[parts[2] or "s"]
