"""The command line against a real daemon: what only both together show."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from typing import Any

import psutil
import pytest
from tests.redteam.terminal import terminal, told
from tests.support.ground import WL, Ground, until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unboxed")]

NEW = ("new", "--driver", "standin")
STAY: dict[str, Any] = {"text": "WAITING"}


def is_connected(pid: int) -> bool:
    """Whether a command has reached the daemon."""
    return bool(psutil.Process(pid).net_connections("unix"))


def test_an_agent_that_ends_while_waited_for_by_prefix_counts(ground: Ground) -> None:
    ground.new("api", STAY)
    ground.new("ui", STAY)
    waiting = ground.start("wait", "ap", "--for", "complete", "--timeout", "60", "--json")
    with waiting:
        ground.wait("api", states="waiting")
        until(lambda: is_connected(waiting.pid), what="the request")
        ground.wl("kill", "api", "--force").ok()
        assert waiting.stdout is not None
        assert '"ended"' in waiting.stdout.read()
    assert waiting.returncode == 0


def test_a_manager_may_be_made_under_a_manager(ground: Ground) -> None:
    ground.new("lead", STAY, flags=["--manager"])
    ground.new("sub", STAY, flags=["--manager", "--parent", "lead"])
    ground.new("hand", STAY, flags=["--parent", "sub"])
    listed = {agent["id"]: agent for agent in ground.agents()}
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
    ground.new("apiary", STAY)
    ours, theirs = pty.openpty()
    asked = subprocess.Popen(
        [WL, "kill", "api"],
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
    assert err.startswith("end apiary?")
    assert asked.returncode == 0
    until(lambda: ground.agents() == [], what="the end of apiary")


def test_a_command_of_an_agent_gets_its_own_options(ground: Ground) -> None:
    workspace = ground.new("a1", STAY)
    assert ground.wl("exec", "a1", "--json", "--", "pwd").ok().out.strip() == str(workspace)


_EVIL = r"printf '\033]52;c;aGk=\007\033[?1049h\033[31mspoken\033[8m\033[0m'; exit 9"


@pytest.mark.parametrize(("flags", "left"), [([], b"\x1b[31mspoken\x1b[0m"), (["--raw"], None)])
def test_what_a_command_prints_on_a_terminal_draws_and_does_nothing_else(
    ground: Ground, flags: list[str], left: bytes | None
) -> None:
    ground.new("a1", STAY)
    plain = ground.wl("exec", *flags, "a1", "--", "sh", "-c", _EVIL)
    assert plain.code == 9
    assert "\x1b]52;c;aGk=\x07\x1b[?1049h" in plain.out, "a program gets it as it is"
    with terminal(ground, "exec", *flags, "a1", "--", "sh", "-c", _EVIL) as person:
        shown = told(person)
    assert shown == (left or plain.out.encode())


def test_a_headless_agent_is_looked_at_like_a_terminal(ground: Ground) -> None:
    ground.new("fox", bash("echo one; echo two"), STAY, flags=["--print"])
    ground.wait("fox", states="waiting")
    shown = ground.wl("look", "fox").ok().out.splitlines()
    assert "● Bash(echo one; echo two)" in shown
    assert shown[shown.index("  ⎿  one") + 1] == "     two"
    assert "● WAITING" in shown
    assert shown[-1].startswith("✻ turn ended: 2 calls, $")
    told = ground.wl("look", "fox", "--json").ok().json()
    assert told["screen"].splitlines() == shown
    assert json.loads(told["raw"].splitlines()[-1])["type"] == "result"


def test_who_would_join_a_headless_agent_is_told_what_there_is(ground: Ground) -> None:
    ground.new("fox", STAY, flags=["--print"])
    ground.wait("fox", states="waiting")
    for paused in (False, True):
        if paused:
            ground.wl("pause", "fox").ok()
        refused = ground.wl("attach", "fox").failed(1).err
        assert "fox is headless" in refused
        for command in ("wl look fox", "wl log fox --follow", "wl send fox"):
            assert command in refused


def test_a_limit_is_raised_by_who_resumes(ground: Ground) -> None:
    ground.new("fox", STAY, flags=["--time-limit", "1s", "--max-budget", "3"])
    ground.wait("fox", states="paused")
    until(lambda: "session.ended" in _kinds(ground, "fox"), what="the end of the session")
    refused = ground.wl("resume", "fox").failed(7).err
    assert "raise it: wl resume fox --time-limit " in refused
    ground.wl("resume", "fox", "--time-limit", "1.1s").failed(7)
    assert ground.wl("info", "fox", "--json").ok().json()["limits"] == {"usd": 3.0, "seconds": 1.0}
    ground.wl("resume", "fox", "--time-limit", "2h").ok()
    limits = ground.wl("info", "fox", "--json").ok().json()["limits"]
    assert limits == {"usd": 3.0, "seconds": 7200.0}
    ground.wait("fox", states="waiting")
    ground.wl("send", "fox", "go on").ok()
    until(lambda: "message.received" in _kinds(ground, "fox"), what="the message")
    assert _kinds(ground, "fox").count("budget.exceeded") == 1
    assert _kinds(ground, "fox").count("agent.limited") == 1
    running = ground.wl("resume", "fox", "--max-budget", "5").failed(1).err
    assert "wl pause fox first" in running


def test_an_agent_cannot_raise_its_own_limits(ground: Ground) -> None:
    ground.new("fox", bash("wl resume fox --max-budget 5"), STAY, flags=["--max-budget", "3"])
    ground.wait("fox", states="waiting")
    assert "an agent cannot raise its own limits" in str(ground.events("fox"))
    assert ground.wl("info", "fox", "--json").ok().json()["limits"] == {"usd": 3.0}


def test_a_manager_raises_the_limits_of_who_is_below_it(ground: Ground) -> None:
    ground.new("lead", bash("true"), STAY, flags=["--manager"])
    ground.wait("lead", states="waiting")
    ground.new("fox", STAY, flags=["--parent", "lead"])
    ground.wait("fox", states="waiting")
    ground.wl("pause", "fox").ok()
    socket = {"WINDLASS_SOCKET": _socket(ground, "lead")}
    ground.wl("resume", "fox", "--max-budget", "5", env=socket).ok()
    assert ground.wl("info", "fox", "--json").ok().json()["limits"] == {"usd": 5.0}


def test_completing_a_word_offers_mail_and_shows_it_to_nobody(ground: Ground) -> None:
    ground.new("fox", STAY)
    ground.wait("fox", states="waiting")
    inside = {"WINDLASS_SOCKET": _socket(ground, "fox")}
    asked = ground.wl("ask", "which one?", "--json", env=inside).ok().json()["message"]
    for words in (
        ("answer",),
        ("acknowledge",),
        ("message", "show"),
        ("send", "fox", "--reply-to"),
    ):
        assert asked in ground.wl("__complete", *words, "").ok().out.splitlines()
    assert "parent" in ground.wl("__complete", "send", "", env=inside).ok().out.splitlines()
    (receipt,) = ground.ask("inbox", agent="fox", sent=True)
    assert receipt["state"] == "queued"
    outside = ground.wl("questions", cwd=ground.folder).ok().out
    assert outside.startswith("fox in repo asks (")
    (receipt,) = ground.ask("inbox", agent="fox", sent=True)
    assert receipt["state"] == "delivered"
    told = ground.wl("send", "user", "! look at this", "--json", env=inside).ok().json()[0]["id"]
    ground.wl("kill", "fox", "--force").ok()
    for cwd in (None, ground.folder):
        offered = ground.wl("__complete", "acknowledge", "", cwd=cwd).ok().out.splitlines()
        assert offered == [told], "what an agent said outlives it; what it asked does not"
    assert "fox to user in repo" in ground.wl("inbox", cwd=ground.folder).ok().out


def test_nobody_starts_with_a_limit_that_limits_nothing(ground: Ground) -> None:
    ground.warm = False
    for flags in (("--time-limit", ""), ("--max-budget", "nan"), ("--max-budget", "1e400")):
        ground.wl(*NEW, *flags, "x").failed(2)
    assert ground.daemon_pid() is None


def test_a_driver_chosen_by_the_environment_is_the_default_in_the_list(ground: Ground) -> None:
    for env, chosen in (({}, "claude"), ({"WINDLASS_DRIVER": "standin"}, "standin")):
        listed = ground.wl("drivers", "--json", env=env).ok().json()
        assert [one["name"] for one in listed if one["default"]] == [chosen]


def test_a_goal_of_many_lines_takes_one_where_it_is_listed(ground: Ground) -> None:
    goal = "a line\n" * 10_000
    ground.wl(*NEW, "--name", "fox", stdin=goal).ok()
    listed = ground.wl("list").ok().out
    assert len(listed.splitlines()) == 2
    assert len(listed) < 1000
    assert ground.agents()[0]["goal"].strip() == goal.strip()


def bash(command: str) -> dict[str, Any]:
    """A turn that runs a command."""
    return {"tool": "Bash", "input": {"command": command}}


def _kinds(ground: Ground, name: str) -> list[str]:
    return [event["kind"] for event in ground.events(name)]


def _socket(ground: Ground, name: str) -> str:
    """Where an agent talks to the daemon."""
    pid = ground.wl("info", name, "--json").ok().json()["pid"]
    return str(psutil.Process(pid).environ()["WINDLASS_SOCKET"])


def test_doctor_is_content_only_where_the_default_driver_would_start(ground: Ground) -> None:
    broken = ground.folder / "bin" / "claude"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    ground.env["PATH"] = f"{broken.parent}:{ground.env['PATH']}"
    doctor = ground.wl("doctor", "--json")
    found = doctor.json()
    assert (doctor.code, found["ok"], found["driver"]) == (3, False, "claude")
    works = {probe["name"]: probe["works"] for probe in found["drivers"]}
    levels = {one["driver"]: one["level"] for one in found["isolation"]["agents"]}
    assert (works["claude"], levels["claude"]) == (False, "none")
    assert (works["standin"], levels["standin"]) == (True, "hooks")
    chosen = ground.wl("doctor", "--json", env={"WINDLASS_DRIVER": "standin"}).ok().json()
    assert (chosen["ok"], chosen["driver"]) == (True, "standin")
