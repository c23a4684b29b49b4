"""`wl plan TASK --agent` on a real daemon: stand-ins plan tasks, and the board stays as it is."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.chaos.test_killed_between_effects import arm
from tests.redteam.terminal import terminal, told
from tests.support.ground import Ground, until

pytestmark = pytest.mark.slow

BOARD = (
    "# Board\n\n## TASKS\n\n- [ ] **[API-1]** Add hello\n  - Priority: HIGH\n"
    "  - Dependencies: none\n- [ ] **[API-2]** Add more\n  - Priority: HIGH\n"
    "  - Dependencies: none\n"
)
TEXT = "First hello.py, then its test."
PLANNED = {"text": f"<report>{TEXT}</report>\n<result>PASS</result>"}
REFUSED = {"text": "<report>It contradicts itself.</report>\n<result>FAIL</result>"}
STRAY = {"tool": "Write", "input": {"file_path": "stray.txt", "content": "stray\n"}}
_LATER = (
    *("run.prepare.agent.after", "run.close.keep.after", "run.finish.plan.before"),
    *("run.finish.end.before", "run.finish.end.after", "run.finish.tell.after"),
)
"""Points that are come to in the long runs alone."""


def held_until(file: Path) -> str:
    return f"until test -e {file}; do sleep 0.05; done"


def boarded(ground: Ground, *turns: Any) -> Path:
    """A board, and what the stand-in does that plans its first task."""
    folder = ground.folder / "repo" / ".windlass"
    (folder / "scripts").mkdir(parents=True)
    (folder / "kanban.md").write_text(BOARD)
    script = folder / "scripts" / "API-1.planning.json"
    script.write_text(json.dumps({"turns": list(turns)}))
    ground.git("add", "-A")
    ground.git("commit", "-q", "-m", "a board")
    return folder


def planning(*more: str) -> tuple[str, ...]:
    return ("plan", "API-1", "--agent", "--driver", "standin", *more)


def test_an_agent_writes_the_plan_and_only_where_it_lies_is_printed(ground: Ground) -> None:
    folder = boarded(ground, STRAY, PLANNED)
    before = ground.git("rev-parse", "main")
    done = ground.wl(*planning()).ok()
    plan = folder / "plans" / "API-1.md"
    assert done.out == f"{plan}\n"
    assert "API-1 is being planned by api-1" in done.err
    assert plan.read_text() == f"{TEXT}\n"
    assert (folder / "kanban.md").read_text() == BOARD
    assert ground.git("rev-parse", "main") == before
    assert ground.agents() == []
    ranks = {rank["id"]: rank for rank in ground.wl("board", "next", "--json").ok().json()}
    assert (ranks["API-1"]["plan"], ranks["API-2"]["plan"]) == (True, False)
    assert "planned" in ground.wl("show", "API-1").ok().out
    ground.wl(*planning()).failed(1)
    again = ground.wl(*planning("--again", "--json")).ok().json()
    assert (again["made"], again["text"], again["path"]) == (True, TEXT, str(plan))
    ground.wl("plan", "NO-1", "--agent").failed(8)
    ground.wl("plan", "API-1", "--again").failed(2)
    ground.wl("plan", "API-1", "--agent", "--file", "x").failed(2)
    ground.wl("plan", "API-1", "--stop").failed(1)


def test_a_terminal_sees_how_it_goes_and_what_the_plan_says(ground: Ground) -> None:
    """Also of a session that can be joined, which is ended with its agent."""
    boarded(ground, PLANNED)
    ground.wl("list").ok()
    with terminal(ground, *planning("--live")) as person:
        shown = told(person).decode()
    assert "API-1 is being planned: " in shown
    assert TEXT in shown
    assert shown.rstrip().endswith("API-1.md")
    assert ground.agents() == []
    begun = [event["data"] for event in ground.events() if event["kind"] == "session.started"]
    assert [session["mode"] for session in begun] == ["live"]


def test_an_agent_that_gives_no_plan_is_said(ground: Ground) -> None:
    folder = boarded(ground, REFUSED)
    done = ground.wl(*planning()).failed(10)
    assert "It contradicts itself" in done.err
    assert not (folder / "plans").exists()
    assert (folder / "kanban.md").read_text() == BOARD
    assert ground.agents() == []


@pytest.mark.parametrize(
    "point",
    [
        *("run.begin.start.after", "run.finish.plan.after"),
        *(pytest.param(p, marks=pytest.mark.soak) for p in _LATER),
    ],
)
def test_a_planning_survives_a_daemon_killed_at(ground: Ground, point: str) -> None:
    """The plan is there once, and so is its end."""
    folder = boarded(ground, STRAY, PLANNED)
    (folder / "plans").mkdir()
    (folder / "plans" / "API-1.md").write_text("My own plan.\n")
    armed = arm(ground, point)
    ground.wl(*planning("--again")).ok()
    assert not armed.exists(), "the daemon never came to the point"
    kept = {file.name: file.read_text() for file in (folder / "plans").iterdir()}
    assert kept == {"API-1.md": f"{TEXT}\n", "API-1.md.1": "My own plan.\n"}
    assert (folder / "kanban.md").read_text() == BOARD
    assert ground.agents() == []
    kinds = [event["kind"] for event in ground.events()]
    assert (kinds.count("plan.begun"), kinds.count("plan.ended")) == (1, 1)


def test_who_interrupts_leaves_it_going_and_learns_how_to_follow_and_end_it(
    ground: Ground,
) -> None:
    go = ground.shown / "go"
    boarded(ground, {"tool": "Bash", "input": {"command": held_until(go)}}, PLANNED)
    ground.unbox()
    with (ground.state / "config.toml").open("a") as config:
        config.write('[permissions.plan-mode]\nallow = ["Bash"]\n')
    asking = ground.start(*planning())
    until(lambda: "step.begun" in [event["kind"] for event in ground.events()])
    asking.send_signal(signal.SIGINT)
    _, said = asking.communicate(timeout=30)
    assert asking.returncode == 130
    assert "`wl plan API-1 --agent` follows it, and `wl plan API-1 --stop` ends it" in said
    begun = ground.wl(*planning("--no-wait", "--json")).ok().json()
    assert begun["joined"]
    go.touch()
    assert TEXT in ground.wl(*planning("--json")).out
