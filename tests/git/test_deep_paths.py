"""What lies deeper than the system can name at once is kept and brought back like all else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.git.conftest import git
from tests.git.hostile_clones import DEEP, Scene, dig, found_deep, opened_deep

from windlass.git import trash, workspaces
from windlass.git.repository import Repository
from windlass.git.salvage import salvage


def test_files_deeper_than_the_system_can_name_are_kept_and_brought_back(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    dig(ws, content=b"at the bottom\n")
    (ws / DEEP / "shallow").write_text("at the top\n")
    kept = salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    assert kept.summary.dropped == 0
    workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
    back = tmp_path / "back"
    trash.restore(repo, trash.find(repo, "a1"), path=str(back), branch="back")
    assert found_deep(back) == b"at the bottom\n"
    assert (back / DEEP / "shallow").read_text() == "at the top\n"
    git(repo.root, "fsck", "--strict")


def test_so_are_links_rights_and_odd_names_down_there(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    dig(ws)
    here = opened_deep(ws)
    os.symlink("/nowhere", "link", dir_fd=here)
    os.close(os.open(os.fsdecode(b"odd-\xff\n"), os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=here))
    os.mkdir("closed", 0o500, dir_fd=here)
    os.close(here)
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    back = tmp_path / "back"
    trash.restore(repo, trash.find(repo, "a1"), path=str(back), branch="back")
    here = opened_deep(back)
    assert os.readlink("link", dir_fd=here) == "/nowhere"
    assert os.stat("closed", dir_fd=here).st_mode & 0o777 == 0o500
    assert os.stat(os.fsdecode(b"odd-\xff\n"), dir_fd=here).st_mode & 0o777 == 0o600
    os.close(here)


def test_of_what_is_ignored_they_are_listed(repo: Repository, ws: Path) -> None:
    (ws / "cache").mkdir()
    dig(ws / "cache")
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    (dropped,) = trash.find(repo, "a1").dropped
    assert dropped.path.startswith(f"cache/{DEEP}/")
    assert dropped.reason == "ignored, and deeper than the system can name"


def test_what_is_far_deeper_than_that_is_listed(repo: Repository, ws: Path) -> None:
    """Each name is kept with all that is above it: without an end that would be without end."""
    dig(ws, depth=120)
    salvage(repo, path=str(ws), agent="a1", stamp="1", meta={})
    (dropped,) = trash.find(repo, "a1").dropped
    assert (len(dropped.path) > 16 << 10, dropped.reason) == (True, "deeper than is kept")
    workspaces.remove(repo, path=str(ws), branch="agent/a1", agent="a1")
    assert not ws.exists()


@pytest.mark.parametrize("place", [".git", ".git/refs", ".git/logs", "nested/.git"])
def test_a_deep_folder_in_a_git_folder_is_no_reason_for_an_ending_to_fail(
    repo: Repository, tmp_path: Path, place: str
) -> None:
    scene = Scene(repo, tmp_path)
    (scene.clone / "nested").mkdir()
    git(scene.clone / "nested", "init", "-q")
    dig(scene.clone / place, content=b"mine\n")
    assert scene.keep().summary.dropped == 0
    scene.end()
    back = scene.restore()
    if place != ".git/refs":  # those are made anew
        assert found_deep(back / place) == b"mine\n"
