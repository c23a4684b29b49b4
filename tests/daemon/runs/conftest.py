"""A board of two tasks, of which the second waits for the first."""

from __future__ import annotations

import pytest
from tests.daemon.runs.run_ground import RunGround
from tests.support.workshop import Workshop


@pytest.fixture
def board(workshop: Workshop) -> RunGround:
    """Nobody works on it yet."""
    return RunGround(workshop)
