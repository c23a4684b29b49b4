"""Undo brings back what can be, passes over what cannot, and is not used up by a failure."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.support.ground import Ground

pytestmark = pytest.mark.slow

STAY = {"text": "WAITING"}


def names(ground: Ground) -> list[str]:
    return sorted(one["id"] for one in ground.agents())


def test_an_undo_that_failed_can_be_tried_again(ground: Ground) -> None:
    ground.new("older", STAY)
    workspace = ground.new("a1", STAY)
    (workspace / "mine.txt").write_text("x")
    ground.wl("kill", "older", "--force").ok()
    ground.wl("kill", "a1", "--force").ok()
    lock = ground.folder / "repo/.git/refs/heads/agent"
    lock.mkdir(parents=True, exist_ok=True)
    (lock / "a1.lock").touch()
    ground.wl("undo").failed(4)
    assert names(ground) == []
    (lock / "a1.lock").unlink()
    back = ground.wl("undo", "--json").ok().json()["restored"][0]
    assert (Path(back["workspace"]) / "mine.txt").read_text() == "x"
    ground.wl("undo").ok()
    assert "older" in names(ground)
    ground.wl("undo").failed(8)


def test_what_was_restored_from_the_trash_is_not_undone_again(ground: Ground) -> None:
    ground.new("a1", STAY)
    ground.wl("kill", "a1", "--force").ok()
    ground.wl("trash", "restore", "a1").ok()
    ground.wl("undo").failed(8)
    assert names(ground) == ["a1"]


def test_an_agent_without_a_worktree_comes_back_too(ground: Ground) -> None:
    ground.new("a1", STAY, flags=["--no-worktree"])
    ground.wl("kill", "a1", "--force").ok()
    ground.wl("undo").ok()
    assert names(ground) == ["a1"]


def test_an_ending_whose_work_left_the_trash_is_passed_over(ground: Ground) -> None:
    ground.new("first", STAY)
    ground.new("second", STAY)
    ground.wl("kill", "first", "--force").ok()
    ground.wl("kill", "second", "--force").ok()
    ground.wl("trash", "empty", "second", "--force").ok()
    ground.wl("undo").ok()
    assert names(ground) == ["first"]


def test_a_tree_comes_back_with_slots_of_its_own_and_its_base_pinned(ground: Ground) -> None:
    ground.new("lead", STAY, flags=["--manager"])
    for name in ("w1", "w2"):
        ground.new(name, STAY, flags=["--manager", "lead"])
    done = ground.wl("nuke", "lead", "--force").ok()
    assert "next manager up" not in done.out
    ground.wl("undo").ok()
    slots = [one["slot"] for one in ground.agents()]
    assert sorted(slots) == [0, 1, 2]
    refs = ground.git("for-each-ref", "--format=%(refname)", "refs/windlass/base").split()
    assert refs == [f"refs/windlass/base/{name}" for name in ("lead", "w1", "w2")]


def test_a_kill_that_cannot_remove_leaves_the_agent_whole(ground: Ground) -> None:
    workspace = ground.new("a1", STAY)
    ground.wait("a1", states="waiting")
    (workspace / "mine.txt").write_text("x")
    lock = ground.folder / "repo/.git/refs/heads/agent/a1.lock"
    lock.touch()
    done = ground.wl("kill", "a1", "--force").failed(4)
    assert "kept as a1-" in done.err
    lock.unlink()
    assert (workspace / "mine.txt").read_text() == "x"
    ground.wl("resume", "a1").ok()
    ground.wait("a1", states="waiting")
    sources = [e["data"]["source"] for e in ground.events("a1") if e["kind"] == "hook.SessionStart"]
    assert sources == ["startup", "resume"]
    ground.wl("kill", "a1", "--force").ok()


def test_agents_of_a_deleted_repository_can_be_ended_and_lose_nothing(ground: Ground) -> None:
    other = ground.repository("other")
    script = ground.script("stay", STAY)
    ground.wl("new", "--driver", "standin", "--name", "z1", "--script", script, "x", cwd=other).ok()
    ground.wl("wait", "z1", "--for", "waiting", "--timeout", "30", cwd=other).ok()
    workspace = Path(ground.wl("path", "z1", cwd=other).ok().out.strip())
    (workspace / "mine.txt").write_text("x")
    # Moved first: the daemon may be writing in there, and a folder with something new stays.
    shutil.rmtree(other.rename(other.with_name("gone")))
    outside = ground.folder
    assert "z1" in ground.wl("status", cwd=outside).ok().out
    ground.wl("kill", "z1", "--force", cwd=outside).ok()
    (kept,) = ground.state.glob("archive/*-z1/workspace/mine.txt")
    assert kept.read_text() == "x"
    assert ground.wl("list", "--json", cwd=outside).ok().json() == []


def test_the_screen_of_an_ended_agent_is_its_own(ground: Ground) -> None:
    for text in ("FIRST", "SECOND"):
        ground.new("same", {"text": f"I am {text}\n\nWAITING"})
        ground.wait("same", states="waiting")
        ground.wl("kill", "same", "--force").ok()
    shown = ground.wl("look", "same").ok().out
    assert "I am SECOND" in shown
    assert "FIRST" not in shown
    assert "\\x1b" not in shown
