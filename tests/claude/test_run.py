"""A task goes through the whole `full` pipeline with the real Claude Code, to its landing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.claude.test_landing import GATE, TEST, bash
from tests.support.scene import Scene

pytestmark = pytest.mark.slow

BOARD = """## TASKS

- [ ] **[API-1]** Add subtraction
  - Priority: HIGH
  - Dependencies: none
  - Scope:
    - write sub
"""
CONFIG = """[roles.software-engineer]
turns = 2
supervisor_interval = 1
[roles.security-audit]
mode = "live"
[roles.documentation-writer]
turns = 1
"""
STEPS = ["planning", "execution", "summary", "audit", "test", "docs", "validation"]


def says(result: str, report: str = "It is so.") -> dict[str, Any]:
    return {"text": f"<report>{report}</report>\n<result>{result}</result>"}


def plays(scene: Scene, pattern: str, *turns: dict[str, Any]) -> None:
    """Has the model say this to whoever is told first what the pattern finds."""
    scene.model.for_prompt(pattern, {"turns": list(turns)})


@pytest.mark.parametrize("flags", [[], pytest.param(["--live"], marks=pytest.mark.soak)])
def test_a_task_goes_through_the_full_pipeline_with_a_supervised_loop_and_a_live_step(
    on: Scene, flags: list[str]
) -> None:
    """The first iteration uses up its turns, and its supervisor has it begin anew.

    Who uses up its turns in a step that does not loop is asked for its result.

    Where all sessions are live, whose turns nobody counts, it ends by itself.
    """
    windlass = on.ground.folder / "repo" / ".windlass"
    windlass.mkdir()
    (windlass / "config.toml").write_text(GATE)
    (windlass / "kanban.md").write_text(BOARD)
    (windlass.parent / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    (windlass.parent / "test_calc.py").write_text(TEST)
    on.ground.git("add", "-A")
    on.ground.git("commit", "-q", "-m", "code")
    with (on.ground.state / "config.toml").open("a") as file:
        file.write(CONFIG)
    for step in STEPS:
        plays(on, f"the step `{step}` ", says("PASS", f"The {step} is done."))
    wrong = [bash(f"echo {number} >> wrong.txt") for number in range(4)]
    plays(on, "You do the step `execution`", *wrong, {"text": "Not yet."})
    plays(on, "You supervise the step `execution`", says("RESTART", "Write no wrong.txt."))
    right = bash("printf 'def sub(a, b):\\n    return a - b\\n' > sub.py && git add sub.py")
    done = {"text": "<report>sub.py is there.</report>\n- [x] write sub"}
    plays(on, "This is iteration 2", right, done)
    plays(on, "You do the step `docs`", bash("cat calc.py"), says("PASS"))
    ran = on.wl("run", "--driver", "claude", "--pipeline", "full", "--json", *flags)
    assert ran.code == 0, f"{ran.out}\n{ran.err}\n{on.wl('log', '--all').out}"
    *told, over = [json.loads(line) for line in ran.out.splitlines()]
    task = over["tasks"][0]
    assert task["state"] == "landed"
    assert [(visit["step"], visit["result"]) for visit in task["visits"]] == [
        (step, "PASS") for step in STEPS
    ]
    assert (task["visits"][1]["iterations"], task["visits"][1]["sessions"]) == (2, 3)
    looked = [(e["duty"], e.get("answer", "")) for e in told if e["kind"] == "step.iterated"]
    assert looked == [("work", ""), ("supervisor", "RESTART")]
    assert (windlass.parent / "sub.py").exists()
    assert not (windlass.parent / "wrong.txt").exists()
    started = [e["data"] for e in on.ground.events() if e["kind"] == "session.started"]
    of_each = [*STEPS[:2], *["execution"] * 2, *STEPS[2:]]
    assert [each["mode"] for each in started] == [
        "live" if flags or step == "audit" else "headless" for step in of_each
    ]
    stopped = [e["data"] for e in on.ground.events() if e["kind"] == "turn.ended"]
    out_of_turns = [each for each in stopped if each.get("subtype") == "error_max_turns"]
    assert len(out_of_turns) == (0 if flags else 2)
    asked = "\n".join(text for request in on.model.requests for text in request.texts)
    assert "Write no wrong.txt." in asked
    assert "Report of `planning` (visit 1, PASS):" in asked
