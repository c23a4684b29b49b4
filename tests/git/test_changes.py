from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.git.conftest import Snapshot, git, snapshot
from tests.git.differences import difference, materialise

from windlass.git import changes, mirror, workspaces
from windlass.git.repository import Repository


def busy(ws: Path) -> None:
    """Committed, staged, unstaged, untracked and deleted work, and a nested repository."""
    (ws / "committed").write_text("c\n")
    git(ws, "add", "committed")
    git(ws, "commit", "-q", "-m", "c")
    (ws / "staged").write_text("s\n")
    git(ws, "add", "staged")
    (ws / "readme.txt").write_text("edited\n")
    (ws / "un\ntracked").write_text("u\n")
    (ws / "ignored.log").write_text("i\n")
    (ws / "src/two.py").unlink()
    (ws / "outside").symlink_to("/etc/passwd")
    git(ws, "init", "-q", "nested")


def folders(repo: Repository, path: Path, into: Path) -> dict[str, Snapshot]:
    """What is in each side of each part."""
    return {side: snapshot(into / side) for side in materialise(repo, path, into)}


def test_the_difference_holds_all_that_was_done_in_two_parts(repo: Repository, ws: Path) -> None:
    busy(ws)
    shown = difference(repo, ws)
    assert b"+++ b/committed\n" in shown.committed
    assert shown.committed.count(b"diff --git") == 1
    patch = shown.uncommitted.decode()
    assert "-hello\n+edited\n" in patch
    assert 'b/un\\ntracked"' in patch
    assert "b/staged" in patch
    assert "ignored.log" not in patch
    counted = difference(repo, ws, stat=True)
    assert b"1 file changed" in counted.committed
    assert b"5 files changed" in counted.uncommitted


def test_asking_for_the_difference_leaves_no_object_and_no_change(
    repo: Repository, ws: Path
) -> None:
    busy(ws)
    before = snapshot(ws)
    status = git(ws, "status", "--porcelain", "-z")
    objects = git(repo.root, "count-objects", "-v")
    difference(repo, ws)
    assert snapshot(ws) == before
    assert git(ws, "status", "--porcelain", "-z") == status
    assert git(repo.root, "count-objects", "-v") == objects


def test_a_conflicted_workspace_has_a_difference_too(repo: Repository, ws: Path) -> None:
    git(ws, "checkout", "-q", "-b", "other")
    (ws / "readme.txt").write_text("other\n")
    git(ws, "commit", "-q", "-a", "-m", "other")
    git(ws, "checkout", "-q", "agent/a1")
    (ws / "readme.txt").write_text("mine\n")
    git(ws, "commit", "-q", "-a", "-m", "mine")
    git(ws, "merge", "-q", "other", ok=1)
    assert b"<<<<<<<" in difference(repo, ws).uncommitted


def test_a_workspace_deleted_by_hand_still_has_its_commits(repo: Repository, ws: Path) -> None:
    (ws / "committed").write_text("c\n")
    git(ws, "add", "committed")
    git(ws, "commit", "-q", "-m", "c")
    ws.rename(ws.parent / "moved")
    assert b"+++ b/committed\n" in difference(repo, ws).committed
    assert difference(repo, ws).uncommitted == b""


def test_plain_folders_hold_before_and_after(repo: Repository, ws: Path, tmp_path: Path) -> None:
    busy(ws)
    sides = folders(repo, ws, tmp_path / "d")
    assert (sides["committed/before"], set(sides["committed/after"])) == ({}, {b"committed"})
    before, after = sides["uncommitted/before"], sides["uncommitted/after"]
    assert before[b"readme.txt"][2] == b"hello\n"
    assert after[b"readme.txt"][2] == b"edited\n"
    assert set(before) == {b"readme.txt", b"src", b"src/two.py"}
    assert b"src/two.py" not in after
    assert after[b"outside"] == ("file", 0o644 & ~_umask(), b"/etc/passwd"), "a link is text here"


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_what_a_change_touches_is_listed_under_every_name(repo: Repository, ws: Path) -> None:
    """A protected file that was moved away or replaced was touched as well."""
    odd = os.fsdecode(b"odd\xff\n")
    (ws / odd).write_text("x\n")
    (ws / "run.sh").chmod(0o644)
    git(ws, "mv", "readme.txt", "moved.txt")
    (ws / "link").unlink()
    (ws / "link").write_text("no link\n")
    git(ws, "add", "-A")
    git(ws, "-c", "advice.addEmbeddedRepo=false", "commit", "-q", "-m", "all")
    assert changes.touched(repo, "main", "agent/a1") == [
        "link",
        "moved.txt",
        odd,
        "readme.txt",
        "run.sh",
    ]
    assert changes.touched(repo, "main", "main") == []


