"""What git is given to read of a workspace has an end, whatever its agent made out of nothing."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.git.come_home import fetch
from tests.git.conftest import git
from tests.git.differences import difference
from tests.git.hostile_clones import Scene

from windlass.git import gitfiles, read_budget, runner, status, workspaces
from windlass.git.environment import Dirs
from windlass.git.repository import Repository
from windlass.git.runner import GitResult, TookTooLong

TEBIBYTE = 1 << 40
_PLACES = (Path("/var/tmp"), Path("/dev/shm"))
"""One on a disk, and one in memory."""


@pytest.fixture(autouse=True)
def _holes(tmp_path: Path) -> None:
    stretch(tmp_path / "trial")
    if (tmp_path / "trial").stat().st_blocks > 8:
        pytest.skip("this file system has no holes")


def stretch(path: Path) -> None:
    with path.open("ab") as file:
        file.truncate(TEBIBYTE)


def test_a_difference_names_the_files_that_are_too_full_of_holes(
    repo: Repository, ws: Path
) -> None:
    stretch(ws / "new")
    stretch(ws / "readme.txt")
    (ws / "src/one.py").write_text("one = 2\n")
    (ws / "src/three.py").write_text("three = 3\n")
    made = difference(repo, ws)
    assert made.unread == ["new", "readme.txt"]
    assert b"+one = 2\n" in made.uncommitted
    assert b"+three = 3\n" in made.uncommitted
    assert b"readme.txt" not in made.uncommitted


def test_a_difference_reads_so_much_of_new_files_and_no_more(
    repo: Repository, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_budget, "MOST", 100)
    for name in ("a", "b", "c"):
        (ws / name).write_text("x" * 60)
    (ws / "d").write_text("x" * 40)
    (ws / "readme.txt").write_text("y" * 200)
    made = difference(repo, ws, stat=True)
    assert made.unread == ["b", "c"]
    assert b"3 files changed" in made.uncommitted


def test_a_difference_reads_so_many_new_files_and_no_more(
    repo: Repository, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_budget, "MOST_NEW", 2)
    for name in ("a", "b", "c"):
        (ws / name).write_text(f"{name}\n")
    for name in ("readme.txt", "src/one.py"):
        (ws / name).write_text("changed\n")
    made = difference(repo, ws, stat=True)
    assert made.unread == ["c"]
    assert b"4 files changed" in made.uncommitted


def test_a_status_names_the_tracked_files_that_are_too_full_of_holes(
    repo: Repository, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the index does not say how large a file was, git has to read it."""
    monkeypatch.setattr(status, "GLANCE", 1.0)
    blob = git(ws, "rev-parse", "HEAD:readme.txt")
    git(ws, "update-index", "--cacheinfo", f"100644,{blob},readme.txt")
    stretch(ws / "readme.txt")
    stretch(ws / "new")
    (ws / "src/one.py").write_text("one = 2\n")
    seen = workspaces.status(repo, str(ws))
    assert (seen.unread, seen.unstaged, seen.untracked) == (["readme.txt"], ["src/one.py"], ["new"])
    (ws / "new").unlink()
    git(ws, "checkout", "src/one.py")
    assert not workspaces.status(repo, str(ws)).clean


