"""Lifecycles as files: ours, and any that is named."""

from __future__ import annotations

import sys
from importlib import resources

from windlass.project import folder

OURS = "data/lifecycle.json"


def data_of(named: str | None) -> tuple[bytes, str]:
    """What a file holds, and what errors call it; ours without one."""
    if named is None:
        return (resources.files("windlass.data") / "lifecycle.json").read_bytes(), OURS
    if named == "-":
        return folder.short(sys.stdin.buffer.read(folder.LARGEST + 1), "stdin"), "stdin"
    return folder.read(named), named
