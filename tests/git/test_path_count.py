"""Trees that unfold to millions of paths are given up early, and their agents can be ended."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.git.bombs import folders_of_nothing, nested_trees
from tests.git.come_home import fetch
from tests.git.conftest import git
from tests.git.differences import ends, materialise, shown
from tests.git.hostile_clones import Scene

from windlass.core.errors import GitError
from windlass.git import changes, merges, status, trash
from windlass.git.arrival import TooLarge
from windlass.git.path_count import MOST_PATHS, TooManyPaths, require_few
from windlass.git.repository import Repository, read_ref
from windlass.git.salvage import salvage

_SECONDS = 20.0
_MEMORY = 512 << 10
"""KiB that this process may grow by."""


@pytest.fixture
def scene(repo: Repository, tmp_path: Path) -> Scene:
    """A boxed clone."""
    (tmp_path / "scene").mkdir()
    return Scene(repo, tmp_path / "scene")


@pytest.fixture
def bomb(repo: Repository, ws: Path) -> str:
    """A commit of a hundred million paths on the branch of a worktree."""
    (ws / "work.txt").write_text("work\n")
    assert repo.root
    return nested_trees(ws)


@pytest.mark.parametrize("make", [nested_trees, folders_of_nothing])
def test_a_commit_of_too_many_paths_does_not_come_home(
    repo: Repository, scene: Scene, make: Callable[[Path], str]
) -> None:
    before = read_ref(repo, "refs/heads/agent/c1")
    make(scene.clone)
    with pytest.raises(TooLarge, match=f"has more than {MOST_PATHS:,} paths"):
        fetch(repo, scene.clone)
    assert read_ref(repo, "refs/heads/agent/c1") == before
    (scene.clone / "work.txt").write_text("work\n")
    assert "work.txt" in shown(repo, scene.clone, box=scene.reads).decode()
    began = time.monotonic()
    kept = scene.keep()
    assert time.monotonic() - began < _SECONDS
    assert git(repo.root, "show", f"{kept.commit}:files/work.txt") == "work"


def test_a_status_says_that_there_are_too_many(repo: Repository, scene: Scene) -> None:
    """Fewer than git in a box would answer with, and more than the daemon wants to know."""
    nested_trees(scene.clone, levels=2, each=1100)
    with pytest.raises(TooManyPaths):
        status.status(repo, str(scene.clone), box=scene.reads)


@pytest.mark.parametrize(
    "look", ["diff", "stat", "folders", "touched", "check", "prepare", "status"]
)
def test_no_look_at_a_worktree_unfolds_it(
    repo: Repository, ws: Path, tmp_path: Path, bomb: str, look: str
) -> None:
    """An agent without a box commits into the repository itself."""
    main, _ = ends(repo, ws)
    looks: dict[str, Callable[[], object]] = {
        "diff": lambda: shown(repo, ws),
        "stat": lambda: shown(repo, ws, stat=True),
        "folders": lambda: materialise(repo, ws, tmp_path / "two"),
        "touched": lambda: changes.touched(repo, main, bomb),
        "check": lambda: merges.check(repo, source=bomb, target="main"),
        "prepare": lambda: merges.prepare(
            repo, source=bomb, target_branch="main", message="m", author=("a", "a@b"), time=1
        ),
        "status": lambda: status.status(repo, str(ws)),
    }
    began = time.monotonic()
    with pytest.raises(TooManyPaths, match="not shown"):
        looks[look]()
    assert time.monotonic() - began < _SECONDS


def test_a_worktree_with_such_a_commit_is_ended_and_keeps_everything(
    repo: Repository, ws: Path, bomb: str
) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kept = salvage(repo, path=str(ws), agent="a1", stamp="1", meta={}, branch="agent/a1")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < _MEMORY
    assert git(repo.root, "show", f"{kept.commit}:files/work.txt") == "work"
    assert bomb in git(repo.root, "rev-list", "--parents", "-1", kept.commit)
    with pytest.raises(TooManyPaths):
        trash.show(repo, trash.find(repo, "a1"))


def test_an_ordinary_commit_is_counted_and_a_missing_one_is_told(repo: Repository) -> None:
    require_few(repo.dirs, git(repo.root, "rev-parse", "main"))
    with pytest.raises(GitError, match="not a tree object"):
        require_few(repo.dirs, "0" * 40)
