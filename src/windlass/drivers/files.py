"""Writing the JSON files that an agent CLI reads."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

import msgspec


def write(path: Path, data: Any) -> None:
    """Replaces a file at once, readable for us alone, so that a session never reads half of it."""
    write_bytes(path, msgspec.json.format(msgspec.json.encode(data)))


def write_bytes(path: Path, data: bytes) -> None:
    """Replaces a file at once; what an agent left in its place is never written through."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A name that nobody could have put a link at before us.
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(fresh, how, 0o600), "wb") as file:
        file.write(data)
    fresh.replace(path)
