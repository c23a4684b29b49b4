"""A submodule that a merge moves: in a checkout it goes along where its person wants that."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.git.conftest import git
from tests.git.test_merges import plan, work

from windlass.git import merges, submodule_moves
from windlass.git.merges import MergePlan
from windlass.git.repository import Repository
from windlass.git.submodule_moves import Replaced, Stayed


@pytest.fixture
def lib(repo: Repository, ws: Path, tmp_path: Path) -> Path:
    """A library that main has as the submodule `lib`; the agent has it at a newer commit."""
    library = tmp_path / "library"
    git(tmp_path, "init", "-q", library)
    work(library, "lib.txt", "one\n")
    git(repo.root, "submodule", "add", "-q", str(library), "lib")
    git(repo.root, "commit", "-q", "-m", "lib")
    git(ws, "merge", "-q", "main")
    newer = work(library, "lib.txt", "two\n")
    git(ws, "update-index", "--cacheinfo", f"160000,{newer},lib")
    git(ws, "commit", "-q", "-m", "newer lib")
    return Path(repo.root) / "lib"


def _stayed(repo: Repository, chosen: MergePlan) -> list[Stayed | Replaced]:
    return submodule_moves.stayed(repo, "main", old=chosen.old, new=chosen.new)


def test_it_stays_as_with_git_pull_and_that_is_known(repo: Repository, lib: Path) -> None:
    chosen = plan(repo)
    merges.apply(repo, chosen)
    assert (lib / "lib.txt").read_text() == "one\n"
    assert git(repo.root, "status", "--porcelain") == " M lib"
    (stayed,) = _stayed(repo, chosen)
    assert stayed == (repo.root, ["lib"])
    git(repo.root, "submodule", "update", "-q")
    assert _stayed(repo, chosen) == []


def test_it_goes_along_where_the_person_has_set_that(repo: Repository, lib: Path) -> None:
    """Also what has to be fetched for it; no hook runs."""
    git(repo.root, "config", "--global", "submodule.recurse", "true")
    hook = Path(repo.git_dir) / "modules/lib/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch hooked\n")
    hook.chmod(0o755)
    chosen = plan(repo)
    merges.apply(repo, chosen)
    assert (lib / "lib.txt").read_text() == "two\n"
    assert git(repo.root, "status", "--porcelain") == ""
    assert _stayed(repo, chosen) == []


def test_one_that_cannot_go_along_stays_and_the_branch_moves(repo: Repository, lib: Path) -> None:
    git(repo.root, "config", "submodule.recurse", "true")
    (lib / "lib.txt").write_text("mine\n")
    chosen = plan(repo)
    merges.apply(repo, chosen)
    assert git(repo.root, "rev-parse", "main") == chosen.new
    assert (lib / "lib.txt").read_text() == "mine\n"
    assert _stayed(repo, chosen) == [(repo.root, ["lib"])]


def test_one_that_the_person_has_moved_is_theirs(repo: Repository, lib: Path) -> None:
    git(repo.root, "config", "submodule.recurse", "true")
    mine = work(lib, "mine.txt")
    chosen = plan(repo)
    merges.apply(repo, chosen)
    assert git(lib, "rev-parse", "HEAD") == mine
    assert _stayed(repo, chosen) == []


@pytest.fixture
def replaced(ws: Path, lib: Path) -> Path:
    """The agent has a folder with a file of its own in the place of the submodule."""
    git(ws, "rm", "-q", "--cached", "lib")
    (ws / "lib").rmdir()
    work(ws, "lib/own.txt", "own\n")
    return lib


def test_one_that_is_a_folder_now_is_told_while_git_takes_it_for_a_repository(
    repo: Repository, replaced: Path
) -> None:
    """As after `git pull`: what is made in it no status shows."""
    chosen = plan(repo)
    merges.apply(repo, chosen)
    (stayed,) = _stayed(repo, chosen)
    assert stayed == (repo.root, ["lib"])
    assert "delete lib/.git" in str(stayed)
    (replaced / ".git").unlink()
    assert _stayed(repo, chosen) == []


def test_one_that_is_a_folder_now_is_none_any_more_where_submodules_go_along(
    repo: Repository, replaced: Path
) -> None:
    """Its repository stays where it was."""
    git(repo.root, "config", "submodule.recurse", "true")
    chosen = plan(repo)
    merges.apply(repo, chosen)
    assert (replaced / "own.txt").read_text() == "own\n"
    assert not (replaced / ".git").exists()
    assert (Path(repo.git_dir) / "modules/lib/HEAD").exists()
    assert _stayed(repo, chosen) == []
    (replaced / "new.txt").touch()
    assert "?? lib/new.txt" in git(repo.root, "status", "--porcelain", "-uall").splitlines()
