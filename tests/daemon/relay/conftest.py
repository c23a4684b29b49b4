"""A relay for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.daemon.relay.relay_bench import RelayBench
from tests.daemon.spend.cost_bench import NOON, Bench
from tests.support.contexts import Turned, lent


@pytest.fixture
def bench() -> Iterator[RelayBench]:
    """A store, folders, and a relay on them."""
    clock = Turned(NOON)
    with lent(clock) as context:
        yield RelayBench(Bench(context, clock))
