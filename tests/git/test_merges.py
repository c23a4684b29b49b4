from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.git.conftest import git, snapshot

from windlass.core.errors import Conflict, GitError
from windlass.git import merges, repository, workspaces
from windlass.git.merges import MergePlan
from windlass.git.repository import Repository

WHO = ("Ann Own", "ann@example.org")


def work(where: Path | str, name: str, content: str = "work\n") -> str:
    path = Path(where) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    git(where, "add", name)
    git(where, "commit", "-q", "-m", f"write {name}")
    return git(where, "rev-parse", "HEAD")


def plan(repo: Repository, target: str = "main") -> MergePlan:
    return merges.prepare(
        repo,
        source="agent/a1",
        target_branch=target,
        message="Merge a1\n",
        author=WHO,
        time=1_700_000_000,
    )


def test_a_clean_merge_is_foreseen_and_touches_nothing(repo: Repository, ws: Path) -> None:
    work(ws, "new.txt")
    work(repo.root, "other.txt")
    before = snapshot(repo.root)
    seen = merges.check(repo, source="agent/a1", target="main")
    assert (seen.clean, seen.conflicts, seen.ahead, seen.behind, seen.files) == (True, [], 1, 1, 1)
    assert snapshot(repo.root) == before


def test_a_conflict_is_foreseen_with_its_paths(repo: Repository, ws: Path) -> None:
    work(ws, "odd\nname", "ours\n")
    work(repo.root, "odd\nname", "theirs\n")
    seen = merges.check(repo, source="agent/a1", target="main")
    assert not seen.clean
    assert seen.conflicts == ["odd\nname"]
    with pytest.raises(Conflict, match=r"odd\\nname"):
        plan(repo)


def test_nothing_to_merge_is_said(repo: Repository, ws: Path) -> None:
    assert ws.exists()
    with pytest.raises(Conflict, match="already contains"):
        plan(repo)


def test_unrelated_histories_are_refused(repo: Repository, ws: Path) -> None:
    git(ws, "checkout", "-q", "--orphan", "alone")
    git(ws, "commit", "-q", "-m", "alone")
    with pytest.raises(GitError, match="share no history"):
        merges.check(repo, source="alone", target="main")


def test_preparing_twice_gives_the_same_commit_and_moves_nothing(
    repo: Repository, ws: Path
) -> None:
    work(ws, "new.txt")
    old = git(repo.root, "rev-parse", "main")
    first = plan(repo)
    assert plan(repo) == first
    assert git(repo.root, "rev-parse", "main") == old
    assert git(repo.root, "log", "-1", "--format=%an %ae %P", first.new) == (
        f"Ann Own ann@example.org {old} {git(ws, 'rev-parse', 'HEAD')}"
    )


def test_the_checkout_of_the_target_follows_the_merge(repo: Repository, ws: Path) -> None:
    work(ws, "src/new.py")
    (ws / "readme.txt").unlink()
    git(ws, "commit", "-q", "-a", "-m", "remove")
    chosen = plan(repo)
    merges.apply(repo, chosen)
    assert git(repo.root, "rev-parse", "HEAD") == chosen.new
    assert git(repo.root, "status", "--porcelain") == ""
    assert (Path(repo.root) / "src/new.py").read_text() == "work\n"
    assert not (Path(repo.root) / "readme.txt").exists()
    merges.apply(repo, chosen)
    assert git(repo.root, "rev-parse", "HEAD") == chosen.new


def test_a_target_in_a_linked_worktree_follows(repo: Repository, ws: Path, tmp_path: Path) -> None:
    place = tmp_path / "release"
    git(repo.root, "worktree", "add", "-q", "-b", "release", place)
    work(ws, "new.txt")
    merges.apply(repo, plan(repo, "release"))
    assert (place / "new.txt").read_text() == "work\n"
    assert git(place, "status", "--porcelain") == ""
    assert not (Path(repo.root) / "new.txt").exists()


def test_a_target_that_nobody_has_checked_out_just_moves(repo: Repository, ws: Path) -> None:
    git(repo.root, "branch", "release")
    work(ws, "new.txt")
    chosen = plan(repo, "release")
    assert chosen.checkout is None
    merges.apply(repo, chosen)
    assert git(repo.root, "rev-parse", "release") == chosen.new
    merges.apply(repo, chosen)


