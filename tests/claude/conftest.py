"""What only the real Claude Code can show, played on it with the scripted model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.ground import Ground
from tests.support.scene import Scene, scene


@pytest.fixture
def on(ground: Ground) -> Iterator[Scene]:
    """A ground on which the real Claude Code plays."""
    with scene(ground, "claude") as made:
        yield made
