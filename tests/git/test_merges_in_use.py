"""A branch that git is in the middle of something with is not moved: its end would undo that."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.git.conftest import git
from tests.git.test_merges import plan, work

from windlass.core.errors import Conflict
from windlass.git import checkout, merges
from windlass.git.index_lock import CheckoutBusy
from windlass.git.repository import Repository


def _rebases(place: Path, *, flags: tuple[str, ...] = ()) -> Callable[[], object]:
    """Stops in the middle of a rebase of main; gives what ends it."""
    onto = git(place, "commit-tree", "-p", "main~1", "-m", "onto", "main~1^{tree}")
    git(place, "rebase", "-q", *flags, "-x", "false", onto, ok=1)
    return lambda: git(place, "rebase", "--abort")


def _rebases_by_patches(place: Path) -> Callable[[], object]:
    git(place, "switch", "-q", "-c", "theirs", "main~1")
    work(place, "own2.txt", "theirs\n")
    git(place, "rebase", "-q", "--apply", "theirs", "main", ok=1)
    return lambda: git(place, "rebase", "--abort")


def _rebases_what_is_on_it(place: Path) -> Callable[[], object]:
    """A rebase of another branch takes main along."""
    git(place, "switch", "-q", "-c", "above")
    work(place, "above.txt")
    return _rebases(place, flags=("--update-refs",))


def _bisects(place: Path) -> Callable[[], object]:
    git(place, "bisect", "start", "main", "main~2")
    return lambda: git(place, "bisect", "reset")


def _applies(place: Path) -> Callable[[], object]:
    patch = git(place, "format-patch", "-1", "--stdout", "main")
    git(place, "am", "-q", stdin=f"{patch}\n".encode(), ok=128)
    return lambda: git(place, "am", "--abort")


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize(
    "begin", [_rebases, _rebases_by_patches, _rebases_what_is_on_it, _bisects, _applies]
)
def test_a_branch_that_git_is_in_the_middle_of_is_not_moved(
    repo: Repository,
    ws: Path,
    tmp_path: Path,
    begin: Callable[[Path], Callable[[], object]],
    *,
    linked: bool,
) -> None:
    place = Path(repo.root)
    if linked:
        place = tmp_path / "linked"
        git(repo.root, "switch", "-q", "-c", "parked")
        git(repo.root, "worktree", "add", "-q", place, "main")
    work(ws, "new.txt")
    work(place, "own.txt")
    work(place, "own2.txt")
    tip = git(repo.root, "rev-parse", "main")
    chosen = plan(repo)
    end = begin(place)
    for move in (merges.rehearse, merges.apply):
        with pytest.raises(CheckoutBusy, match=f"main is being .* in {place}"):
            move(repo, chosen)
    end()
    assert git(repo.root, "rev-parse", "main") == tip
    git(place, "switch", "-q", "main")
    assert merges.apply(repo, chosen) == []
    assert git(place, "status", "--porcelain") == ""
    assert (place / "new.txt").exists()


def test_a_rebase_of_another_branch_is_in_nobodys_way(repo: Repository, ws: Path) -> None:
    work(repo.root, "own.txt")
    git(repo.root, "switch", "-q", "-c", "topic")
    work(repo.root, "topic.txt")
    work(ws, "new.txt")
    _rebases(Path(repo.root))
    chosen = plan(repo)
    merges.apply(repo, chosen)
    assert git(repo.root, "rev-parse", "main") == chosen.new


def test_who_begins_a_rebase_in_the_middle_of_the_move_is_not_undone_by_it(
    repo: Repository, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(repo.root, "own.txt")
    work(repo.root, "own2.txt")
    work(ws, "new.txt")
    chosen = plan(repo)
    place = repo.root + "/.git/rebase-merge"
    follow = checkout.Follower.follow

    def late(self: checkout.Follower) -> None:
        follow(self)
        Path(place).mkdir()
        (Path(place) / "head-name").write_text("refs/heads/main\n")

    monkeypatch.setattr(checkout.Follower, "follow", late)
    with pytest.raises(CheckoutBusy):
        merges.apply(repo, chosen)
    assert git(repo.root, "rev-parse", "main") == chosen.old
    assert not (Path(repo.root) / "new.txt").exists()
    assert git(repo.root, "status", "--porcelain") == ""


@pytest.mark.parametrize("locked", [False, True])
def test_a_worktree_that_is_away_is_left_behind_where_its_files_are(
    repo: Repository, ws: Path, tmp_path: Path, *, locked: bool
) -> None:
    """It comes back on no branch: a commit in it takes back nothing."""
    place, shelf = tmp_path / "disk", tmp_path / "shelf"
    git(repo.root, "switch", "-q", "-c", "parked")
    git(repo.root, "worktree", "add", "-q", place, "main")
    if locked:
        git(repo.root, "worktree", "lock", place)
    work(ws, "new.txt")
    place.rename(shelf)
    chosen = plan(repo)
    assert merges.rehearse(repo, chosen) == [str(place)]
    assert merges.apply(repo, chosen) == [str(place)]
    shelf.rename(place)
    assert git(place, "status", "--porcelain") == ""
    assert git(place, "rev-parse", "HEAD") == chosen.old
    work(place, "readme.txt", "mine\n")
    assert git(repo.root, "rev-parse", "main") == chosen.new


def test_a_worktree_that_is_away_keeps_its_branch_where_nothing_lands(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    place = tmp_path / "disk"
    git(repo.root, "switch", "-q", "-c", "parked")
    git(repo.root, "worktree", "add", "-q", place, "main")
    work(ws, "new.txt")
    chosen = plan(repo)
    place.rename(tmp_path / "shelf")
    with pytest.MonkeyPatch.context() as patch:

        def refused(*_: object, **__: object) -> None:
            raise Conflict("no", "")

        patch.setattr(merges, "set_ref", refused)
        with pytest.raises(Conflict, match="no"):
            merges.apply(repo, chosen)
    (tmp_path / "shelf").rename(place)
    assert git(place, "symbolic-ref", "HEAD") == "refs/heads/main"


def test_nothing_moves_while_the_main_checkout_is_away(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    """Its branch is what others land on: it is not left on none."""
    git_dir = tmp_path / "elsewhere.git"
    git(repo.root, "init", "-q", "--separate-git-dir", git_dir)
    repo = Repository(root=repo.root, git_dir=str(git_dir))
    git(ws, "--git-dir", git_dir / "worktrees" / "a1", "commit", "-q", "--allow-empty", "-m", "a1")
    chosen = plan(repo)
    Path(repo.root).rename(tmp_path / "shelf")
    for move in (merges.rehearse, merges.apply):
        with pytest.raises(Conflict, match=f"{repo.root} is not there"):
            move(repo, chosen)
    assert git(git_dir, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(git_dir, "rev-parse", "main") == chosen.old


@pytest.mark.parametrize("name", ["HEAD.lock", "refs/heads/main.lock"])
def test_a_git_that_is_moving_the_branch_is_waited_for(
    repo: Repository, ws: Path, name: str
) -> None:
    """A person's hook for such moves holds these locks for as long as it runs."""
    work(ws, "new.txt")
    chosen = plan(repo)
    lock = Path(repo.git_dir, name)
    lock.touch()
    with pytest.raises(CheckoutBusy, match=f"another git is moving refs/heads/main: .*{name}"):
        merges.apply(repo, chosen)
    assert git(repo.root, "rev-parse", "main") == chosen.old
    assert git(repo.root, "status", "--porcelain") == ""
    lock.unlink()
    assert merges.apply(repo, chosen) == []
    assert git(repo.root, "rev-parse", "main") == chosen.new


def test_a_broken_branch_of_somebody_else_holds_up_nothing(repo: Repository, ws: Path) -> None:
    """A full disk or a `gc` at the wrong moment leaves a branch whose commit is not there."""
    work(ws, "new.txt")
    Path(repo.git_dir, "refs", "heads", "broken").write_text(f"{'1' * 40}\n")
    chosen = plan(repo)
    assert merges.rehearse(repo, chosen) == []
    assert merges.apply(repo, chosen) == []
    assert git(repo.root, "rev-parse", "main") == chosen.new
    assert git(repo.root, "status", "--porcelain") == ""
