"""`wl run` on a real daemon: a board of eight tasks that stand-ins work off."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.chaos.test_killed_while_landing import gated
from tests.support.ground import Ground

pytestmark = pytest.mark.slow

PASSED = {"text": "<report>done</report>\n<result>PASS</result>"}
TASKS = {
    "API-1": "none",
    "API-2": "API-1",
    "API-3": "API-1, API-2",
    "UI-1": "none",
    "UI-2": "UI-1",
    "BAD-1": "none",
    "BAD-2": "BAD-1",
    "RED-1": "none",
}
STEPS = [
    {"id": "execution", "agent": "worker", "commit_after": True},
    {
        "id": "audit",
        "agent": "worker",
        "readonly": True,
        "on_result": {"FIX": {"id": "mend", "agent": "worker"}},
    },
]


def writes(name: str, text: str) -> dict[str, Any]:
    return {"tool": "Write", "input": {"file_path": name, "content": text}}


def script(ground: Ground, name: str, *turns: dict[str, Any]) -> None:
    folder = ground.folder / "repo" / ".windlass" / "scripts"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps({"turns": turns}))


def board(ground: Ground) -> str:
    """Each task writes a file; one is sent back by the audit, one fails, one is red at first."""
    lines = ["# Board", "", "Words that stay.", "", "## TASKS", ""]
    for task, needed in TASKS.items():
        lines += [f"- [ ] **[{task}]** Do {task}", "  - Priority: HIGH"]
        lines += [f"  - Dependencies: {needed}"]
        name = f"{task.lower()}.txt"
        script(ground, f"{task}.execution", writes(name, f"{task}\n"), PASSED)
        script(ground, f"{task}.audit", writes("stray.txt", "stray\n"), PASSED)
    script(ground, "UI-1.audit.1", {"text": "<result>FIX</result>"})
    mended = {"tool": "Bash", "input": {"command": "git add -A"}}
    commits = {"tool": "Bash", "input": {"command": "git commit -q -m mended"}}
    script(ground, "UI-1.mend", writes("ui-1.txt", "mended\n"), mended, commits, PASSED)
    script(ground, "BAD-1.execution", {"text": "<result>FAIL</result>"})
    script(ground, "RED-1.execution", writes("bad.txt", "bad\n"), PASSED)
    mends = {"tool": "Bash", "input": {"command": "git mv bad.txt red-1.txt"}}
    script(ground, "RED-1.generic-fix", mends, commits, PASSED)
    text = "\n".join(lines) + "\n"
    windlass = ground.folder / "repo" / ".windlass"
    (windlass / "kanban.md").write_text(text)
    (windlass / "pipeline.json").write_text(json.dumps({"name": "own", "steps": STEPS}))
    gated(ground)
    return text


def test_a_board_of_eight_is_worked_off_to_its_end(ground: Ground) -> None:
    text = board(ground)
    before = ground.git("rev-parse", "main").strip()
    done = ground.wl("run", "--driver", "standin", "--max-workers", "4", "--json")
    assert done.code == 10, f"{done.out}\n{done.err}"
    *told, over = [json.loads(line) for line in done.out.splitlines()]
    outcome = {task["task"]: task["state"] for task in over["tasks"]}
    landed = {*TASKS} - {"BAD-1", "BAD-2"}
    assert outcome == {**dict.fromkeys(landed, "landed"), "BAD-1": "failed"}
    assert over["blocked"] == ["BAD-2"]
    shown = (ground.folder / "repo" / ".windlass" / "kanban.md").read_text()
    wanted = text
    for task in TASKS:
        marker = "x" if task in landed else "*" if task == "BAD-1" else " "
        wanted = wanted.replace(f"- [ ] **[{task}]**", f"- [{marker}] **[{task}]**")
    assert shown == wanted
    begun = [event["task"] for event in told if event["kind"] == "run.begun"]
    ended = {e["task"]: n for n, e in enumerate(told) if e["kind"] == "run.ended"}
    starts = {e["task"]: n for n, e in enumerate(told) if e["kind"] == "run.begun"}
    assert sorted(begun) == sorted({*TASKS} - {"BAD-2"})
    assert starts["API-2"] > ended["API-1"]
    assert starts["API-3"] > ended["API-2"]
    visits = {task["task"]: task["visits"] for task in over["tasks"]}
    assert [(v["step"], v["result"]) for v in visits["UI-1"]] == [
        ("execution", "PASS"),
        ("audit", "FIX"),
        ("audit:mend", "PASS"),
        ("audit", "PASS"),
    ]
    red = next(task for task in over["tasks"] if task["task"] == "RED-1")
    assert red["attempts"] == 1
    files = ground.git("diff", "--name-only", before, "main").split()
    assert sorted(files) == sorted(f"{task.lower()}.txt" for task in landed)
    landings = ground.wl("log", "--landed", "--json").ok().json()
    ours = [landing for landing in landings if landing["by"] == "windlass"]
    assert all("passed" in landing["verdict"] for landing in ours)
    assert {change["task"] for landing in ours for change in landing["changes"]} == landed


def test_people_see_what_happens_and_a_table_at_the_end(ground: Ground) -> None:
    board(ground)
    done = ground.wl("run", "--driver", "standin", "--tasks", "API-1,BAD-1")
    assert done.code == 10, f"{done.out}\n{done.err}"
    assert "API-1  begun, by api-1" in done.out
    assert "API-1  execution: PASS" in done.out
    table = done.out[done.out.index("task ") :]
    assert "landed" in table
    assert "execution gave FAIL" in table
    shown = ground.wl("show", "api-1").ok().out
    assert "Do API-1" in shown
    assert "audit: PASS" in shown
    assert "execution gave FAIL" in ground.wl("why", "BAD-1").ok().out
    ground.wl("run", "--max-workers", "0").failed(2)
    ground.wl("run", "--pipeline", "-").failed(2)
    ground.wl("run", "--tasks", ",").failed(2)
    ground.wl("show", "NO-1").failed(8)