@pytest.mark.parametrize("staged", [False, True])
def test_a_dirty_checkout_is_refused(repo: Repository, staged: bool) -> None:
    (Path(repo.root) / "untracked").write_text("fine\n")
    merges.refuse_dirty(repo, repo.root)
    (Path(repo.root) / "readme.txt").write_text("edited\n")
    if staged:
        git(repo.root, "add", "readme.txt")
    with pytest.raises(Conflict, match=r"readme\.txt"):
        merges.refuse_dirty(repo, repo.root)


def test_disjoint_edits_survive_a_merge(repo: Repository, ws: Path) -> None:
    work(ws, "new.txt")
    (Path(repo.root) / "readme.txt").write_text("my edit\n")
    merges.apply(repo, plan(repo))
    assert (Path(repo.root) / "readme.txt").read_text() == "my edit\n"
    assert git(repo.root, "status", "--porcelain") == " M readme.txt"


@pytest.mark.parametrize("name", ["new.txt", "debug.log", "new.txt/inner"])
def test_an_untracked_file_in_the_way_stops_the_merge_untouched(
    repo: Repository, ws: Path, name: str
) -> None:
    """Also an ignored one, which plain read-tree would overwrite."""
    target = name.split("/", maxsplit=1)[0]
    (ws / target).write_text("work\n")
    git(ws, "add", "-f", target)
    git(ws, "commit", "-q", "-m", "work")
    mine = Path(repo.root) / name
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("mine\n")
    old = git(repo.root, "rev-parse", "main")
    with pytest.raises(Conflict, match="in the way"):
        merges.apply(repo, plan(repo))
    assert mine.read_text() == "mine\n"
    assert git(repo.root, "rev-parse", "main") == old
    assert not (Path(repo.git_dir) / "index.lock").exists()


def test_an_overlapping_edit_stops_the_merge_untouched(repo: Repository, ws: Path) -> None:
    work(ws, "readme.txt", "theirs\n")
    (Path(repo.root) / "readme.txt").write_text("mine\n")
    with pytest.raises(Conflict, match="in the way"):
        merges.apply(repo, plan(repo))
    assert (Path(repo.root) / "readme.txt").read_text() == "mine\n"


def test_a_target_that_moved_is_left_alone(repo: Repository, ws: Path) -> None:
    work(ws, "new.txt")
    chosen = plan(repo)
    moved = work(repo.root, "meanwhile")
    with pytest.raises(Conflict, match="moved"):
        merges.apply(repo, chosen)
    assert git(repo.root, "rev-parse", "main") == moved
    assert not (Path(repo.root) / "new.txt").exists()


