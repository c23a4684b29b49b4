"""Where links lead is followed as far as a system would, and no farther."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from windlass.core.policy import tool_calls
from windlass.core.shell.reach import Places, composed
from windlass.daemon.policy import decisions


def around(place: Path) -> Places:
    return Places((str(place.resolve()),), ())


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("a", True),
        ("no/such/folder/a", True),
        ("no/such/../../ws/a", True),
        ("no/../../other", False),
        ("in/x", True),
        ("out", False),
        ("out/../ws/a", True),
        ("out/x", False),
        ("absolute", False),
        ("back/back/back/a", True),
        ("deep/../../other/x", False),
        ("a\0b", False),
        ("loop", False),
        ("a/" * 6000, False),
    ],
)
def test_a_path_is_inside_if_its_links_lead_there(
    tmp_path: Path, path: str, *, inside: bool
) -> None:
    place = tmp_path / "ws"
    (place / "deep" / "er").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    for name, target in {
        "in": "deep/er",
        "out": "../other",
        "absolute": str(tmp_path / "other"),
        "back": ".",
        "loop": "loop",
    }.items():
        (place / name).symlink_to(target)
    assert decisions.inside(around(place), f"{place}/{path}") is inside
    if inside:
        assert Path(os.path.realpath(f"{place}/{path}")).is_relative_to(place.resolve())


def test_no_more_links_are_followed_than_a_system_follows(tmp_path: Path) -> None:
    """Each may be made of thousands of names; a thousand of them took seconds for one path."""
    (tmp_path / "end").touch()
    for n in range(100):
        (tmp_path / f"l{n}").symlink_to(f"l{n + 1}" if n < 99 else "end")
    assert decisions.inside(around(tmp_path), str(tmp_path / "l90"))
    assert not decisions.inside(around(tmp_path), str(tmp_path / "l0"))
    with pytest.raises(OSError, match="symbolic links"):
        (tmp_path / "l0").read_bytes()


@pytest.mark.parametrize("many", [2_000, 500_000])
def test_a_name_with_more_accents_than_any_can_have_is_looked_at_once(
    tmp_path: Path, many: int
) -> None:
    """To put them in order takes a step for every two of them, and nothing else runs meanwhile."""
    name = "a" + "\u0300\u0316" * many
    assert decisions.inside(around(tmp_path), f"{tmp_path}/{name}") is (len(name) < 8_000)
    assert not decisions.inside(around(tmp_path), f"/{name}")


def test_accents_are_composed_in_every_name_of_a_path() -> None:
    assert composed("/e\u0301/x/e\u0301") == "/\xe9/x/\xe9"


def test_a_call_in_a_folder_longer_than_any_can_be_is_none() -> None:
    event = {"tool_name": "LS", "tool_input": {}, "cwd": "/a"}
    assert tool_calls.read(event) is not None
    assert tool_calls.read({**event, "cwd": "/" + "a" * 5000}) is None
