"""Gate trees: exactly the files of a tree, and one commit that depends on nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.git.conftest import git

from windlass.core.errors import GitError
from windlass.git import gate_trees, repository
from windlass.git.repository import Repository


@pytest.fixture
def made(tmp_path: Path) -> tuple[Repository, list[str]]:
    """A repository with three commits, and their ids: add, change, delete and link."""
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    (root / "a.txt").write_text("one\n")
    (root / "sub").mkdir()
    (root / "sub" / "b.txt").write_text("b\n")
    commits = [commit(root)]
    (root / "a.txt").write_text("two\n")
    (root / "link").symlink_to("a.txt")
    commits.append(commit(root))
    (root / "sub" / "b.txt").unlink()
    commits.append(commit(root))
    return repository.discover(str(root)), commits


def commit(root: Path) -> str:
    """Commits everything there is."""
    git(root, "add", "-A")
    git(root, "commit", "-qm", "c")
    return git(root, "rev-parse", "HEAD")


def files(place: Path) -> dict[str, str]:
    """Every file, and what it holds or leads to."""
    return {
        str(path.relative_to(place)): str(path.readlink())
        if path.is_symlink()
        else path.read_text()
        for path in sorted(place.rglob("*"))
        if ".git" not in path.parts and (path.is_symlink() or path.is_file())
    }


EXPECTED = [
    {"a.txt": "one\n", "sub/b.txt": "b\n"},
    {"a.txt": "two\n", "link": "a.txt", "sub/b.txt": "b\n"},
    {"a.txt": "two\n", "link": "a.txt"},
]


def test_it_holds_the_files_of_each_tree_in_turn(
    made: tuple[Repository, list[str]], tmp_path: Path
) -> None:
    """Forward and back; what a tree lacks is gone."""
    repo, commits = made
    place = tmp_path / "pool" / "1"
    for number in (0, 2, 1, 1, 0):
        gate_trees.bring(repo, place, gate_trees.tree_of(repo, commits[number]))
        assert files(place) == EXPECTED[number]
        assert git(place, "status", "--porcelain") == ""


def test_its_history_says_nothing_but_the_tree(
    made: tuple[Repository, list[str]], tmp_path: Path
) -> None:
    """Two places at different times have the same commit, and nothing else to read."""
    repo, commits = made
    tree = gate_trees.tree_of(repo, commits[1])
    first, second = tmp_path / "1", tmp_path / "2"
    gate_trees.bring(repo, first, gate_trees.tree_of(repo, commits[0]))
    for place in (first, second):
        gate_trees.bring(repo, place, tree)
    assert git(first, "rev-parse", "HEAD") == git(second, "rev-parse", "HEAD")
    assert git(first, "log", "--all", "--format=%an") == "Windlass"
    assert not (first / ".git" / "objects" / "info" / "alternates").exists()
    assert git(first, "remote") == ""


def test_one_that_was_left_half_changed_is_made_anew(
    made: tuple[Repository, list[str]], tmp_path: Path
) -> None:
    """Killed in the middle, it has no mark: nothing of it counts."""
    repo, commits = made
    place = tmp_path / "1"
    tree = gate_trees.tree_of(repo, commits[0])
    gate_trees.bring(repo, place, tree)
    (place / ".git" / "windlass-tree").unlink()
    (place / "a.txt").write_text("half\n")
    (place / "left").touch()
    gate_trees.bring(repo, place, tree)
    assert files(place) == EXPECTED[0]


def test_what_is_no_commit_is_refused(made: tuple[Repository, list[str]]) -> None:
    """Named as it was given."""
    with pytest.raises(GitError, match="nothing-here"):
        gate_trees.tree_of(made[0], "nothing-here")


def test_files_are_read_from_a_tree_and_not_from_the_checkout(
    made: tuple[Repository, list[str]],
) -> None:
    """Of plain files alone, up to a size."""
    repo, commits = made
    Path(repo.root, "a.txt").write_text("uncommitted\n")
    tree = gate_trees.tree_of(repo, commits[1])
    assert gate_trees.read_file(repo, tree, "a.txt", most=100) == b"two\n"
    assert gate_trees.read_file(repo, tree, "a.txt", most=2) is None
    assert gate_trees.read_file(repo, tree, "link", most=100) is None
    assert gate_trees.read_file(repo, tree, "sub", most=100) is None
    assert gate_trees.read_file(repo, tree, "none", most=100) is None
