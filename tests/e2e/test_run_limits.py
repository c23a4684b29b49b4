"""`wl run` on a real daemon, through usage limits, a minute of 429 and a model that is down."""

from __future__ import annotations

import json

import pytest
from tests.support.ground import Ground

pytestmark = [pytest.mark.slow, pytest.mark.soak]

TASKS = [f"TT-{number}" for number in range(1, 9)]
LIMIT = {"error": {"status": 429, "message": "You've hit your session limit · resets in 5s"}}
REFUSED = {"error": {"status": 429, "retry_after": 1, "times": 3}}
DOWN = {"error": {"status": 529}}
PASSED = {"text": "<report>done</report>\n<result>PASS</result>"}
GATE = '[gate]\n[[gate.check]]\nname = "c"\nrun = "true"\ntests = "none"\n'


def test_eight_tasks_land_through_limits_refusals_and_an_outage_without_a_keystroke(
    ground: Ground,
) -> None:
    """Each is stopped by three limits, refused for a while, and asks a model that is down."""
    ground.env["WINDLASS_CLOCK_SCALE"] = "20"
    ground.warm = False
    windlass = ground.folder / "repo" / ".windlass"
    (windlass / "scripts").mkdir(parents=True)
    board = "## TASKS\n\n"
    for task in TASKS:
        board += f"- [ ] **[{task}]** Do {task}\n  - Priority: LOW\n  - Dependencies: none\n"
        file = {"file_path": f"{task}.txt", "content": f"{task}\n"}
        write = {"tool": "Write", "input": file}
        turns = [LIMIT, REFUSED, write, LIMIT, DOWN, LIMIT, PASSED]
        (windlass / "scripts" / f"{task}.json").write_text(json.dumps({"turns": turns}))
    (windlass / "kanban.md").write_text(board)
    step = {"id": "execution", "agent": "worker", "commit_after": True}
    (windlass / "pipeline.json").write_text(json.dumps({"name": "own", "steps": [step]}))
    (windlass / "config.toml").write_text(GATE)
    ground.git("add", "-A")
    ground.git("commit", "-q", "-m", "a board and a gate")
    done = ground.wl("run", "--driver", "standin", "--json", timeout=600).ok()
    over = json.loads(done.out.splitlines()[-1])
    assert {task["state"] for task in over["tasks"]} == {"landed"}
    assert len(over["tasks"]) == len(TASKS)
    assert (windlass / "kanban.md").read_text() == board.replace("[ ]", "[x]")
    kinds = [event["kind"] for event in ground.events()]
    assert {"backend.down", "backend.up", "board.held"} <= {*kinds}
