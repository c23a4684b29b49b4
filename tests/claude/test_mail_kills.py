"""Mail to the real Claude Code while it, the daemon or both are killed with -9 around a delivery.

A model call that was cut off may be made again; a conversation has every message exactly once.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Literal

import psutil
import pytest
from tests.claude.test_mail import arrived, receipt, send
from tests.support.ground import end, until
from tests.support.scene import Scene

pytestmark = pytest.mark.slow
Victim = Literal["session", "daemon", "both"]
REST = {"text": "I rest.\n\nWAITING"}
VICTIMS: tuple[Victim, ...] = ("session", "daemon", "both")
MOMENTS = (0.0, 0.02, 0.05, 0.08, 0.12, 0.2)
"""Seconds between a message and a kill; a waiting hook wakes its session within this time."""
SHORT = (("session", 0.05), ("daemon", 0.02), ("both", 0.12))
FULL = tuple((victim, moment) for moment in MOMENTS for victim in VICTIMS)
SWEEPS = [pytest.param(SHORT, id="short"), pytest.param(FULL, id="full", marks=pytest.mark.soak)]
LIVE: list[str] = []
HEADLESS = ["--print"]
MODES = [
    pytest.param(LIVE, id="live"),
    pytest.param(HEADLESS, id="headless", marks=pytest.mark.soak),
]


def aimed(on: Scene, name: str, victim: Victim) -> Callable[[], None]:
    """Finds whom to kill, for a shot that takes no time to find them."""
    roots = []
    if victim != "daemon":
        session = on.ground.ask("info", agent=name)["tmux"]
        asked = on.ground.tmux("display-message", "-p", "-t", f"={session}:0.0", "#{pane_pid}")
        roots.append(psutil.Process(int(asked.stdout)))
    if victim != "session":
        roots.append(psutil.Process(on.ground.ask("whoami")["pid"]))

    def shoot() -> None:
        end([one for root in roots for one in (root, *root.children(recursive=True))])
        on.ground.warm = victim != "session"  # the next daemon need not import everything first

    return shoot


def go_on(on: Scene, name: str) -> None:
    """Brings back an agent whose session was killed."""
    until(lambda: on.ground.state_of(name) == "stopped", what=f"the end of {name}")
    on.wl("resume", name).ok()


def settled(on: Scene, message: str) -> bool:
    """Whether a message has arrived, as its receipt says."""
    return receipt(on, message)["state"] in ("delivered", "read")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sweep", SWEEPS)
def test_a_message_arrives_once_whoever_is_killed_around_its_delivery(
    on: Scene, sweep: Sequence[tuple[Victim, float]], mode: list[str]
) -> None:
    on.new("fox", REST, flags=mode)
    on.wait("fox", "waiting")
    sent = []
    for victim, moment in sweep:
        shoot = aimed(on, "fox", victim)
        sent.append(send(on, f"{victim} {moment}"))
        time.sleep(moment)  # not a wait: the moment is what is tried
        shoot()
        if victim != "daemon":
            go_on(on, "fox")
        until(lambda: settled(on, sent[-1]), within=40, what=f"{victim} {moment}")
        on.wait("fox", "waiting")
        assert arrived(on) == sent, (victim, moment)
    sent.append(send(on, "the last"))
    until(lambda: receipt(on, sent[-1])["state"] == "read", what="the last")
    assert arrived(on) == sent


@pytest.mark.soak
def test_thirty_messages_among_three_agents_arrive_once_in_a_storm_of_kills(on: Scene) -> None:
    names = {"ant": LIVE, "bee": HEADLESS, "cat": LIVE}
    for name, mode in names.items():
        on.new(name, REST, flags=mode)
    for name in names:
        on.wait(name, "waiting")
    dice = random.Random(5)  # noqa: S311 - a storm that can be repeated
    sent: dict[str, list[str]] = {name: [] for name in names}
    for number in range(30):
        name = dice.choice(list(names))
        if number % 5 == 4:
            victim = dice.choice(VICTIMS)
            shoot = aimed(on, name, victim)
            sent[name].append(send(on, f"{number} around a kill", to=name))
            time.sleep(dice.choice(MOMENTS))
            shoot()
            if victim != "daemon":
                go_on(on, name)
        else:
            sent[name].append(send(on, f"{number}", to=name))
    for name, messages in sent.items():
        for message in messages:
            until(lambda m=message: settled(on, m), within=60, what=message)  # type: ignore[misc]
        on.wait(name, "waiting")
        assert arrived(on, name) == messages
