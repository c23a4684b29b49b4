"""A repository with a gate of plain Python tests, and a queue."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.daemon.gate import gate_ground
from tests.daemon.gate.gate_ground import CODE, GATE
from tests.daemon.landing.landing_ground import LandingGround

from windlass.daemon.kernel.context import Context


@pytest.fixture
def ground(context: Context, tmp_path: Path) -> LandingGround:
    """Its tests are green on main."""
    (tmp_path / "home").mkdir()
    files = {**CODE, ".windlass/config.toml": GATE}
    return gate_ground.make_as(LandingGround, context, tmp_path / "shop", files)