def test_a_boxed_agent_is_looked_at_as_quickly(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what is committed since its clone was made the index says no size."""
    monkeypatch.setattr(status, "GLANCE", 1.0)
    (tmp_path / "scene").mkdir()
    scene = Scene(repo, tmp_path / "scene")
    (scene.clone / "readme.txt").write_text("work\n")
    git(scene.clone, "commit", "-qam", "work")
    fetch(repo, scene.clone)
    stretch(scene.clone / "readme.txt")
    stretch(scene.clone / "new")
    (scene.clone / "src/one.py").write_text("one = 2\n")
    seen = status.status(repo, str(scene.clone), box=scene.reads)
    assert (seen.unread, seen.unstaged, seen.untracked) == (["readme.txt"], ["src/one.py"], ["new"])
    made = difference(repo, scene.clone, box=scene.reads)
    assert made.unread == ["new", "readme.txt"]
    assert b"+one = 2\n" in made.uncommitted


def test_a_look_that_is_ended_as_git_writes_its_index_is_followed_by_a_longer_one(
    repo: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A git that is killed leaves the lock of its index behind."""
    (tmp_path / "scene").mkdir()
    scene = Scene(repo, tmp_path / "scene")
    (scene.clone / "src/one.py").write_text("one = 2\n")
    locks: list[Path] = []

    def ended_at_first(*args: list[str], dirs: Dirs, timeout: float) -> GitResult:
        if not locks:
            locks.append(Path(f"{dirs.index}.lock"))
            locks[0].touch()
            raise TookTooLong("it did not finish", "try again")
        return runner.run_both(*args, dirs=dirs, timeout=timeout)

    monkeypatch.setattr(status, "run_both", ended_at_first)
    assert status.status(repo, str(scene.clone), box=scene.reads).unstaged == ["src/one.py"]


def test_holes_are_looked_for_once_by_all_names_and_not_where_there_is_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    size_of_holes = gitfiles.size_of_holes

    def noted(path: str) -> int:
        asked.append(Path(path).name)
        return size_of_holes(path)

    monkeypatch.setattr(gitfiles, "size_of_holes", noted)
    monkeypatch.setattr(read_budget, "MOST", 3 << 20)
    for name in ("large", "small", "late"):
        stretch(tmp_path / name)
    for name in ("small", "late"):
        os.truncate(tmp_path / name, 1 << 20)
    os.link(tmp_path / "large", tmp_path / "large-too")
    os.link(tmp_path / "small", tmp_path / "small-too")
    room = read_budget.ReadingRoom()
    names = ["large", "large-too", "small", "small-too", "small", "late"]
    top = bytes(tmp_path)
    taken = [
        room.takes(top, name.encode(), (tmp_path / name).lstat(), is_new=False) for name in names
    ]
    assert taken == [False, False, True, True, True, False]
    assert room.unread == [b"large", b"large-too", b"late"]
    assert asked == ["large", "small"]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Path]:
    """A folder on another file system, to which nothing can be linked."""
    here = tmp_path.stat().st_dev
    others = [place for place in _PLACES if place.is_dir() and place.stat().st_dev != here]
    if not others:
        pytest.skip("there is no other file system to write to")
    with tempfile.TemporaryDirectory(dir=others[0]) as folder:
        yield Path(folder)


@pytest.fixture
def on_a_disk() -> Iterator[Path]:
    """A folder that is not in memory: there a file may have as many names as it likes."""
    with tempfile.TemporaryDirectory(dir=_PLACES[0]) as folder:
        yield Path(folder)


def test_objects_are_copied_without_their_holes_and_up_to_a_limit(
    tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gitfiles, "MOST_COPIED", 100_000)
    packs = tmp_path / "objects/pack"
    packs.mkdir(parents=True)
    (packs / "pack-01.pack").write_bytes(b"x" * 200_000)
    (packs / "pack-02.pack").write_bytes(b"x" * 60_000)
    (packs / "pack-03.pack").write_bytes(b"x" * 60_000)
    with (packs / "pack-04.pack").open("wb") as file:
        file.truncate(1 << 30)
    gitfiles.lend_objects(str(tmp_path), str(elsewhere / "lent"))
    lent = {path.name: path.stat() for path in (elsewhere / "lent/pack").iterdir()}
    assert "pack-01.pack" not in lent
    assert len(lent) == 2
    assert lent["pack-04.pack"].st_size == 1 << 30
    assert lent["pack-04.pack"].st_blocks == 0


def test_an_object_with_all_the_names_it_can_have_is_left_out_and_not_copied(
    on_a_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = on_a_disk / "objects/ab"
    folder.mkdir(parents=True)
    (folder / f"{0:038x}").write_bytes(b"x")
    try:
        for number in range(1, 70_000):
            os.link(folder / f"{0:038x}", folder / f"{number:038x}")
    except OSError as error:
        if error.errno != errno.EMLINK:
            raise
    else:
        pytest.skip("this file system has no limit to the names of a file")
    (folder / f"{0:038x}").unlink()
    made = number - 1
    gitfiles.lend_objects(str(on_a_disk), str(on_a_disk / "lent"))
    assert len(list((on_a_disk / "lent/ab").iterdir())) == 1, "for which a name was free"
    assert f"{made - 1} files of objects are left out" in caplog.text


@pytest.mark.parametrize("place", ["near", "far"])
def test_no_more_objects_are_lent_than_a_limit(
    place: str,
    tmp_path: Path,
    elsewhere: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(gitfiles, "MOST_LENT", 3)
    for folder in ("ab", "cd"):
        (tmp_path / "objects" / folder).mkdir(parents=True)
        (tmp_path / "objects" / folder / ("0" * 38)).symlink_to("nothing")
        for number in range(1, 3):
            (tmp_path / "objects" / folder / f"{number:038x}").write_bytes(b"x")
    into = (tmp_path if place == "near" else elsewhere) / "lent"
    gitfiles.lend_objects(str(tmp_path), str(into))
    assert len([path for path in into.rglob("*") if path.is_file()]) == 3
    assert "files of objects are left out" in caplog.text
