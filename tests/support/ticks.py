"""An event for tests that want one, whatever it says."""

from __future__ import annotations

from typing import Any

from windlass.core.events import EventData
from windlass.store.store import Writing


class Tick(EventData, kind="tick"):
    """Something that happens in tests."""

    name: str | int | None = None
    count: int | None = None
    number: int | None = None
    text: str | None = None


def tick(writing: Writing, **data: Any) -> None:
    """Writes one into the log."""
    writing.emit(Tick(**data))
