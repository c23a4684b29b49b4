"""Folders of agents that come back: whatever an agent has made of them."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from windlass.daemon.kernel import folder_copy
from windlass.git.erasure import erase

DEEPEST = 2048


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder that is deleted by something that goes as deep as it is."""
    yield tmp_path
    erase(str(tmp_path))


def deepen(folder: Path, *, folders: int) -> None:
    """Makes folders in each other, each with a file."""
    here = os.open(folder, os.O_RDONLY)
    for number in range(folders):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(os.open(f"f{number % 2}", os.O_WRONLY | os.O_CREAT, dir_fd=deeper))
        os.close(here)
        here = deeper
    os.close(here)


def depth(folder: Path) -> int:
    """How many folders lie in each other there."""
    here, found = os.open(folder, os.O_RDONLY), 0
    while "d" in os.listdir(here):  # noqa: PTH208 - it is open, and deeper than a path
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here, found = deeper, found + 1
    os.close(here)
    return found


def test_what_lies_deeper_than_any_path_is_told_and_takes_no_memory(place: Path) -> None:
    """Four thousand folders in each other are 16 MB on a disk; their paths together were 64."""
    (place / "old").mkdir()
    deepen(place / "old", folders=4000)
    tracemalloc.start()
    left = folder_copy.copy(str(place / "old"), str(place / "new"))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert left == ["/".join(["d"] * (DEEPEST + 1))]
    assert depth(place / "new") == DEEPEST
    assert most < 8 << 20


def test_only_some_of_what_is_left_are_named(place: Path) -> None:
    """Whoever made it chose how many there are."""
    (place / "old").mkdir()
    deepen(place / "old", folders=DEEPEST)
    last = os.open(place / "old", os.O_RDONLY)
    for _ in range(DEEPEST):
        above, last = last, os.open("d", os.O_RDONLY, dir_fd=last)
        os.close(above)
    for number in range(50):
        os.mkdir(f"e{number}", dir_fd=last)
    os.close(last)
    left = folder_copy.copy(str(place / "old"), str(place / "new"))
    assert len(left) == 21
    assert left[-1] == "what 30 more names have"


def test_permissions_come_along(place: Path) -> None:
    """Also of folders that could not be written to."""
    (place / "old" / "closed" / "in").mkdir(parents=True)
    (place / "old" / "closed" / "file").write_text("x")
    (place / "old" / "closed").chmod(0o500)
    assert folder_copy.copy(str(place / "old"), str(place / "new")) == []
    assert (place / "new" / "closed").stat().st_mode & 0o777 == 0o500
    assert (place / "new" / "closed" / "in").is_dir()


def test_folders_are_copied_over_each_other_and_the_last_wins(place: Path) -> None:
    for name in ("below", "above"):
        (place / name / "both").mkdir(parents=True)
        (place / name / "both" / "file").write_text(name)
        (place / name / "both" / name).touch()
    (place / "below" / "both").chmod(0o500)
    (place / "new").mkdir()
    together = [str(place / "below"), str(place / "above")]
    assert folder_copy.copy_together(together, str(place / "new")) == []
    both = place / "new" / "both"
    assert (both / "file").read_text() == "above"
    assert sorted(path.name for path in both.iterdir()) == ["above", "below", "file"]
    assert both.stat().st_mode & 0o777 == (place / "above" / "both").stat().st_mode & 0o777


def test_a_link_below_leads_nothing_out_that_comes_on_top(place: Path) -> None:
    """Whoever made the one below chose where it leads."""
    outside = place / "outside"
    outside.mkdir()
    (outside / "own").write_text("the person's")
    (place / "below").mkdir()
    (place / "below" / "folder").symlink_to(outside)
    (place / "below" / "own").symlink_to(outside / "own")
    (place / "above" / "folder" / "in").mkdir(parents=True)
    (place / "above" / "folder" / "in" / "file").write_text("copied")
    (place / "above" / "own").write_text("copied")
    (place / "new").mkdir()
    together = [str(place / "below"), str(place / "above")]
    assert folder_copy.copy_together(together, str(place / "new")) == []
    assert [(path.name, path.read_text()) for path in outside.iterdir()] == [
        ("own", "the person's")
    ]
    assert not (place / "new" / "folder").is_symlink()
    assert (place / "new" / "folder" / "in" / "file").read_text() == "copied"
    assert (place / "new" / "own").read_text() == "copied"


def test_what_is_no_folder_takes_the_place_of_one(place: Path) -> None:
    (place / "below" / "one" / "in").mkdir(parents=True, mode=0o500)
    (place / "middle").mkdir()
    (place / "middle" / "one").symlink_to("/nowhere")
    (place / "above" / "one" / "new").mkdir(parents=True)
    (place / "new").mkdir()
    names = ("below", "middle", "above")
    assert folder_copy.copy_together([str(place / n) for n in names], str(place / "new")) == []
    assert [path.name for path in (place / "new" / "one").iterdir()] == ["new"]
