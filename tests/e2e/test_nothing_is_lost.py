"""The second promise, end to end: whatever an agent left behind comes back as it was."""

from __future__ import annotations

import hashlib
import os
import random
from pathlib import Path

import pytest
from tests.git.whole_workspaces import build, everything, without
from tests.support.ground import Ground

from windlass.git.manifest import Dropped

pytestmark = pytest.mark.slow

STAY = {"text": "WAITING"}


def make_a_mess(ground: Ground, workspace: Path) -> None:
    """Every kind of work that is in no commit of the branch."""

    def git(*args: str, cwd: Path = workspace) -> None:
        ground.git(*args, cwd=cwd)

    (workspace / "tracked.txt").write_text("one\n")
    (workspace / "gone.txt").write_text("to be deleted\n")
    git("add", ".")
    git("commit", "-qm", "a commit of its own")
    (workspace / "stashed.txt").write_text("in the stash\n")
    git("stash", "push", "-q", "-u", "-m", "half done")
    (workspace / "staged.txt").write_text("staged\n")
    git("add", "staged.txt")
    (workspace / "both.txt").write_text("staged version\n")
    git("add", "both.txt")
    (workspace / "both.txt").write_text("version in the tree\n")
    (workspace / "tracked.txt").write_text("two\n")
    (workspace / "gone.txt").unlink()
    (workspace / "untracked.txt").write_text("untracked\n")
    (workspace / "with space\nand newline \x1b[31m.txt").write_text("odd\n")
    (workspace / "run.sh").write_text("#!/bin/sh\n")
    (workspace / "run.sh").chmod(0o755)
    (workspace / "link").symlink_to("tracked.txt")
    (workspace / "empty").mkdir()
    nested = workspace / "nested"
    nested.mkdir()
    git("init", "-q", "-b", "main", cwd=nested)
    (nested / "inner.txt").write_text("committed inside\n")
    git("add", ".", cwd=nested)
    git("commit", "-qm", "inside", cwd=nested)
    (nested / "inner.txt").write_text("changed inside\n")
    hollow = workspace / "hollow"
    hollow.mkdir()
    git("init", "-q", cwd=hollow)


def picture(ground: Ground, workspace: Path) -> dict[str, object]:
    """Everything that a restore has to give back."""
    files = {}
    for path in sorted(workspace.rglob("*")):
        name = str(path.relative_to(workspace))
        if ".git" in Path(name).parts:
            continue
        if path.is_symlink():
            files[name] = f"link to {path.readlink()}"
        elif path.is_dir():
            files[name] = "folder"
        else:
            mode = "x" if path.stat().st_mode & 0o100 else "-"
            files[name] = mode + hashlib.sha256(path.read_bytes()).hexdigest()
    nested = workspace / "nested"
    return {
        "files": files,
        "status": ground.git("status", "--porcelain", "-z", cwd=workspace),
        "index": ground.git("ls-files", "--stage", cwd=workspace),
        "head": ground.git("rev-parse", "HEAD", cwd=workspace),
        "branch": ground.git("symbolic-ref", "HEAD", cwd=workspace),
        "stashes": ground.git("stash", "list", "--format=%H %gs", cwd=workspace),
        "nested head": ground.git("rev-parse", "HEAD", cwd=nested),
        "nested status": ground.git("status", "--porcelain", cwd=nested),
        "hollow": ground.git("rev-parse", "--git-dir", cwd=workspace / "hollow"),
    }


@pytest.mark.parametrize("way", ["trash", "undo"])
def test_everything_comes_back(ground: Ground, way: str) -> None:
    workspace = ground.new("a1", STAY)
    ground.wait("a1", states="waiting")
    make_a_mess(ground, workspace)
    before = picture(ground, workspace)
    ground.wl("kill", "a1", "--force").ok()
    assert not workspace.exists()
    ground.git("gc", "--prune=now", "-q")
    if way == "trash":
        (entry,) = ground.wl("trash", "list", "--json").ok().json()
        back = ground.wl("trash", "restore", entry["id"], "--json").ok().json()
        assert back["restored"][0]["workspace"] == str(workspace)
    else:
        ground.wl("undo").ok()
    assert picture(ground, workspace) == before
    (agent,) = ground.agents()
    assert (agent["id"], agent["state"]) == ("a1", "stopped")
    ground.wl("resume", "a1").ok()
    ground.wait("a1", states="waiting")


