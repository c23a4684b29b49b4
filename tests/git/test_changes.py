from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.git.conftest import git, snapshot

from windlass.core.errors import GitError
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


def test_the_difference_holds_all_that_was_done(repo: Repository, ws: Path) -> None:
    busy(ws)
    names = workspaces.changed(repo, str(ws), "main")
    assert names == ["committed", "outside", "readme.txt", "src/two.py", "staged", "un\ntracked"]
    patch = workspaces.diff(repo, str(ws), "main", stat=False, color=False).decode()
    assert "-hello\n+edited\n" in patch
    assert 'b/un\\ntracked"' in patch
    assert "ignored.log" not in patch
    assert (
        "6 files changed" in workspaces.diff(repo, str(ws), "main", stat=True, color=False).decode()
    )
    assert b"\x1b[" in workspaces.diff(repo, str(ws), "main", stat=False, color=True)


def test_asking_for_the_difference_leaves_no_object_and_no_change(
    repo: Repository, ws: Path
) -> None:
    busy(ws)
    before = snapshot(ws)
    status = git(ws, "status", "--porcelain", "-z")
    objects = git(repo.root, "count-objects", "-v")
    workspaces.diff(repo, str(ws), "main", stat=False, color=False)
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
    assert b"<<<<<<<" in workspaces.diff(repo, str(ws), "main", stat=False, color=False)


def test_a_workspace_deleted_by_hand_still_has_its_commits(repo: Repository, ws: Path) -> None:
    (ws / "committed").write_text("c\n")
    git(ws, "add", "committed")
    git(ws, "commit", "-q", "-m", "c")
    ws.rename(ws.parent / "moved")
    assert workspaces.changed(repo, str(ws), "main") == ["committed"]


def test_two_plain_folders_hold_before_and_after(
    repo: Repository, ws: Path, tmp_path: Path
) -> None:
    busy(ws)
    workspaces.materialise(repo, str(ws), "main", str(tmp_path / "d"))
    before, after = snapshot(tmp_path / "d/before"), snapshot(tmp_path / "d/after")
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


def test_a_clone_is_compared_by_what_its_agent_can_see_and_nothing_else(
    repo: Repository, tmp_path: Path
) -> None:
    """An agent that heard of an object's id, of a stash say, must not read it by naming it."""
    clone, origin = tmp_path / "ws" / "c1", str(tmp_path / "mirror")
    mirror.refresh(repo, origin)
    workspaces.create(
        repo, path=str(clone), branch="agent/c1", base="main", agent="c1", origin=origin
    )
    (clone / "mine").write_text("mine\n")
    assert b"+mine" in workspaces.diff(repo, str(clone), "main", stat=False, color=False)
    secret = git(repo.root, "hash-object", "-w", "--stdin", stdin=b"secret\n")
    (clone / "theirs").write_text("nothing\n")
    git(clone, "add", "theirs")
    git(clone, "update-index", "--cacheinfo", f"100644,{secret},theirs")
    git(clone, "update-index", "--assume-unchanged", "theirs")
    with pytest.raises(GitError):
        workspaces.diff(repo, str(clone), "main", stat=False, color=False)


def test_a_vanished_clone_differs_by_what_its_branch_has(repo: Repository, tmp_path: Path) -> None:
    """Nothing of it is left to read, which is no deletion of every file."""
    git(repo.root, "branch", "agent/c1", "main")
    git(repo.root, "switch", "-q", "agent/c1")
    (Path(repo.root) / "committed").write_text("c\n")
    git(repo.root, "add", "committed")
    git(repo.root, "commit", "-q", "-m", "c")
    git(repo.root, "switch", "-q", "main")
    gone = str(tmp_path / "gone")
    patch = changes.diff(repo, gone, "main", stat=False, color=False, otherwise="agent/c1")
    assert b"b/committed" in patch
    assert b"readme.txt" not in patch
    changes.materialise(repo, gone, "main", str(tmp_path / "two"), otherwise="agent/c1")
    assert [path.name for path in (tmp_path / "two").rglob("*") if path.is_file()] == ["committed"]
