"""A merge into a branch whose checkout is a clone: repository and clone end at the same commit."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.git.boxing import box
from tests.git.come_home import fetch
from tests.git.conftest import git, snapshot
from tests.git.test_clones import make
from tests.git.test_merges import Killed, work
from tests.git.test_merges_half_moved import die

from windlass.core.errors import Conflict, GitError, WindlassError
from windlass.git import cloned, clones, merges, workspaces
from windlass.git.merges import MergePlan
from windlass.git.repository import Repository

Box = Callable[[], list[str]]


@pytest.fixture
def manager(repo: Repository, tmp_path: Path) -> Path:
    """The clone of the agent that is merged into."""
    path = tmp_path / "ws" / "boss"
    make(repo, path, "boss")
    return path


@pytest.fixture
def child(repo: Repository, ws: Path) -> Path:
    """The workspace whose work is merged, with some in it."""
    assert repo.root
    work(ws, "new.txt")
    work(ws, "readme.txt", "changed\n")
    (ws / "src/two.py").unlink()
    git(ws, "commit", "-q", "-a", "-m", "remove")
    return ws


def boxed(repo: Repository, clone: Path) -> list[str]:
    assert repo.root
    return box(writable=[clone], readable=clones.borrowed(f"{clone.parent.parent}/mirror"))


def plan(repo: Repository) -> MergePlan:
    return merges.prepare(
        repo,
        source="agent/a1",
        target_branch="agent/boss",
        message="Merge a1\n",
        author=("Ann Own", "ann@example.org"),
        time=1_700_000_000,
    )


def apply(repo: Repository, clone: Path, chosen: MergePlan) -> None:
    merges.apply(repo, chosen, box=boxed(repo, clone))


def is_merged(repo: Repository, clone: Path, chosen: MergePlan) -> bool:
    return (
        git(repo.root, "rev-parse", "agent/boss") == chosen.new
        and git(clone, "rev-parse", "refs/heads/agent/boss") == chosen.new
        and git(clone, "status", "--porcelain") == ""
        and (clone / "readme.txt").read_text() == "changed\n"
        and (clone / "new.txt").read_text() == "work\n"
        and not (clone / "src/two.py").exists()
        and not (clone / ".git/index.lock").exists()
        and not (clone / ".git/windlass-index").exists()
    )


def test_the_clone_follows_the_merge(repo: Repository, manager: Path, child: Path) -> None:
    assert child.exists()
    chosen = plan(repo)
    assert chosen.checkout == str(manager)
    merges.refuse_dirty(repo, str(manager))
    merges.rehearse(repo, chosen, box=boxed(repo, manager))
    assert git(manager, "rev-parse", "HEAD") == chosen.old
    for _ in range(2):
        apply(repo, manager, chosen)
        assert is_merged(repo, manager, chosen)
    assert fetch(repo, manager, "agent/boss") is None
    assert "windlass: merge" in git(manager, "reflog", "agent/boss")


def test_work_that_came_home_is_merged_with(repo: Repository, manager: Path, child: Path) -> None:
    assert child.exists()
    tip = work(manager, "own.txt")
    with pytest.raises(Conflict, match="moved to"):
        apply(repo, manager, plan(repo))
    fetch(repo, manager, "agent/boss")
    chosen = plan(repo)
    assert chosen.old == tip
    apply(repo, manager, chosen)
    assert is_merged(repo, manager, chosen)
    assert (manager / "own.txt").exists()


def test_a_clone_on_another_branch_keeps_its_files(
    repo: Repository, manager: Path, child: Path
) -> None:
    assert child.exists()
    git(manager, "checkout", "-q", "-b", "side")
    chosen = plan(repo)
    apply(repo, manager, chosen)
    assert git(manager, "rev-parse", "agent/boss") == chosen.new
    assert git(repo.root, "rev-parse", "agent/boss") == chosen.new
    assert git(manager, "rev-parse", "HEAD") == chosen.old
    assert git(manager, "status", "--porcelain") == ""


def edited(clone: Path) -> None:
    (clone / "readme.txt").write_text("mine\n")


def staged(clone: Path) -> None:
    edited(clone)
    git(clone, "add", "readme.txt")


def untracked(clone: Path) -> None:
    (clone / "new.txt").write_text("mine\n")


def rebasing(clone: Path) -> None:
    git(clone, "commit", "-q", "--allow-empty", "-m", "x")
    git(clone, "reset", "-q", "HEAD~1")
    (clone / ".git/rebase-merge").mkdir()


def at_work(clone: Path) -> None:
    (clone / ".git/index.lock").write_bytes(b"")


@pytest.mark.parametrize(
    "prepare", [edited, staged, untracked, rebasing, at_work], ids=lambda one: one.__name__
)
def test_a_clone_that_is_not_free_is_refused_and_left_alone(
    repo: Repository, manager: Path, child: Path, prepare: Callable[[Path], None]
) -> None:
    assert child.exists()
    prepare(manager)
    before = git(manager, "status", "--porcelain")
    chosen = plan(repo)
    for attempt in (merges.rehearse, merges.apply):
        with pytest.raises(Conflict):
            attempt(repo, chosen, box=boxed(repo, manager))
    assert git(repo.root, "rev-parse", "agent/boss") == chosen.old
    assert git(manager, "rev-parse", "agent/boss") == chosen.old
    assert git(manager, "status", "--porcelain") == before
    if prepare in (edited, staged):
        with pytest.raises(Conflict, match=r"readme\.txt"):
            merges.refuse_dirty(repo, str(manager))


def test_without_a_box_a_clone_is_not_touched(repo: Repository, manager: Path, child: Path) -> None:
    assert child.exists()
    chosen = plan(repo)
    with pytest.raises(Conflict, match="only git in a box"):
        merges.apply(repo, chosen)
    assert git(repo.root, "rev-parse", "agent/boss") == chosen.old
    shutil.rmtree(manager)
    merges.apply(repo, chosen)
    assert git(repo.root, "rev-parse", "agent/boss") == chosen.new, "there is nothing to follow"


@pytest.mark.parametrize(
    "moment",
    [
        "windlass.git.checkout.Follower._read_tree",
        "windlass.git.checkout.Follower._publish",
        "windlass.git.cloned._CloneFollower._set",
        "windlass.git.merges.set_ref",
    ],
)
def test_a_merge_killed_between_its_steps_is_completed(
    repo: Repository, manager: Path, child: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    assert child.exists()
    chosen = plan(repo)

    with monkeypatch.context() as patch:
        # A killed process unlinks nothing.
        patch.setattr("windlass.git.index_lock.release", lambda _: None)
        patch.setattr(moment, die)
        with pytest.raises(Killed):
            apply(repo, manager, chosen)
    assert (manager / ".git/index.lock").exists()
    assert git(repo.root, "rev-parse", "agent/boss") == chosen.old
    apply(repo, manager, chosen)
    assert is_merged(repo, manager, chosen)


def test_what_came_home_between_a_kill_and_the_next_try_is_the_merge(
    repo: Repository, manager: Path, child: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert child.exists()
    chosen = plan(repo)

    with monkeypatch.context() as patch:
        patch.setattr("windlass.git.index_lock.release", lambda _: None)
        patch.setattr("windlass.git.merges.set_ref", die)
        with pytest.raises(Killed):
            apply(repo, manager, chosen)
    assert fetch(repo, manager, "agent/boss") == chosen.new
    apply(repo, manager, chosen)
    assert is_merged(repo, manager, chosen)


def short_of_room(repo: Repository, clone: Path) -> list[str]:
    """A box in which no file can be larger than a hundred thousand bytes."""
    return ["prlimit", "--fsize=100000", *boxed(repo, clone)]


def test_a_clone_that_has_no_room_for_a_merge_is_put_back_in_its_box(
    repo: Repository, manager: Path, child: Path
) -> None:
    (manager / "empty").mkdir()
    work(child, "empty/z-large.bin", "large\n" * 50_000)
    before = snapshot(manager)
    chosen = plan(repo)
    with pytest.raises(GitError) as told:
        merges.apply(repo, chosen, box=short_of_room(repo, manager))
    assert "the checkout is as it was" in told.value.hint
    assert snapshot(manager) == before
    assert git(manager, "status", "--porcelain") == ""
    assert not (manager / ".git/index.lock").exists()
    apply(repo, manager, chosen)
    assert is_merged(repo, manager, chosen)


def half_moved(repo: Repository, clone: Path, child: Path) -> None:
    """Has a merge into a clone fail that finds no room for the old files either."""
    work(clone, "a-large.bin", "old\n" * 50_000)
    fetch(repo, clone, "agent/boss")
    git(child, "merge", "-q", "agent/boss")
    work(child, "a-large.bin", "new\n" * 40_000)
    with pytest.raises(GitError) as told:
        merges.apply(repo, plan(repo), box=short_of_room(repo, clone))
    assert str(clone / ".git/index.lock") in told.value.hint, "it says what blocks git"
    assert (clone / "a-large.bin").read_bytes() != b"old\n" * 50_000


def test_the_look_for_changes_puts_a_half_moved_clone_right_first(
    repo: Repository, manager: Path, child: Path
) -> None:
    half_moved(repo, manager, child)
    merges.refuse_dirty(repo, str(manager), box=boxed(repo, manager))
    assert git(manager, "status", "--porcelain") == ""
    assert (manager / "a-large.bin").read_text() == "old\n" * 50_000
    assert not (manager / "new.txt").exists()
    assert not (manager / ".git/index.lock").exists()
    chosen = plan(repo)
    apply(repo, manager, chosen)
    assert is_merged(repo, manager, chosen)


def test_a_half_moved_clone_is_left_alone_without_a_box(
    repo: Repository, manager: Path, child: Path
) -> None:
    half_moved(repo, manager, child)
    before = snapshot(manager)
    with pytest.raises(Conflict, match="only git in a box"):
        merges.refuse_dirty(repo, str(manager))
    assert snapshot(manager) == before


def test_a_clone_whose_branch_cannot_be_moved_is_put_back(
    repo: Repository, manager: Path, child: Path
) -> None:
    assert child.exists()
    before = snapshot(manager)
    (manager / ".git/refs/heads/agent/boss.lock").touch()  # as another git does
    with pytest.raises(GitError):
        apply(repo, manager, plan(repo))
    assert snapshot(manager) == before
    assert git(manager, "status", "--porcelain") == ""


def test_an_agent_that_pretends_to_be_half_moved_gets_nothing_that_it_cannot_see(
    repo: Repository, manager: Path
) -> None:
    secret = Path(repo.root) / "secret.txt"
    secret.write_text("secret\n")
    git(repo.root, "stash", "push", "-q", "-u")
    stashed = git(repo.root, "rev-parse", "stash^3")
    tip = git(repo.root, "rev-parse", "main")
    (manager / ".git/index.lock").write_text(f"windlass {stashed} {tip}\n")
    before = snapshot(manager)
    with pytest.raises(Conflict, match="not there any more") as told:
        merges.refuse_dirty(repo, str(manager), box=boxed(repo, manager))
    assert f"`wl exec {manager.name} -- git status`" in told.value.hint, "plain git obeys the clone"
    assert snapshot(manager) == before
    git(manager, "cat-file", "-e", stashed, ok=1)


def test_what_is_taken_from_a_half_moved_clone_is_reached_through_no_link(
    repo: Repository, manager: Path, child: Path, tmp_path: Path
) -> None:
    """What a merge had written would be taken away; a link leads to the same outside the clone."""
    work(child, "deep/new.txt")
    chosen = plan(repo)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("windlass.git.index_lock.release", lambda _: None)
        patch.setattr("windlass.git.checkout.Follower._publish", die)
        with pytest.raises(Killed):
            apply(repo, manager, chosen)
    (manager / "deep").rename(tmp_path / "precious")
    (manager / "deep").symlink_to(tmp_path / "precious")
    merges.refuse_dirty(repo, str(manager), box=boxed(repo, manager))
    assert (tmp_path / "precious/new.txt").read_text() == "work\n"


def test_a_link_in_the_clone_leads_the_merge_nowhere(
    repo: Repository, manager: Path, child: Path, tmp_path: Path
) -> None:
    """The folder that a merged file goes to leads out of the clone; git in the box sees nothing."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "one.py").write_text("precious\n")
    work(child, "src/one.py", "overwritten\n")
    chosen = plan(repo)
    shutil.rmtree(manager / "src")
    (manager / "src").symlink_to(precious)
    git(manager, "update-index", "--assume-unchanged", "src/one.py", "src/two.py")
    with contextlib.suppress(WindlassError):
        apply(repo, manager, chosen)
    assert (precious / "one.py").read_text() == "precious\n"
    assert sorted(path.name for path in precious.iterdir()) == ["one.py"]


