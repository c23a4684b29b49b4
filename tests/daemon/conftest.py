"""A daemon's context for every file here, and what the tests of mail, notices and costs share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.daemon.mail.news import HELD
from tests.daemon.mail.post_office import Post
from tests.daemon.spend.cost_bench import NOON, Bench
from tests.support.contexts import SHOP_AND_BANK, Turned, lent
from tests.support.workshop import Workshop

from windlass.daemon.kernel.context import Context
from windlass.daemon.mail.listeners import Listeners


@pytest.fixture
def clock() -> Turned:
    """It stands nearly still: what happens has an order."""
    return Turned(tick=0.001)


@pytest.fixture
def context(clock: Turned) -> Iterator[Context]:
    """A daemon's context on folders of its own, with two repositories."""
    with lent(clock, SHOP_AND_BANK) as made:
        yield made


@pytest.fixture
def post(context: Context) -> Iterator[Post]:
    """Mail of four agents in one repository and one in another."""
    made = Post(context)
    yield made
    made.close()


@pytest.fixture
def board(context: Context) -> Iterator[Listeners]:
    """The service for notices, which waits for readers a moment and not for seconds."""
    made = Listeners(context, held=HELD)
    made.open()
    yield made
    made.close()


@pytest.fixture
def bench() -> Iterator[Bench]:
    """Nobody has spent anything, and it is noon."""
    clock = Turned(NOON)
    with lent(clock) as context:
        made = Bench(context, clock)
        yield made
        made.close()


@pytest.fixture
def workshop(clock: Turned) -> Iterator[Workshop]:
    """A daemon's services, without a daemon."""
    with lent(clock, {}) as context:
        made = Workshop(context)
        yield made
        made.close()
