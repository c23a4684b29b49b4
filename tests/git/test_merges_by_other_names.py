"""A name that stands for a branch (`git symbolic-ref`) is that branch, wherever it is checked out.

Whoever commits there commits on the branch, so a checkout that stays behind takes back what landed.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.git.conftest import git
from tests.git.test_merges import plan, work

from windlass.core.errors import Conflict, GitError
from windlass.git import checkout, merges, repository
from windlass.git.index_lock import CheckoutBusy
from windlass.git.repository import Repository


@pytest.fixture(params=["on the other name", "landing by it", "two steps away"])
def target(request: pytest.FixtureRequest, repo: Repository, ws: Path) -> str:
    """What is landed on, where that and what the main checkout is on are names of one branch."""
    work(ws, "new.txt")
    git(ws, "rm", "-q", "readme.txt")
    git(ws, "commit", "-q", "-m", "remove")
    git(repo.root, "symbolic-ref", "refs/heads/master", "refs/heads/main")
    if request.param == "landing by it":
        return "master"
    git(repo.root, "symbolic-ref", "refs/heads/trunk", "refs/heads/master")
    name = "trunk" if request.param == "two steps away" else "master"
    git(repo.root, "symbolic-ref", "HEAD", f"refs/heads/{name}")
    return "main"


def test_a_checkout_by_another_name_goes_along(repo: Repository, target: str) -> None:
    head = Path(repo.git_dir, "HEAD").read_text()
    Path(repo.root, "own.txt").write_text("mine\n")
    chosen = plan(repo, target)
    merges.rehearse(repo, chosen)
    assert merges.apply(repo, chosen) == []
    assert git(repo.root, "rev-parse", "main") == chosen.new
    assert git(repo.root, "status", "--porcelain") == "?? own.txt"
    assert Path(repo.git_dir, "HEAD").read_text() == head


def test_edits_that_are_in_the_way_there_hold_what_lands(repo: Repository, target: str) -> None:
    Path(repo.root, "readme.txt").write_text("mine\n")
    chosen = plan(repo, target)
    for move in (merges.rehearse, merges.apply):
        with pytest.raises(Conflict, match=r"your edits of readme\.txt are in the way"):
            move(repo, chosen)
    assert git(repo.root, "rev-parse", "main") == chosen.old
    git(repo.root, "commit", "-q", "-a", "-m", "mine")
    assert git(repo.root, "show", "--name-only", "--format=", "HEAD") == "readme.txt"


def test_a_git_at_work_there_is_waited_for(repo: Repository, target: str) -> None:
    Path(repo.git_dir, "index.lock").touch()
    chosen = plan(repo, target)
    for move in (merges.rehearse, merges.apply):
        with pytest.raises(CheckoutBusy):
            move(repo, chosen)
    assert git(repo.root, "rev-parse", "main") == chosen.old


def test_a_rebase_of_the_other_name_is_waited_for(repo: Repository, ws: Path) -> None:
    work(ws, "new.txt")
    git(repo.root, "symbolic-ref", "refs/heads/master", "refs/heads/main")
    git(repo.root, "symbolic-ref", "HEAD", "refs/heads/master")
    for name in ("own.txt", "own2.txt"):
        work(repo.root, name)
    chosen = plan(repo)
    git(repo.root, "rebase", "-q", "-x", "false", "--force-rebase", "main~1", ok=1)
    for move in (merges.rehearse, merges.apply):
        with pytest.raises(CheckoutBusy, match="main is being rebased"):
            move(repo, chosen)
    git(repo.root, "rebase", "--abort")
    assert git(repo.root, "rev-parse", "main") == chosen.old
    assert merges.apply(repo, chosen) == []


def test_who_was_left_behind_for_nothing_is_on_the_same_name_again(
    repo: Repository, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(ws, "new.txt")
    git(repo.root, "symbolic-ref", "refs/heads/master", "refs/heads/main")
    git(repo.root, "symbolic-ref", "HEAD", "refs/heads/master")
    Path(repo.root, "new.txt").write_text("mine\n")
    chosen = plan(repo)
    detach = checkout.detach

    def fails(repo: Repository, path: str, *, at: str) -> None:
        detach(repo, path, at=at)
        raise GitError("no", "")

    monkeypatch.setattr(checkout, "detach", fails)
    with pytest.raises(GitError, match="no"):
        merges.apply(repo, msgspec.structs.replace(chosen, detaches=True))
    assert Path(repo.git_dir, "HEAD").read_text() == "ref: refs/heads/master\n"


def test_a_name_is_deleted_and_not_what_it_stands_for(repo: Repository) -> None:
    for delete in (repository.delete_ref, repository.delete_refs):
        git(repo.root, "symbolic-ref", "refs/heads/master", "refs/heads/main")
        delete(repo, "refs/heads/master")
        assert repository.branch_exists(repo, "main")
        assert not repository.branch_exists(repo, "master")
    assert "main" in repository.checkouts(repo)


def test_what_is_checked_out_by_another_name_is_known(repo: Repository) -> None:
    git(repo.root, "symbolic-ref", "refs/heads/master", "refs/heads/main")
    git(repo.root, "symbolic-ref", "HEAD", "refs/heads/master")
    assert repository.checkouts(repo)["main"] == repository.checkouts(repo)["master"] == repo.root
    assert repository.places(repo, "main") == repository.places(repo, "master") == [repo.root]
    git(repo.root, "symbolic-ref", "refs/heads/a", "refs/heads/b")
    git(repo.root, "symbolic-ref", "refs/heads/b", "refs/heads/a")
    assert repository.places(repo, "a") == []
