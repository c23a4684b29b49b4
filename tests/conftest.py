"""Fixtures that every kind of test may use."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import hypothesis
import pytest
from tests.support import memory_disk

memory_disk.use()

pytest.register_assert_rewrite("tests.support.scene", "tests.support.ground")

from tests.support.ground import Ground, grounded  # noqa: E402 - after the line above

pytest_plugins = ["tests.support.folder_times"]

# How long an example takes says how busy the machine is.
hypothesis.settings.register_profile(
    "busy machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("busy machine")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background: what a test starts would inherit it, and be deaf to Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def ground() -> Iterator[Ground]:
    """A ground with a repository, whose agents are boxed."""
    with grounded() as made:
        yield made


@pytest.fixture
def unboxed(ground: Ground) -> Ground:
    """The same ground, for what has nothing to do with boxes: they cost time."""
    ground.unbox()
    return ground
