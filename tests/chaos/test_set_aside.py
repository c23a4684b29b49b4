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


def test_a_merge_that_three_daemons_died_in_halts_its_branch_until_the_person_decides(
    ground: Ground,
) -> None:
    for name in ("a1", "a2"):
        ground.new(name, *HELLO)
        ground.wait(name, states="complete")
    before = ground.git("rev-parse", "main").strip()
    armed = arm(ground, "merge.apply.after")
    command = ground.start("merge", "a1", "--force")
    for number in range(MOST_TRIES):
        until(lambda: not armed.exists(), what=f"death {number + 1}")
        if number + 1 < MOST_TRIES:
            armed.touch()
    _, said = command.communicate(timeout=60)
    assert command.returncode == 1
    now = ground.git("rev-parse", "main").strip()
    assert "merge of a1 is halted: the daemon died 3 times in it" in said
    assert f"main was moved from {before[:10]} to {now[:10]}" in said
    refused = ground.wl("merge", "a2", "--force").failed(1)
    assert "merge of a1 is halted" in refused.err
    assert "`wl retry a1`" in refused.err
    assert "halted" in ground.wl("doctor").out
    home = ground.wl().ok().out
    assert "needs you" in home
    assert "a1 merge into main is halted" in home
    assert "wl resume a1" not in home
    assert "wl retry a1" in home
    assert "intent.halted" in {event["kind"] for event in ground.events()}
    ground.wl("pause", "a2").ok()
    ground.wl("retry", "nobody").failed(8)
    assert "merge of a1 is done" in ground.wl("retry", "a1").ok().out
    assert ground.git("status", "--porcelain") == ""
    assert ground.git("rev-parse", "main").strip() == now
    assert ground.wl("doctor", "--json").json()["set_aside"] == []
    assert [agent["id"] for agent in ground.agents()] == ["a2"]