def test_an_index_that_became_a_link_is_not_written_through(
    repo: Repository, manager: Path, child: Path, tmp_path: Path
) -> None:
    assert child.exists()
    precious = tmp_path / "precious"
    precious.write_bytes((manager / ".git/index").read_bytes())
    before = precious.read_bytes()
    chosen = plan(repo)
    for name in ("index", "windlass-index"):
        (manager / ".git" / name).unlink(missing_ok=True)
        (manager / ".git" / name).symlink_to(precious)
    with contextlib.suppress(WindlassError):
        apply(repo, manager, chosen)
    assert precious.read_bytes() == before


def test_what_a_clone_configures_runs_in_the_box_alone(
    repo: Repository, manager: Path, child: Path, tmp_path: Path
) -> None:
    marker = tmp_path / "marker"
    for key in ("core.fsmonitor", "filter.e.smudge", "filter.e.clean", "diff.external"):
        git(manager, "config", key, f"touch {marker}; cat")
    hook = manager / ".git/hooks/reference-transaction"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {marker}\n")
    hook.chmod(0o755)
    (manager / ".git/info/attributes").parent.mkdir(exist_ok=True)
    (manager / ".git/info/attributes").write_text("* filter=e\n")
    chosen = plan(repo)
    apply(repo, manager, chosen)
    workspaces.status(repo, str(manager))
    assert not marker.exists()
    assert child.exists()
    git(manager, "reset", "-q", "--hard", "HEAD~1")
    assert marker.exists(), "plain git runs it, so this test can fail"


