"""Fixtures that every kind of test may use."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.support.scene", "tests.support.ground")

from tests.support.ground import Ground  # noqa: E402 - after the line above, which is about it


@pytest.fixture
def ground() -> Iterator[Ground]:
    """A ground with a repository; short paths, because sockets live below it."""
    folder = Path(tempfile.mkdtemp(prefix="wl-"))
    made = Ground(folder)
    made.repository()
    try:
        yield made
    finally:
        made.leave()
        shutil.rmtree(folder, ignore_errors=True)
