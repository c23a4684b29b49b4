"""A workspace is moved and cleared whatever rights its agent took, and only as it was seen."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from tests.git.conftest import git
from tests.support.privileges import unprivileged

from windlass.core.errors import GitError
from windlass.git import removal, workspace_state, workspaces
from windlass.git.repository import Repository

Result = TypeVar("Result")


@pytest.fixture
def aside(tmp_path: Path) -> Path:
    """Where it is moved to."""
    return tmp_path / "state" / "aside"


def unhelped(tmp_path: Path, work: Callable[[], Result]) -> Result:
    """Does something as who may do only what permissions allow."""
    closed = tmp_path / "closed"
    closed.touch(mode=0)
    closed.chmod(0)
    return unprivileged(work, closed=closed)


@pytest.mark.parametrize("mode", [0o555, 0o500, 0o000])
def test_a_workspace_that_is_closed_is_moved_and_stays_as_closed(
    repo: Repository, ws: Path, aside: Path, tmp_path: Path, mode: int
) -> None:
    ws.chmod(mode)
    unhelped(tmp_path, lambda: workspaces.move(repo, path=str(ws), to=str(aside)))
    assert not ws.exists()
    assert stat.S_IMODE(aside.stat().st_mode) == mode
    assert workspace_state.locate(repo, str(aside)).kind == "worktree"
    aside.chmod(0o755)


def test_a_workspace_that_cannot_be_moved_is_known_where_it_was(
    repo: Repository, ws: Path, aside: Path, tmp_path: Path
) -> None:
    aside.parent.mkdir()
    aside.parent.chmod(0o500)
    with pytest.raises(GitError, match="cannot be moved"):
        unhelped(tmp_path, lambda: workspaces.move(repo, path=str(ws), to=str(aside)))
    aside.parent.chmod(0o700)
    assert workspace_state.locate(repo, str(ws)).kind == "worktree"
    assert git(ws, "status", "--porcelain") == ""


def test_folders_that_nobody_may_write_to_are_cleared(ws: Path, tmp_path: Path) -> None:
    (ws / "tool" / "cache").mkdir(parents=True)
    (ws / "tool" / "cache" / "file").write_text("x\n")
    (ws / "tool" / "cache").chmod(0o555)
    (ws / "tool").chmod(0o555)
    seen = removal.look(str(ws))
    assert unhelped(tmp_path, lambda: removal.clear(str(ws), seen)) == []
    assert not ws.exists()


def test_what_is_new_or_has_changed_is_left_and_the_rest_is_gone(ws: Path) -> None:
    (ws / "old.txt").write_text("old\n")
    (ws / "same.txt").write_text("same\n")
    seen = removal.look(str(ws))
    (ws / "old.txt").write_text("new\n")
    (ws / "late.txt").write_text("late\n")
    assert sorted(removal.clear(str(ws), seen)) == [b"late.txt", b"old.txt"]
    assert sorted(path.name for path in ws.iterdir()) == ["late.txt", "old.txt"]
    assert (ws / "old.txt").read_text() == "new\n"
