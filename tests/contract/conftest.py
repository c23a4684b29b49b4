"""Each test of the contract runs on every driver; where they differ the stand-in is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.ground import Ground
from tests.support.scene import Scene, scene

DRIVERS = ("standin", "claude")


@pytest.fixture(params=DRIVERS)
def on(ground: Ground, request: pytest.FixtureRequest) -> Iterator[Scene]:
    """A ground on which the agents of one driver play."""
    with scene(ground, request.param) as made:
        yield made