@contextlib.contextmanager
def stretched(repo: Repository, clone: Path, chosen: MergePlan) -> Iterator[None]:
    """Has the clone's own merge be under way, with a git that an agent keeps waiting."""
    begun, gate = clone.parent / "begun", clone.parent / "gate"
    for pipe in (begun, gate):
        os.mkfifo(pipe)
    line = f"[ -e {gate}ed ] || {{ echo > {begun}; read x < {gate}; : > {gate}ed; }}"
    wait = ["/bin/sh", "-c", f'{line}; exec "$@"', "sh"]
    merging = threading.Thread(
        target=merges.apply, args=(repo, chosen), kwargs={"box": [*wait, *boxed(repo, clone)]}
    )
    merging.start()
    begun.read_text()
    try:
        yield
    finally:
        gate.write_text("go\n")
        merging.join()


def test_who_stretches_the_merge_into_its_clone_holds_up_no_other_merge_and_no_homecoming(
    repo: Repository, manager: Path, child: Path, tmp_path: Path
) -> None:
    assert child.exists()
    other = tmp_path / "ws" / "other"
    make(repo, other, "other")
    tip = work(other, "own.txt")
    into_main = merges.prepare(
        repo,
        source="agent/a1",
        target_branch="main",
        message="Merge a1\n",
        author=("Ann Own", "ann@example.org"),
        time=1_700_000_000,
    )

    def others() -> None:
        merges.refuse_dirty(repo, repo.root)
        merges.rehearse(repo, into_main)
        merges.apply(repo, into_main)
        fetch(repo, other, "agent/other")

    chosen = plan(repo)
    with stretched(repo, manager, chosen):
        beside = threading.Thread(target=others)
        beside.start()
        beside.join(30)
        assert not beside.is_alive()
    assert git(repo.root, "rev-parse", "main") == into_main.new
    assert git(repo.root, "rev-parse", "agent/other") == tip
    assert is_merged(repo, manager, chosen)
    assert not list(Path(repo.private).glob("branch-*")), "no lock is left behind"


def test_git_that_changes_a_clone_has_seconds_for_all_that_it_does(
    repo: Repository, manager: Path, child: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert child.exists()
    chosen, begun = plan(repo), time.monotonic()
    with monkeypatch.context() as patch:
        patch.setattr(cloned, "_SECONDS", 0.5)
        for attempt in (merges.rehearse, merges.apply):
            with pytest.raises(GitError, match="did not finish"):
                attempt(repo, chosen, box=["/bin/sh", "-c", "exec sleep 1000"])
    assert time.monotonic() - begun < 30
    apply(repo, manager, chosen)
    assert is_merged(repo, manager, chosen)
