"""Somebody switches branches in a checkout while the target moves: files are as their HEAD is.

Git takes no lock of the index for a new branch on the same commit, so nothing of ours can keep a
person from that between any two steps.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.git.conftest import git
from tests.git.test_merges import plan, work

from windlass.core.errors import Conflict
from windlass.git import checkout, merges, repository
from windlass.git.repository import Repository

Acts = Callable[[], object]
Moment = Callable[[pytest.MonkeyPatch, Acts], None]


def _before_the_lock(monkeypatch: pytest.MonkeyPatch, act: Acts) -> None:
    take = checkout.held

    def late(*args: Any, **more: Any) -> Any:
        act()
        return take(*args, **more)

    monkeypatch.setattr(checkout, "held", late)


def _before_the_files(monkeypatch: pytest.MonkeyPatch, act: Acts) -> None:
    follow = checkout.Follower.follow

    def late(self: checkout.Follower) -> None:
        act()
        follow(self)

    monkeypatch.setattr(checkout.Follower, "follow", late)


def _before_the_swap(monkeypatch: pytest.MonkeyPatch, act: Acts) -> None:
    swap = repository.set_ref

    def late(*args: Any, **more: Any) -> None:
        act()
        swap(*args, **more)

    monkeypatch.setattr(merges, "set_ref", late)


MOMENTS: list[Moment] = [_before_the_lock, _before_the_files, _before_the_swap]


def _agrees(place: Path | str) -> bool:
    """Whether files, index and HEAD of a checkout say the same, so that a commit adds nothing."""
    return git(place, "status", "--porcelain") == ""


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("linked", [False, True])
def test_who_leaves_the_target_on_a_branch_of_its_own_keeps_the_files_of_then(
    repo: Repository, ws: Path, monkeypatch: pytest.MonkeyPatch, moment: Moment, *, linked: bool
) -> None:
    place = Path(repo.root)
    if linked:
        place = ws.parent / "release"
        git(repo.root, "worktree", "add", "-q", "-b", "release", place)
    target = "release" if linked else "main"
    work(ws, "src/new.py")
    chosen = plan(repo, target)
    done: list[str] = []

    def leave() -> None:
        if not done:
            done.append(git(place, "switch", "-q", "-c", "topic"))

    moment(monkeypatch, leave)
    try:
        merges.apply(repo, chosen)
    except Conflict:
        merges.apply(repo, chosen)
    assert done
    assert git(repo.root, "rev-parse", target) == chosen.new
    assert git(place, "rev-parse", "--abbrev-ref", "HEAD") == "topic"
    assert git(place, "rev-parse", "topic") == chosen.old
    assert _agrees(place)
    assert not (place / "src/new.py").exists()


@pytest.mark.parametrize("moment", MOMENTS)
def test_who_comes_to_the_target_has_what_it_has_by_then(
    repo: Repository, ws: Path, monkeypatch: pytest.MonkeyPatch, moment: Moment
) -> None:
    """A checkout that did not follow would have its next commit take back what was merged."""
    place = ws.parent / "other"
    git(repo.root, "worktree", "add", "-q", "-b", "elsewhere", place, "main")
    (place / "notes.txt").write_text("mine\n")
    work(ws, "src/new.py")
    chosen = plan(repo)
    done: list[str] = []

    def come() -> None:
        if not done:
            git(place, "switch", "-q", "--ignore-other-worktrees", "main")
            done.append("came")

    moment(monkeypatch, come)
    try:
        merges.apply(repo, chosen)
    except Conflict:
        merges.apply(repo, chosen)
    assert done
    for at in (Path(repo.root), place):
        assert git(at, "rev-parse", "HEAD") == chosen.new
        assert (at / "src/new.py").read_text() == "work\n"
    assert _agrees(repo.root)
    assert git(place, "status", "--porcelain") == "?? notes.txt"


def test_a_branch_of_its_own_that_is_made_of_what_landed_keeps_that(
    repo: Repository, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(ws, "src/new.py")
    chosen = plan(repo)
    swap = repository.set_ref

    def early(*args: Any, **more: Any) -> None:
        swap(*args, **more)
        git(repo.root, "switch", "-q", "-c", "topic")

    monkeypatch.setattr(merges, "set_ref", early)
    merges.apply(repo, chosen)
    assert git(repo.root, "rev-parse", "topic") == chosen.new
    assert _agrees(repo.root)
    assert (Path(repo.root) / "src/new.py").exists()
