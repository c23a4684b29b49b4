"""A daemon that died comes back by itself, as the person started it, unless they stopped it."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import Any

import psutil
import pytest
from tests.support.ground import Ground, end, until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unboxed")]
STAY = {"text": "WAITING"}


@pytest.fixture(autouse=True)
def cold(ground: Ground) -> None:
    """`wl` starts every daemon itself, so that there is a start to be repeated."""
    ground.warm = False


def died(ground: Ground) -> int:
    """Kills the daemon; returns which one it was."""
    daemon = ground.living_daemon()
    assert daemon is not None
    end([daemon])
    return daemon.pid


def returned(ground: Ground, before: int) -> psutil.Process:
    """Waits for the next daemon, without a command that would start it."""
    found: list[psutil.Process] = []

    def is_back() -> bool:
        daemon = ground.living_daemon()
        found[:] = [daemon] if daemon is not None and daemon.pid != before else []
        return bool(found)

    until(is_back, within=20, what="the daemon's return")
    return found[0]


def starts(ground: Ground) -> int:
    """How many daemons have come to answer."""
    return (ground.state / "daemon.log").read_text().count(" answers, pid ")


def test_a_killed_daemon_comes_back_once_with_the_persons_variables_and_outside_of_any_agent(
    ground: Ground,
) -> None:
    ground.wl(
        "daemon", "start", env={"MINE": "kept \udcff", "PATH": os.environ["PATH"] + ":/p"}
    ).ok()
    for name in ("a1", "a2", "a3"):
        ground.new(name, STAY)
    ground.wait("a1", "a2", "a3", states="waiting")
    daemon = returned(ground, died(ground))
    until(lambda: starts(ground) == 2, what="its answer")
    environ = daemon.environ()
    assert environ["MINE"] == "kept \udcff"
    assert environ["PATH"].endswith(":/p")
    assert not {"WINDLASS_SESSION", "WINDLASS_SOCKET", "TMUX", "TMUX_PANE"} & set(environ)
    above = {each.pid for each in daemon.parents()}
    held = [
        json.loads(path.read_text())["pid"]
        for path in ground.state.glob("agents/*/sessions/1/holder.json")
    ]
    assert len(held) == 3
    assert not above & set(held)
    assert os.getsid(daemon.pid) not in held
    assert {agent["state"] for agent in ground.agents()} == {"waiting"}
    assert starts(ground) == 2


def test_a_daemon_that_the_person_stopped_stays_away_until_the_person_starts_it(
    ground: Ground,
) -> None:
    ground.new("a1", STAY)
    ground.wait("a1", states="waiting")
    ground.wl("daemon", "stop").ok()
    stays = time.monotonic() + 1.5  # holders look after 0.2 s, and again each second
    while time.monotonic() < stays:
        assert ground.living_daemon() is None
        time.sleep(0.05)
    ground.wl("list").ok()
    returned(ground, died(ground))


def test_agents_neither_start_nor_stop_the_daemon(ground: Ground) -> None:
    ground.wl("list").ok()
    agent = {"WINDLASS_SESSION": "some/1"}
    assert "agents do not" in ground.wl("daemon", "stop", env=agent).failed(7).err
    ground.wl("daemon", "stop").ok()
    assert "agents do not start it" in ground.wl("daemon", "start", env=agent).failed(6).err
    assert ground.living_daemon() is None


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_agent_at_work_is_denied_nothing_because_its_daemon_died(
    ground: Ground, number: signal.Signals
) -> None:
    """The line is one that the hook allows nobody when it decides alone."""
    workspace = ground.new(
        "a1",
        bash("touch begun; until test -e go; do sleep 0.1; done"),
        bash("cp README two; echo 'it is done' > three"),
        {"text": "I HAVE COMPLETED THE GOAL"},
    )
    until((workspace / "begun").exists, within=30)
    daemon = ground.living_daemon()
    assert daemon is not None
    daemon.send_signal(number)
    (workspace / "go").touch()
    returned(ground, daemon.pid)
    ground.wait("a1", states="complete")
    assert (workspace / "three").read_text() == "it is done\n"
    kinds = [event["kind"] for event in ground.events("a1")]
    assert "hook.PolicyDecision" not in kinds


def bash(command: str) -> dict[str, Any]:
    """An entry that runs a command."""
    return {"tool": "Bash", "input": {"command": command}}
