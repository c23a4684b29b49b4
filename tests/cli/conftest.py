"""What every command is tested with."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _person(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WINDLASS_SOCKET", "WINDLASS_DRIVER"):
        monkeypatch.delenv(name, raising=False)
