"""Drivers that other packages bring."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from windlass import drivers
from windlass.core.errors import DriverError

DRIVER = """
from windlass.drivers.standin import StandinDriver


class Parrot(StandinDriver):
    name = "parrot"
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with a driver that works, one that does not, and one that wants to be ours."""
    (tmp_path / "parrots.py").write_text(DRIVER)
    about = tmp_path / "parrots-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: parrots\nVersion: 1\n")
    (about / "entry_points.txt").write_text(
        "[windlass.drivers]\n"
        "parrot = parrots:Parrot\nbroken = parrots:Gone\nclaude = parrots:Gone\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    drivers.brought.cache_clear()
    yield
    drivers.brought.cache_clear()


@pytest.mark.usefixtures("installed")
def test_an_installed_package_brings_a_driver() -> None:
    assert drivers.known() == ("broken", "claude", "parrot", "standin")
    assert drivers.get("parrot").name == "parrot"


@pytest.mark.usefixtures("installed")
def test_a_driver_that_cannot_be_loaded_is_named_and_one_of_ours_is_never_replaced() -> None:
    with pytest.raises(DriverError, match="broken"):
        drivers.get("broken")
    assert type(drivers.get("claude")).__module__ == "windlass.drivers.claude"
