"""Chaos runs on agents with and without boxes; with them only in the long runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.support.ground import Ground, grounded


@pytest.fixture(params=["hooks", pytest.param("box", marks=pytest.mark.soak)])
def ground(request: pytest.FixtureRequest) -> Iterator[Ground]:
    """A ground whose agents have one level or the other."""
    with grounded() as made:
        if request.param == "hooks":
            made.unbox()
        yield made
