"""Writing the JSON files that an agent CLI reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec


def write(path: Path, data: Any) -> None:
    """Replaces a file at once, readable for us alone, so that a session never reads half of it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_bytes(msgspec.json.format(msgspec.json.encode(data)))
    fresh.chmod(0o600)
    fresh.replace(path)