@pytest.mark.parametrize("mark", ["--assume-unchanged", "--skip-worktree"])
def test_what_an_index_says_not_to_look_at_is_looked_at(
    repo: Repository, ws: Path, mark: str
) -> None:
    git(ws, "update-index", mark, "readme.txt", "src/two.py")
    (ws / "readme.txt").write_text("edited\n")
    shown = difference(repo, ws).uncommitted
    assert b"-hello\n+edited\n" in shown
    assert shown.count(b"diff --git") == 1


def test_what_a_sparse_checkout_leaves_out_is_not_deleted(repo: Repository, ws: Path) -> None:
    git(ws, "update-index", "--skip-worktree", "src/two.py")
    (ws / "src/two.py").unlink()
    assert difference(repo, ws).uncommitted == b""


def test_a_clone_is_compared_by_what_its_agent_can_see_and_nothing_else(
    repo: Repository, tmp_path: Path
) -> None:
    """An agent that heard of an object's id, of a stash say, must not read it by naming it."""
    clone, origin = tmp_path / "ws" / "a1", str(tmp_path / "mirror")
    mirror.refresh(repo, origin)
    workspaces.create(
        repo, path=str(clone), branch="agent/a1", base="main", agent="a1", origin=origin
    )
    (clone / "mine").write_text("mine\n")
    assert b"+mine" in difference(repo, clone).uncommitted
    secret = git(repo.root, "hash-object", "-w", "--stdin", stdin=b"secret\n")
    (clone / "theirs").write_text("nothing\n")
    git(clone, "add", "theirs")
    git(clone, "update-index", "--cacheinfo", f"100644,{secret},theirs")
    git(clone, "update-index", "--assume-unchanged", "theirs")
    shown = difference(repo, clone).uncommitted
    assert b"+nothing" in shown
    assert b"secret" not in shown


def test_a_vanished_clone_differs_by_what_its_branch_has(repo: Repository, tmp_path: Path) -> None:
    """Nothing of it is left to read, which is no deletion of every file."""
    git(repo.root, "branch", "agent/a1", "main")
    git(repo.root, "switch", "-q", "agent/a1")
    (Path(repo.root) / "committed").write_text("c\n")
    git(repo.root, "add", "committed")
    git(repo.root, "commit", "-q", "-m", "c")
    git(repo.root, "switch", "-q", "main")
    shown = difference(repo, tmp_path / "gone")
    assert b"b/committed" in shown.committed
    assert b"readme.txt" not in shown.committed
    assert shown.uncommitted == b""
    sides = folders(repo, tmp_path / "gone", tmp_path / "two")
    assert {name: set(files) for name, files in sides.items()} == {
        "committed/before": set(),
        "committed/after": {b"committed"},
    }


@pytest.mark.parametrize("said", ["*.txt -diff\n", "* binary\n", "*.txt diff=evil\n"])
def test_no_attribute_hides_what_is_not_committed(repo: Repository, ws: Path, said: str) -> None:
    """Whoever could choose what is shown as text would choose what a person reads."""
    git(repo.root, "config", "diff.evil.binary", "true")
    (ws / ".gitattributes").write_text(said)
    (ws / "readme.txt").write_text("evil\n")
    (ws / "new.txt").write_text("new evil\n")
    assert difference(repo, ws).committed == b""
    patch = difference(repo, ws).uncommitted
    assert b"+evil\n" in patch
    assert b"+new evil\n" in patch
    assert b"Bin" not in difference(repo, ws, stat=True).uncommitted


def test_no_attribute_hides_what_is_committed(repo: Repository, ws: Path) -> None:
    """Also not one that has landed, and lies in the person's checkout by now."""
    Path(repo.root, ".gitattributes").write_text("*.txt -diff\n")
    git(repo.root, "add", ".gitattributes")
    git(repo.root, "commit", "-q", "-m", "landed")
    git(ws, "merge", "-q", "main")
    (ws / "readme.txt").write_text("evil\n")
    git(ws, "commit", "-q", "-a", "-m", "work")
    base, tip = git(ws, "rev-parse", "main", "agent/a1").split()
    assert b"+evil\n" in difference(repo, ws).committed
    assert b"+evil\n" in changes.between(repo, base=base, tip=tip, stat=False)


def test_what_is_no_text_is_not_shown_as_text(repo: Repository, ws: Path) -> None:
    (ws / ".gitattributes").write_text("* diff\n")
    (ws / "picture.txt").write_bytes(b"\0\1\2" * 1000)
    patch = difference(repo, ws).uncommitted
    assert b"Binary files /dev/null and b/picture.txt differ" in patch
