"""What git is given to read of a workspace has an end, whatever its agent made out of nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.git.conftest import git
from tests.git.differences import difference

from windlass.git import reading_room, status, workspaces
from windlass.git.repository import Repository

TEBIBYTE = 1 << 40


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
    monkeypatch.setattr(reading_room, "MOST", 100)
    for name in ("a", "b", "c"):
        (ws / name).write_text("x" * 60)
    (ws / "d").write_text("x" * 40)
    (ws / "readme.txt").write_text("y" * 200)
    made = difference(repo, ws, stat=True)
    assert made.unread == ["b", "c"]
    assert b"3 files changed" in made.uncommitted


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
