"""Each test of the contract runs on every driver; where they differ the stand-in is wrong.

Without boxes, which cost time and are looked at elsewhere; with them in the long runs.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.ground import Ground
from tests.support.scene import Scene, scene

DRIVERS = ("standin", "claude")


@pytest.fixture(params=["hooks", pytest.param("box", marks=pytest.mark.soak)])
def level(request: pytest.FixtureRequest) -> str:
    """What confines the agents."""
    return str(request.param)


@pytest.fixture(params=DRIVERS)
def on(ground: Ground, request: pytest.FixtureRequest, level: str) -> Iterator[Scene]:
    """A ground on which the agents of one driver play."""
    if level == "hooks":
        ground.unbox()
    with scene(ground, request.param) as made:
        yield made