def test_a_lost_swap_is_undone_in_the_checkout(
    repo: Repository, ws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work(ws, "new.txt")
    chosen = plan(repo)
    before = snapshot(repo.root)
    rival = git(repo.root, "commit-tree", "-p", "main", "-m", "rival", "main^{tree}")
    swap = repository.set_ref

    def late(repo: Repository, ref: str, new: str, *, old: str | None = None) -> None:
        git(repo.root, "update-ref", "refs/heads/main", rival)
        swap(repo, ref, new, old=old)

    monkeypatch.setattr(merges, "set_ref", late)
    with pytest.raises(Conflict, match="moved"):
        merges.apply(repo, chosen)
    assert git(repo.root, "rev-parse", "main") == rival
    assert snapshot(repo.root) == before
    assert git(repo.root, "status", "--porcelain") == ""


class Killed(BaseException):
    """Stands for kill -9: nothing of ours that runs on the way out may matter."""


@pytest.mark.parametrize("moment", ["before the swap", "before the index", "before anything"])
def test_a_merge_killed_between_its_steps_is_completed(
    repo: Repository, ws: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    work(ws, "new.txt")
    work(ws, "readme.txt", "changed\n")
    chosen = plan(repo)

    def die(*_: object, **__: object) -> None:
        raise Killed

    guard = Path(repo.git_dir) / "index.lock"
    with monkeypatch.context() as patch:
        # A killed process unlinks nothing.
        patch.setattr("windlass.git.index_lock.release", lambda _: None)
        if moment == "before the swap":
            patch.setattr(merges, "set_ref", die)
        if moment == "before the index":
            patch.setattr("windlass.git.checkout.Follower._publish", die)
        if moment == "before anything":
            patch.setattr("windlass.git.checkout.Follower._read_tree", die)
        with pytest.raises(Killed):
            merges.apply(repo, chosen)
    assert guard.exists()
    assert git(repo.root, "rev-parse", "main") == chosen.old

    merges.apply(repo, chosen)
    assert git(repo.root, "rev-parse", "main") == chosen.new
    assert git(repo.root, "status", "--porcelain") == ""
    assert (Path(repo.root) / "readme.txt").read_text() == "changed\n"
    assert not guard.exists()


@pytest.mark.parametrize("left", ["missing", "cut short", "whole"])
def test_files_that_a_killed_git_left_half_written_are_mended(
    repo: Repository, ws: Path, left: str
) -> None:
    work(ws, "readme.txt", "a long new text\n")
    work(ws, "src/one.py", "new one\n")
    chosen = plan(repo)
    (Path(repo.git_dir) / "index.lock").write_text(f"windlass {chosen.new}\n")
    target = Path(repo.root) / "readme.txt"
    target.unlink()
    if left != "missing":
        target.write_text("a long new text\n" if left == "whole" else "a lon")
    merges.apply(repo, chosen)
    assert target.read_text() == "a long new text\n"
    assert git(repo.root, "status", "--porcelain") == ""


def test_an_edit_made_after_a_killed_merge_is_not_taken_for_its_rest(
    repo: Repository, ws: Path
) -> None:
    work(ws, "readme.txt", "new\n")
    chosen = plan(repo)
    (Path(repo.git_dir) / "index.lock").write_text(f"windlass {chosen.new}\n")
    (Path(repo.root) / "readme.txt").write_text("mine, made later\n")
    with pytest.raises(Conflict, match="in the way"):
        merges.apply(repo, chosen)
    assert (Path(repo.root) / "readme.txt").read_text() == "mine, made later\n"


def test_a_git_at_work_in_the_checkout_is_respected(repo: Repository, ws: Path) -> None:
    work(ws, "new.txt")
    guard = Path(repo.git_dir) / "index.lock"
    guard.write_bytes(b"")
    with pytest.raises(Conflict, match="another git"):
        merges.apply(repo, plan(repo))
    assert guard.exists()


def test_a_ref_that_moved_without_its_checkout_is_followed_later(
    repo: Repository, ws: Path
) -> None:
    work(ws, "new.txt")
    chosen = plan(repo)
    git(repo.root, "update-ref", "refs/heads/main", chosen.new)
    assert git(repo.root, "status", "--porcelain") == "D  new.txt"
    merges.apply(repo, chosen)
    assert git(repo.root, "status", "--porcelain") == ""


def test_the_next_commit_after_a_merge_reverts_nothing(repo: Repository, ws: Path) -> None:
    work(ws, "new.txt")
    merges.apply(repo, plan(repo))
    (Path(repo.root) / "readme.txt").write_text("mine\n")
    git(repo.root, "commit", "-q", "-a", "-m", "mine")
    assert git(repo.root, "show", "HEAD:new.txt") == "work"


def test_custom_merge_drivers_do_not_run(repo: Repository, ws: Path, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    work(repo.root, ".gitattributes", "*.txt merge=evil\n")
    git(ws, "merge", "-q", "main")
    git(repo.root, "config", "merge.evil.driver", f"touch {marker}; false")
    (ws / "readme.txt").write_text("hello\nagent\n")
    git(ws, "commit", "-q", "-a", "-m", "agent")
    (Path(repo.root) / "readme.txt").write_text("first\nhello\n")
    git(repo.root, "commit", "-q", "-a", "-m", "user")
    seen = merges.check(repo, source="agent/a1", target="main")
    assert not marker.exists()
    assert seen.clean, "git's own text merge takes its place"
    subprocess.run(["git", "merge", "agent/a1"], cwd=repo.root, check=False, capture_output=True)
    assert marker.exists(), "plain git runs it, so this test can fail"


def test_attributes_of_the_target_say_how_its_paths_are_merged(repo: Repository, ws: Path) -> None:
    """As `git merge` in a checkout of the target; what the merged branch says is not asked."""
    root = Path(repo.root)
    numbers = "".join(f"{number}\n" for number in range(30))
    work(root, "CHANGES", "first\n")
    work(root, "deep/lock", numbers)
    work(root, "deep/free", numbers)
    work(root, ".gitattributes", "CHANGES merge=union\n")
    work(root, "deep/.gitattributes", "lock -merge\n")
    git(ws, "merge", "-q", "main")
    for where, line, added in ((ws, "0\n", "one\n"), (root, "29\n", "two\n")):
        (Path(where) / "CHANGES").write_text("first\n" + added)
        for name in ("lock", "free"):
            (Path(where) / "deep" / name).write_text(numbers.replace(line, f"{line}{added}", 1))
        git(where, "commit", "-q", "-a", "-m", "more")
    work(ws, ".gitattributes", "deep/free -merge\n")
    tree, conflicts = merges.merge_trees(repo, ours="main", theirs="agent/a1")
    git(root, "merge", "-q", "agent/a1", ok=1)
    assert conflicts == git(root, "diff", "--name-only", "--diff-filter=U").splitlines()
    assert conflicts == ["deep/lock"]
    for name in ("CHANGES", "deep/free"):
        assert git(root, "show", f"{tree}:{name}") == (root / name).read_text().rstrip("\n")


def test_attributes_without_end_are_no_reason_to_fill_the_disk(repo: Repository, ws: Path) -> None:
    large = git(repo.root, "hash-object", "-w", "--stdin", stdin=b"# attributes\n" * 100_000)
    names = "".join(f"100644 {large}\t{number}/.gitattributes\n" for number in range(60))
    git(repo.root, "update-index", "--index-info", stdin=names.encode())
    git(repo.root, "commit", "-q", "-m", "many")
    work(ws, "new.txt")
    with pytest.raises(GitError, match=r"MiB of \.gitattributes"):
        merges.check(repo, source="agent/a1", target="main")


def test_a_merge_into_a_parent_workspace_obeys_nothing_in_it(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    parent = tmp_path / "ws" / "p1"
    workspaces.create(repo, path=str(parent), branch="agent/p1", base="main", agent="p1")
    marker = tmp_path / "marker"
    admin = Path(git(parent, "rev-parse", "--absolute-git-dir"))
    git(repo.root, "config", "extensions.worktreeConfig", "true")
    (admin / "config.worktree").write_text(
        f'[core]\n\tfsmonitor = "touch {marker}; false"\n[filter "f"]\n\tsmudge = touch {marker}\n'
    )
    (parent / ".gitattributes").write_text("* filter=f\n")
    work(ws, "new.txt")
    marker.unlink(missing_ok=True)
    merges.apply(repo, plan(repo, "agent/p1"))
    assert (parent / "new.txt").read_text() == "work\n"
    assert not marker.exists()
    (parent / "new.txt").unlink()
    git(parent, "checkout", "--", "new.txt")
    assert marker.exists(), "plain git runs it, so this test can fail"


FAILING = textwrap.dedent("""
    import resource, signal, sys
    from windlass.core.errors import GitError
    from windlass.git import merges, repository
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
    repo = repository.discover(sys.argv[1])
    plan = merges.prepare(
        repo, source="agent/a1", target_branch="main", message="Merge a1\\n",
        author=("Ann Own", "ann@example.org"), time=1_700_000_000,
    )
    try:
        merges.apply(repo, plan)
    except GitError as error:
        print(error.hint)
        sys.exit(9)
""")


def fails_to_apply(repo: Repository, *, largest: int) -> str:
    """Has a merge fail at the first file that is larger; returns what is said of it."""
    done = subprocess.run(
        [sys.executable, "-c", FAILING, repo.root, str(largest)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 9, done.stderr
    return done.stdout


def test_a_disk_that_fills_during_the_move_leaves_the_checkout_as_it_was(
    repo: Repository, ws: Path
) -> None:
    """Git dies after it has moved some files; a person has no use for half of a merge."""
    git(ws, "rm", "-q", "src/one.py")
    work(ws, "a-first.txt", "small\n")
    work(ws, "b/new/deep.txt", "small\n")
    work(ws, "readme.txt", "changed\n")
    work(ws, "z-large.bin", "large\n" * 50_000)
    chosen = plan(repo)
    before = snapshot(repo.root)
    assert "the checkout is as it was" in fails_to_apply(repo, largest=100_000)
    assert snapshot(repo.root) == before
    assert git(repo.root, "status", "--porcelain") == ""
    assert not (Path(repo.git_dir) / "index.lock").exists()
    assert git(repo.root, "rev-parse", "main") == chosen.old

    merges.rehearse(repo, chosen)
    merges.apply(repo, chosen)
    assert git(repo.root, "rev-parse", "main") == chosen.new
    assert git(repo.root, "status", "--porcelain") == ""
    assert (Path(repo.root) / "z-large.bin").stat().st_size == 300_000


def test_a_disk_without_room_for_the_old_files_either_is_completed_later(
    repo: Repository, ws: Path
) -> None:
    work(repo.root, "a-large.bin", "old\n" * 50_000)
    git(ws, "merge", "-q", "main")
    work(ws, "a-large.bin", "new\n" * 40_000)
    work(ws, "new.txt")
    chosen = plan(repo)
    assert "next try puts the checkout right" in fails_to_apply(repo, largest=100_000)
    assert git(repo.root, "rev-parse", "main") == chosen.old

    merges.rehearse(repo, chosen)
    merges.apply(repo, chosen)
    assert git(repo.root, "rev-parse", "main") == chosen.new
    assert git(repo.root, "status", "--porcelain") == ""
    assert (Path(repo.root) / "a-large.bin").read_text() == "new\n" * 40_000


def test_a_tip_from_both_sides_of_a_merge_is_compared_with_what_both_are_together(
    repo: Repository, ws: Path
) -> None:
    """It leaves out what one side did: to the other side nothing of that is different."""
    root = Path(repo.root)
    work(ws, "landed.txt")
    fix = work(root, "fix.txt")
    plan_of_a1 = plan(repo)
    merges.apply(repo, plan_of_a1)
    side = plan_of_a1.tip
    for kept, left_out in ((side, "fix.txt"), (fix, "landed.txt")):
        words = ("commit-tree", "-p", fix, "-p", side, "-m", "mine", f"{kept}^{{tree}}")
        tip = git(root, *words)
        base = merges.compared_with(repo, tip=tip, target=plan_of_a1.new)
        assert base is not None
        assert git(root, "diff", "--name-status", base, tip) == f"D\t{left_out}"
        git(root, "branch", "-f", "agent/evil", tip)
        taken = merges.prepare(
            repo, source="agent/evil", target_branch="main", message="m", author=WHO, time=1
        )
        assert git(root, "diff", "--name-status", taken.old, taken.new) == f"D\t{left_out}"


def test_a_tip_from_sides_that_conflict_is_compared_with_the_target(
    repo: Repository, ws: Path
) -> None:
    root = Path(repo.root)
    side, main = work(ws, "same.txt", "theirs\n"), work(root, "same.txt", "ours\n")
    words = ("commit-tree", "-p", main, "-p", side, "-m", "solved", f"{main}^{{tree}}")
    target = git(root, *words)
    tip = git(root, *words[:-2], "mine", f"{side}^{{tree}}")
    assert merges.compared_with(repo, tip=tip, target=target) == target


def test_what_shares_no_history_is_compared_with_nothing(repo: Repository) -> None:
    alone = git(repo.root, "commit-tree", "-m", "alone", "HEAD^{tree}")
    head = git(repo.root, "rev-parse", "HEAD")
    assert merges.compared_with(repo, tip=alone, target=head) is None


def test_edits_and_moves_by_thousands_do_not_hold_up_a_merge(repo: Repository) -> None:
    """Git would compare each with each while nothing else lands: these are not taken for moves."""
    many = range(2100)
    old = {f"old/{number}": [f"{number} {line}\n" for line in range(8)] for number in many}
    moved = {f"new/{n}": [*old[f"old/{n}"][:6], *[f"more {n} {k}\n" for k in (1, 2)]] for n in many}
    edited = {name: ["edited\n", *lines] for name, lines in old.items()}
    sides = {"base": (old, ""), "moved": (moved, "base"), "edited": (edited, "base")}
    for branch, (files, parent) in sides.items():
        told = [f"commit refs/heads/{branch}\ncommitter A <a@b> 0 +0000\ndata 0\n"]
        told.append(f"from refs/heads/{parent}\n" if parent else "")
        told.append("deleteall\n")
        for name, lines in files.items():
            text = "".join(lines)
            told.append(f"M 100644 inline {name}\ndata {len(text)}\n{text}\n")
        words = ["git", "fast-import", "--quiet"]
        subprocess.run(words, cwd=repo.root, input="".join(told), text=True, check=True)
    _, conflicts = merges.merge_trees(repo, ours="edited", theirs="moved")
    assert len(conflicts) == len(many)
