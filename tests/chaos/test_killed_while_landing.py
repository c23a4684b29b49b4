"""The daemon ends with -9 before and after every recorded step of a landing.

What was under way lands once, or not at all and then by the next daemon; the agent is ended once.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.chaos.test_killed_between_effects import HELLO, arm, count
from tests.support.ground import Ground, until

from windlass.core.landing import job as landing_job
from windlass.daemon.agents.endings import Endings
from windlass.daemon.kernel.operations import Operation
from windlass.daemon.landing.landings import Landings
from windlass.daemon.landing.pull_requests import PullRequests
from windlass.daemon.landing.pushes import Pushes
from windlass.daemon.landing.retirements import Retirements
from windlass.daemon.landing.tries import Tries

pytestmark = pytest.mark.slow

NOTHING: Any = None
GATE = '[gate]\n[[gate.check]]\nname = "c"\nrun = "test ! -e bad.txt"\ntests = "none"\n'
_ENDING = Endings(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING)
_REQUESTS = PullRequests(NOTHING, NOTHING, NOTHING, NOTHING)
_OPERATIONS = (
    Tries(NOTHING, NOTHING, NOTHING).operation(),
    Landings(NOTHING, NOTHING, Pushes(NOTHING, NOTHING), _REQUESTS).operation(),
    Retirements(NOTHING, NOTHING, _ENDING).operation(),
)
_NOW = ("landing.land.apply.after", "landing.retire.look again.after")
"""Two of them at once; the others in the long runs."""


def steps_of(operation: Operation, *, mode: str) -> list[str]:
    """The steps of an operation that there are with a mode of landing."""
    if operation.kind != landing_job.LAND:
        return [step.name for step in operation.steps]
    planned = {"mode": mode, "plan": {}}
    return [step.name for step in operation.steps if step.needed(planned)]


def points() -> list[Any]:
    """Before and after every step, and before a job hears of it."""
    every = [f"job.{landing_job.KIND.name}.advance.{when}" for when in ("before", "after")]
    for operation in _OPERATIONS:
        steps = [*steps_of(operation, mode="local"), "finish"]
        every += [f"{operation.kind}.{s}.{when}" for s in steps for when in ("before", "after")]
    return [pytest.param(p, marks=[] if p in _NOW else [pytest.mark.soak]) for p in every]


def gated(ground: Ground) -> None:
    """Has main be behind a gate."""
    file = ground.folder / "repo" / ".windlass" / "config.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(GATE)
    ground.git("add", "-A")
    ground.git("commit", "-q", "-m", "gate")


@pytest.mark.parametrize("point", points())
def test_a_landing_survives_a_daemon_killed_at(ground: Ground, point: str) -> None:
    gated(ground)
    workspace = ground.new("a1", *HELLO)
    ground.wait("a1", states="complete")
    before = ground.git("rev-parse", "main").strip()
    armed = arm(ground, point)
    landed = ground.wl("merge", "a1", "--force", "--json").ok().json()
    assert landed["state"] == "landed"
    until(lambda: not ground.agents(), what="the agent's end")
    assert not armed.exists(), "the daemon never came to the point"
    subjects = ground.git("log", "--first-parent", "--format=%s", f"{before}..main").splitlines()
    assert subjects == ["Merge agent/a1: be a1"]
    assert ground.git("rev-parse", "main").strip() == landed["commit"]
    assert ground.git("status", "--porcelain") == ""
    assert (ground.folder / "repo" / "hello.txt").read_text() == "hello\n"
    assert not workspace.exists()
    told = count(ground, "a1", "agent.salvaged", "agent.ended")
    assert told == {"agent.salvaged": 1, "agent.ended": 1}
    log = [event["kind"] for event in ground.events()]
    assert log.count("change.landed") == 1
