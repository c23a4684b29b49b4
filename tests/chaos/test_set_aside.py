"""A daemon that dies of the same thing again and again starts without it the next time."""

from __future__ import annotations

from tests.chaos.test_killed_between_effects import HELLO, arm
from tests.support.ground import Ground, until

from windlass.daemon.kernel.set_aside import MOST_TRIES


def test_what_three_daemons_died_in_is_set_aside_and_the_agent_can_be_ended(
    ground: Ground,
) -> None:
    ground.new("a0", *HELLO)
    armed = arm(ground, "spawn.workspace.after")
    script = ground.script("a1", *HELLO)
    args = ("new", "-q", "--driver", "standin", "--script", script, "--name", "a1", "hello")
    command = ground.start(*args)
    for number in range(MOST_TRIES):
        until(lambda: not armed.exists(), what=f"death {number + 1}")
        if number + 1 < MOST_TRIES:
            armed.touch()
    _, said = command.communicate(timeout=60)
    assert command.returncode == 1
    assert "is set aside: the daemon died 3 times in it" in said
    assert {agent["id"] for agent in ground.agents()} == {"a0", "a1"}
    (listed,) = ground.wl("doctor", "--json").json()["set_aside"]
    assert (listed["kind"], listed["agents"]) == ("spawn", ["a1"])
    assert "set aside" in ground.wl("doctor").out
    ground.wl("pause", "a0").ok()
    ground.wl("kill", "a1", "--force").ok()
    assert ground.wl("doctor", "--json").json()["set_aside"] == []
    assert [agent["id"] for agent in ground.agents()] == ["a0"]