@pytest.mark.parametrize("level", ["hooks", "box"])
def test_every_property_of_files_and_of_git_comes_back_or_is_listed(
    ground: Ground, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    monkeypatch.setenv("HOME", ground.env["HOME"])
    workspace = ground.new("a1", STAY, flags=("--isolation", level))
    ground.wait("a1", states="waiting")
    (workspace / "src").mkdir()
    (workspace / "src" / "one.py").write_text("one = 1\n")
    (workspace / "run.sh").write_text("#!/bin/sh\n")
    ground.git("add", ".", cwd=workspace)
    ground.git("commit", "-qm", "work", cwd=workspace)
    dice = random.Random(11)  # noqa: S311 - the same each time
    build(workspace, ground.folder / "theirs", dice, head="unborn")
    before = everything(workspace, branch="agent/a1")

    (ended,) = ground.wl("kill", "a1", "--force", "--json").ok().json()["ended"]
    ground.git("gc", "--prune=now", "-q")
    ground.wl("undo").ok()
    shown = ground.wl("trash", "show", ended["trash"]["id"], "--json").ok().json()
    listed = [Dropped(**drop) for drop in shown["contents"]["dropped"]]
    assert ended["trash"]["summary"]["dropped"] == sum(drop.files for drop in listed) > 0
    assert everything(workspace, branch="agent/a1") == without(before, listed, base="")


def test_a_stash_that_somebody_dropped_meanwhile_comes_back_too(ground: Ground) -> None:
    ground.unbox()  # worktrees have their stashes in common
    workspace = ground.new("a1", STAY)
    ground.wait("a1", states="waiting")
    make_a_mess(ground, workspace)
    before = picture(ground, workspace)
    ground.wl("kill", "a1", "--force").ok()
    ground.git("stash", "drop", "-q")
    ground.git("gc", "--prune=now", "-q")
    ground.wl("undo").ok()
    assert picture(ground, workspace)["stashes"] == before["stashes"]


def test_restoring_the_same_entry_twice_overwrites_nothing(ground: Ground) -> None:
    workspace = ground.new("a1", STAY)
    ground.wait("a1", states="waiting")
    (workspace / "mine.txt").write_text("first\n")
    ground.wl("kill", "a1", "--force").ok()
    (entry,) = ground.wl("trash", "list", "--json").ok().json()
    ground.wl("trash", "restore", entry["id"]).ok()
    (workspace / "mine.txt").write_text("second\n")
    again = ground.wl("trash", "restore", entry["id"], "--json").ok().json()["restored"][0]
    assert again["id"] == "a1-2"
    assert (workspace / "mine.txt").read_text() == "second\n"
    assert (Path(again["workspace"]) / "mine.txt").read_text() == "first\n"
    ground.wl("trash", "restore", entry["id"], "--name", "third").ok()
    assert len(ground.agents()) == 3


def test_a_hundred_megabytes_that_nobody_committed_come_back(ground: Ground) -> None:
    workspace = ground.new("a1", STAY)
    ground.wait("a1", states="waiting")
    big = workspace / "big.bin"
    with big.open("wb") as file:
        for _ in range(100):
            file.write(os.urandom(1 << 20))
    before = hashlib.sha256(big.read_bytes()).hexdigest()
    ground.wl("kill", "a1", "--force").ok()
    ground.wl("undo").ok()
    assert hashlib.sha256(big.read_bytes()).hexdigest() == before


def test_the_archive_has_what_an_ended_agent_printed_said_and_was(ground: Ground) -> None:
    ground.new("a1")
    ground.wait("a1")
    ground.wl("note", "--agent", "a1", "remember this").ok()
    ground.wl("kill", "a1", "--force").ok()
    (listed,) = ground.wl("archive", "list", "--json").ok().json()
    assert (listed["agent"], listed["how"]) == ("a1", "kill")
    shown = ground.wl("archive", "show", "a1", "--json").ok().json()
    folder = Path(shown["path"])
    assert "remember this" in (folder / "events.jsonl").read_text()
    assert '"id": "a1"' in (folder / "agent.json").read_text()
    assert any(name.endswith("screen.log") for name in shown["files"])
    assert any("projects/" in name for name in shown["files"]), "the conversation"
    assert any("settings" in name for name in shown["files"])


def test_emptying_the_trash_asks_and_is_for_people(ground: Ground) -> None:
    ground.new("a1", STAY)
    ground.wl("kill", "a1", "--force").ok()
    ground.wl("trash", "empty").failed(2)
    assert ground.wl("trash", "empty", "--older-than", "1d", "--force", "--json").ok().json() == {
        "emptied": []
    }
    assert len(ground.wl("trash", "empty", "--force", "--json").ok().json()["emptied"]) == 1
    assert ground.wl("trash", "list", "--json").ok().json() == []
