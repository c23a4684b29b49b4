"""Writing the JSON files that an agent CLI reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from windlass import whole_file


def write(path: Path, data: Any) -> None:
    """Replaces a file at once, readable for us alone, so that a session never reads half of it."""
    write_bytes(path, msgspec.json.format(msgspec.json.encode(data)))


def write_bytes(path: Path, data: bytes) -> None:
    """Replaces a file at once; what an agent left in its place is never written through.

    A folder cannot be replaced by a file: it is moved aside, as a whole and however large it is.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        whole_file.replace(path, data)
    except IsADirectoryError:
        path.rename(path.with_name(f"{path.name}.{os.urandom(8).hex()}.aside"))
        whole_file.replace(path, data)
