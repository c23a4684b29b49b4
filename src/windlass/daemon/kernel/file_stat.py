"""How large a file is and when it was written to last; one call each, for what is asked often."""

from __future__ import annotations

import os
from pathlib import Path


def size(path: str | Path) -> int:
    """The bytes of a file; 0 where there is none, or none that can be looked at."""
    try:
        return os.stat(path).st_size  # noqa: PTH116 - one call, no object
    except OSError:
        return 0


def written_at(path: str | Path) -> float:
    """When a file was written to last; 0 where there is none, or none that can be looked at."""
    try:
        return os.stat(path).st_mtime  # noqa: PTH116 - one call, no object
    except OSError:
        return 0.0
