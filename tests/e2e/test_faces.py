"""The command line against a real daemon: what only both together show."""

from __future__ import annotations

import os
import pty
import subprocess
from typing import Any

import pytest
from tests.support.ground import WL, Ground, until

pytestmark = pytest.mark.slow

NEW = ("new", "--driver", "standin")
STAY: dict[str, Any] = {"text": "WAITING"}


def test_an_agent_that_ends_while_waited_for_by_prefix_counts(ground: Ground) -> None:
    ground.new("api", STAY)
    ground.new("ui", STAY)
    waiting = ground.start("wait", "ap", "--for", "complete", "--timeout", "60", "--json")
    with waiting:
        ground.wait("api", states="waiting")
        ground.wl("kill", "api", "--force").ok()
        assert waiting.stdout is not None
        assert '"ended"' in waiting.stdout.read()
    assert waiting.returncode == 0


def test_a_manager_may_be_made_under_a_manager(ground: Ground) -> None:
    ground.new("lead", STAY, flags=["--manager"])
    ground.new("sub", STAY, flags=["--manager", "--parent", "lead"])
    ground.new("hand", STAY, flags=["--parent", "sub"])
    listed = {agent["id"]: agent for agent in ground.wl("list", "--json").ok().json()}
    assert (listed["sub"]["role"], listed["sub"]["parent"]) == ("manager", "lead")
    assert (listed["hand"]["role"], listed["hand"]["parent"]) == ("worker", "sub")
    drawn = ground.wl("tree").ok().out.splitlines()
    for line, start in zip(drawn, ("lead ", "└─ sub ", "   └─ hand "), strict=True):
        assert line.startswith(start)


def test_outside_of_repositories_agents_of_one_name_are_told_apart(ground: Ground) -> None:
    other = ground.repository("other")
    for repo in (ground.folder / "repo", other):
        ground.wl(*NEW, "--name", "lead", "--manager", "--", "x", cwd=repo).ok()
        ground.wl(*NEW, "--name", "hand", "--parent", "lead", "x", cwd=repo).ok()
    lines = ground.wl("tree", cwd=ground.folder).ok().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["lead", "└─ hand", "lead", "└─ hand"]
    home = ground.wl(cwd=ground.folder).ok().out
    assert home.count("└─ hand") == 2
    assert "4 agents" in home


def test_following_a_screen_ends_with_its_session(ground: Ground) -> None:
    ground.new("a1", STAY)
    ground.wait("a1", states="waiting")
    following = ground.start("look", "-f", "a1")
    assert following.stdout is not None
    with following:
        following.stdout.readline()
        ground.wl("pause", "a1").ok()
        following.stdout.read()
    assert following.returncode == 0
    ground.wl("look", "-f", "a1", timeout=20).ok()


def test_the_home_screen_knows_no_branch_that_it_did_not_ask_for(ground: Ground) -> None:
    ground.git("branch", "-m", "main", "trunk")
    ground.new("a1", STAY)
    home = ground.wl("-q").ok().out
    assert "crew" in home
    assert "main" not in home


def test_a_question_on_a_terminal_names_the_agent(ground: Ground) -> None:
    ground.new("api", STAY)
    ours, theirs = pty.openpty()
    asked = subprocess.Popen(
        [WL, "kill", "ap"],
        cwd=ground.folder / "repo",
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ground.env,
        text=True,
    )
    os.close(theirs)
    with asked:
        os.write(ours, b"y\n")
        _, err = asked.communicate(timeout=60)
    os.close(ours)
    assert err.startswith("end api?")
    assert asked.returncode == 0
    until(lambda: ground.wl("list", "--json").ok().json() == [], what="the end of api")


def test_a_command_of_an_agent_gets_its_own_options(ground: Ground) -> None:
    workspace = ground.new("a1", STAY)
    assert ground.wl("exec", "a1", "--json", "--", "pwd").ok().out.strip() == str(workspace)
