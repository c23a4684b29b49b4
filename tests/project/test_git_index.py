"""What git tracks is read from its index as git itself would say it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from windlass.project import git_index

NAMES = ("a", "a.b/c", "a/b/c", "a/b/cc", "a/bb", "long/" + "x" * 5000, "\udcff odd\n", "z")


def git(cwd: Path, *words: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(["git", *who, *words], cwd=cwd, env=env, check=True, capture_output=True)


def tree(tmp_path: Path, *, ids: str = "sha1", version: int = 2) -> Path:
    top = tmp_path / "tree"
    top.mkdir()
    git(top, "init", "-q", f"--object-format={ids}")
    if version == 3:
        (top / "promised").write_text("")
        git(top, "add", "--intent-to-add", "promised")
    blob = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=top, input=b"", capture_output=True, check=True
    ).stdout.decode()
    listed = "".join(f"100644 {blob.strip()}\t{name}\0" for name in (*NAMES[1:], "a.a"))
    subprocess.run(
        ["git", "update-index", "-z", "--add", "--index-info"],
        cwd=top, input=os.fsencode(listed), check=True,
    )  # fmt: skip
    git(top, "update-index", "--index-version", str(max(version, 2)))
    for name in ("a.b", "a/b", "long"):
        (top / name).mkdir(parents=True)
    return top


@pytest.mark.parametrize("ids", ["sha1", "sha256"])
@pytest.mark.parametrize("version", [2, 3, 4])
def test_every_file_of_an_index_is_tracked_and_no_other(
    tmp_path: Path, ids: str, version: int
) -> None:
    top = tree(tmp_path, ids=ids, version=version)
    assert (top / ".git/index").read_bytes()[7] == version
    assert all(git_index.tracks(str(top / name)) for name in NAMES[1:])
    assert not any(git_index.tracks(str(top / name)) for name in ("a/b/c.", "b", "a.b/cc", "a/b"))
    (top / "link").symlink_to(top / "a")
    assert git_index.tracks(str(top / "link" / "bb"))


def test_a_linked_work_tree_has_an_index_of_its_own(tmp_path: Path) -> None:
    top = tree(tmp_path)
    git(top, "commit", "-q", "-m", "one")
    git(top, "worktree", "add", "-q", "--no-checkout", "../other")
    git(tmp_path / "other", "read-tree", "HEAD")
    (tmp_path / "other" / "more").write_text("")
    assert git_index.tracks(str(tmp_path / "other" / "a" / "bb"))
    git(tmp_path / "other", "add", "more")
    assert git_index.tracks(str(tmp_path / "other" / "more"))
    assert not git_index.tracks(str(top / "more"))


def test_nothing_is_tracked_where_there_is_no_work_tree_or_nothing_was_added(
    tmp_path: Path,
) -> None:
    assert not git_index.tracks(str(tmp_path / "file"))
    git(tmp_path, "init", "-q")
    assert not git_index.tracks(str(tmp_path / "file"))


@pytest.mark.parametrize("harm", ["cut", "more", "another version", "shared", "a folder"])
def test_of_an_index_that_cannot_be_read_everything_may_be_tracked(
    tmp_path: Path, harm: str
) -> None:
    top = tree(tmp_path)
    index = top / ".git/index"
    held = index.read_bytes()
    if harm == "shared":
        git(top, "update-index", "--split-index")
    elif harm == "a folder":
        index.unlink()
        index.mkdir()
    else:
        spoiled = {
            "cut": held[:-30],
            "more": held + b"more",
            "another version": held[:7] + b"\5" + held[8:],
        }
        index.write_bytes(spoiled[harm])
    assert git_index.tracks(str(top / "nothing"))
