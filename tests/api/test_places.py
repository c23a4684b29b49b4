"""Where things are: short socket paths, private folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from windlass.api import places
from windlass.core.errors import ConfigError


def test_the_state_folder_is_the_one_named_or_the_platforms(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WINDLASS_HOME", str(tmp_path / "here"))
    assert places.home() == str(tmp_path / "here")
    monkeypatch.delenv("WINDLASS_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert places.home() == str(tmp_path / "state" / "windlass")


@pytest.mark.parametrize("length", [10, 60, 200, 1000])
def test_socket_paths_stay_short_whatever_the_folders_are_called(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, length: int
) -> None:
    monkeypatch.setenv("WINDLASS_HOME", "/x" * (length // 2))
    deep = tmp_path / ("y" * min(length, 200))
    deep.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    assert len(places.person_socket()) < 100


def test_two_state_folders_have_two_runtime_folders() -> None:
    assert places.runtime("/a") != places.runtime("/b")
    assert places.runtime("/a") == places.runtime("/a")


def test_a_private_folder_is_closed_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "windlass" / "abc"
    places.make_private(str(folder))
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.parent.stat().st_mode & 0o777 == 0o700


def test_a_runtime_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """Somebody else's link in a shared temporary folder must not lead us elsewhere."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "windlass-1").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="not a folder of its own user"):
        places.make_private(str(tmp_path / "windlass-1" / "abc"))
