"""A store on a file of its own, for every test here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.clocks import Stopped

from windlass.store.store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "windlass.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    """An empty store."""
    opened = Store(path, clock=Stopped())
    opened.open()
    yield opened
    opened.close()
