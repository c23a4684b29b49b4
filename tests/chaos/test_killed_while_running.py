"""The daemon ends with -9 before and after every recorded step of a run.

The task lands once: one agent, one branch, each step of its pipeline once, and the board says so.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.chaos.test_killed_between_effects import NOTHING, arm
from tests.chaos.test_killed_while_landing import gated
from tests.support.ground import Ground

from windlass.core.runs import orders, schedule
from windlass.core.runs import run as core
from windlass.daemon.runs.endings import RunEndings
from windlass.daemon.runs.rounds import Rounds
from windlass.daemon.runs.schedules import Schedules
from windlass.daemon.runs.session_ends import SessionEnds
from windlass.daemon.runs.steps import RunSteps

pytestmark = pytest.mark.slow

BOARD = (
    "# Board\n\n## TASKS\n\n- [ ] **[API-1]** Add hello\n  - Priority: HIGH\n"
    "  - Dependencies: none\n- [ ] **[API-2]** Add more\n  - Priority: LOW\n"
    "  - Dependencies: API-1\n"
)
STEPS = [
    {
        "id": "execution",
        "agent": "worker",
        "commit_after": True,
        "config": {"mode": "loop", "iterations": 3, "supervisor_interval": 1},
    },
    {"id": "look", "agent": "worker", "readonly": True},
]
_OPERATIONS = (
    *Schedules(NOTHING, NOTHING).operations(),
    Rounds(NOTHING, NOTHING).operation(),
    *RunSteps(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, wake=NOTHING).operations(),
    *SessionEnds(NOTHING, NOTHING, NOTHING).operations(),
    *RunEndings(NOTHING, NOTHING, NOTHING, NOTHING).operations(),
)
_NOW = (
    *("run.begin.start.after", "run.iterate.take back.after"),
    *("run.close.keep.before", "run.submit.propose.after"),
)
"""Some of them at once; the others in the long runs."""
_NEVER = (orders.ASK,)
_NOT_HERE = ("withdraw", "plan", "end")
"""Steps that these runs do not come to: `tests/daemon/runs/test_board_edits.py`, and below."""


def points() -> list[Any]:
    """Before and after every step, and before a job hears of it."""
    kinds = (core.KIND.name, schedule.KIND.name)
    every = [f"job.{kind}.advance.{when}" for kind in kinds for when in ("before", "after")]
    for operation in _OPERATIONS:
        if operation.kind not in _NEVER and operation.steps:
            names = (step.name for step in operation.steps if step.name not in _NOT_HERE)
            steps = [*names, "finish"]
            every += [f"{operation.kind}.{s}.{when}" for s in steps for when in ("before", "after")]
    return [pytest.param(p, marks=[] if p in _NOW else [pytest.mark.soak]) for p in every]


def boarded(ground: Ground) -> None:
    """A board of two tasks, and what the stand-in does for each step of them.

    The first is done in two iterations, and a supervisor looks at it between them.
    """
    folder = ground.folder / "repo" / ".windlass"
    (folder / "scripts").mkdir(parents=True)
    (folder / "kanban.md").write_text(BOARD)
    (folder / "pipeline.json").write_text(json.dumps({"name": "own", "steps": STEPS}))
    for task in ("API-1", "API-2"):
        name = f"{task.lower()}.txt"
        wrote = {"tool": "Write", "input": {"file_path": name, "content": f"{task}\n"}}
        stray = {"tool": "Write", "input": {"file_path": "stray.txt", "content": "stray\n"}}
        passed = {"text": "<report>done</report>\n<result>PASS</result>"}
        left = {"text": "<report>half of it</report>"}
        goes_on = {"text": "<report>go on</report>\n<result>CONTINUE</result>"}
        scripts = [
            *(("execution", [wrote, passed]), ("look", [stray, passed])),
            *(("execution.1.1", [wrote, left]), ("execution.supervisor", [stray, goes_on])),
        ]
        for step, turns in scripts[: 4 if task == "API-1" else 2]:
            script = folder / "scripts" / f"{task}.{step}.json"
            script.write_text(json.dumps({"turns": turns}))
    gated(ground)


@pytest.mark.parametrize("point", points())
def test_a_run_survives_a_daemon_killed_at(ground: Ground, point: str) -> None:
    boarded(ground)
    before = ground.git("rev-parse", "main").strip()
    armed = arm(ground, point)
    done = ground.wl("run", "--driver", "standin")
    assert done.code == 0, f"{done.out}\n{done.err}"
    assert not armed.exists(), "the daemon never came to the point"
    board = ground.folder / "repo" / ".windlass" / "kanban.md"
    assert board.read_text() == BOARD.replace("[ ]", "[x]")
    subjects = ground.git("log", "--first-parent", "--format=%s", f"{before}..main").splitlines()
    assert subjects == ["Merge agent/api-2: Add more", "Merge agent/api-1: Add hello"]
    changed = ground.git("diff", "--name-only", before, "main").split()
    assert changed == ["api-1.txt", "api-2.txt"]
    log = ground.events()
    kinds = [event["kind"] for event in log]
    assert (kinds.count("run.begun"), kinds.count("run.ended")) == (2, 2)
    ended = [(e["data"]["task"], e["data"]["step"]) for e in log if e["kind"] == "step.ended"]
    assert sorted(ended) == [
        (task, step) for task in ("API-1", "API-2") for step in ("execution", "look")
    ]
