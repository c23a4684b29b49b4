"""Ctrl-C: what was asked for goes on, and the person is told so, with what takes it back."""

from __future__ import annotations

import signal

import pytest
from tests.support.ground import Ground, until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unboxed")]


def test_a_spawn_that_is_interrupted_goes_on_and_the_person_is_told(ground: Ground) -> None:
    begun, go = ground.folder / "begun", ground.folder / "go"
    ground.configure(
        f"[workspace]\nsetup = 'touch {begun}; until test -e {go}; do sleep 0.05; done'\n"
    )
    asking = ground.start("new", "--driver", "standin", "--name", "a1", "be a1")
    until(begun.exists, what="the setup")
    asking.send_signal(signal.SIGINT)
    _, told = asking.communicate(timeout=30)
    assert asking.returncode == 130
    said = "`wl list` shows the agent, and `wl kill a1` takes it back"
    assert told == f"wl: interrupted; what was asked for goes on if it was begun: {said}\n"
    go.touch()
    until(lambda: [agent["state"] != "creating" for agent in ground.agents()] == [True])


def test_who_interrupts_a_command_that_only_looks_is_told_nothing(ground: Ground) -> None:
    ground.wl("init").ok()
    following = ground.start("log", "--follow")
    assert following.stdout is not None
    assert following.stdout.readline()
    following.send_signal(signal.SIGINT)
    assert following.communicate(timeout=30)[1] == ""
    assert following.returncode == 130
