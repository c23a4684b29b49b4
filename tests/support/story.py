"""The story of twelve: a board whose tasks go every way that a task can go, and how it must end.

Tasks wait for others, an audit sends one back, one fails, one asks the person, a supervisor has one
begin anew, and the gate turns one change back. What each agent does is a script; what became of all
is judged from the outside.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

from tests.support.ground import Ground

TASKS = {
    "API-1": "none",
    "API-2": "API-1",
    "API-3": "API-1, API-2",
    "UI-1": "none",
    "UI-2": "UI-1",
    "BAD-1": "none",
    "BAD-2": "BAD-1",
    "RED-1": "none",
    "DOC-1": "RED-1",
    "ASK-1": "none",
    "ASK-2": "ASK-1",
    "LOOP-1": "none",
}
FAILED, BLOCKED = "BAD-1", "BAD-2"
LANDED = {*TASKS} - {FAILED, BLOCKED}
VISITS: dict[str, list[str]] = {
    **{task: ["execution=PASS", "audit=PASS"] for task in LANDED},
    "UI-1": ["execution=PASS", "audit=FIX", "audit:mend=PASS", "audit=PASS"],
    "RED-1": ["execution=PASS", "audit=PASS", "audit:generic-fix=PASS", "audit=PASS"],
    FAILED: ["execution=FAIL"],
}
"""The way of each task through its steps."""
GATE = '[gate]\n[[gate.check]]\nname = "c"\nrun = "test ! -e bad.txt"\ntests = "none"\n'
STEPS = [
    {"id": "execution", "agent": "worker", "commit_after": True},
    {
        "id": "audit",
        "agent": "worker",
        "readonly": True,
        "on_result": {"FIX": {"id": "mend", "agent": "worker"}},
    },
]
_LOOPER = """---
description: works in iterations
results: PASS, FAIL
mode: loop
iterations: 4
supervisor_interval: 1
---

Work.
"""
_QUESTION = "Which colour?"
PATIENCE = 300.0
"""Seconds in which all of it is done, on a busy machine."""
_PASSED = {"text": "<report>done</report>\n<result>PASS</result>"}


class Story:
    """The board in a repository, and `wl run` on it."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self._windlass = ground.folder / "repo" / ".windlass"
        (self._windlass / "scripts").mkdir(parents=True)
        self.board = self._windlass / "kanban.md"
        self.text = _board()
        self.board.write_text(self.text)
        for task in TASKS:
            self._write_scripts(task)
        (self._windlass / "roles").mkdir()
        (self._windlass / "roles" / "looper.md").write_text(_LOOPER)
        pipeline = {"name": "own", "steps": STEPS}
        (self._windlass / "pipeline.json").write_text(json.dumps(pipeline))
        (self._windlass / "config.toml").write_text(GATE)
        ground.git("add", "-A")
        ground.git("commit", "-q", "-m", "a board and a gate")
        self.before = ground.git("rev-parse", "main").strip()
        self.told: list[dict[str, Any]] = []

    def _write_scripts(self, task: str) -> None:
        """What the agent of a task does in each of its steps."""
        name = f"{task.lower()}.txt"
        play = self._script
        play(f"{task}.audit", _writes("stray.txt", "stray\n"), _PASSED)
        match task:
            case "UI-1":
                play("UI-1.execution", _writes(name, "askew\n"), _PASSED)
                play("UI-1.audit.1", {"text": "<report>askew</report><result>FIX</result>"})
                play("UI-1.mend", _writes(name, "mended\n"), *_commits(), _PASSED)
            case "BAD-1":
                play("BAD-1.execution", {"text": "<result>FAIL</result>"})
            case "RED-1":
                play("RED-1.execution", _writes("bad.txt", "bad\n"), _PASSED)
                mends = _shell("git mv bad.txt red-1.txt")
                play("RED-1.generic-fix", mends, *_commits(), _PASSED)
            case "ASK-1":
                asks = (_shell(f"wl ask '{_QUESTION}'"), {"text": "WAITING"}, {"await": "message"})
                play("ASK-1.execution", *asks, _writes(name, "${MESSAGE}\n"), _PASSED)
            case "LOOP-1":
                play("LOOP-1.execution.1.1", _writes("wrong.txt", "wrong\n"), {"text": "Go on."})
                anew = {"text": "<report>wrong</report><result>RESTART</result>"}
                play("LOOP-1.execution.supervisor", anew)
                play("LOOP-1.execution.1.2", _writes(name, f"{task}\n"), _PASSED)
            case _:
                play(f"{task}.execution", _writes(name, f"{task}\n"), _PASSED)

    def _script(self, name: str, *turns: dict[str, Any]) -> None:
        (self._windlass / "scripts" / f"{name}.json").write_text(json.dumps({"turns": turns}))

    def play(self, *, workers: int = 4, meanwhile: Callable[[], float] | None = None) -> None:
        """Has the board worked off, and answers what is asked.

        `meanwhile` does something now and then, and says after how many seconds it does so again.
        """
        with self.ground.start(
            "run", "--driver", "standin", "--max-workers", str(workers), "--json"
        ) as run:
            assert run.stdout is not None
            assert run.stderr is not None
            lines: queue.Queue[str | None] = queue.Queue()
            threading.Thread(target=_pass_on, args=(run.stdout, lines), daemon=True).start()
            end = time.monotonic() + PATIENCE
            due = time.monotonic() + (0.5 if meanwhile is not None else PATIENCE)
            while True:
                try:
                    line = lines.get(timeout=max(0.0, due - time.monotonic()))
                except queue.Empty:
                    late = f"nothing more after {self.told[-3:]}"
                    assert meanwhile is not None, late
                    assert time.monotonic() < end, late
                    due = meanwhile() + time.monotonic()
                    continue
                if line is None:
                    break
                self.told.append(json.loads(line))
                if self.told[-1]["kind"] == "run.waits":
                    self._answer()
            said = run.stderr.read()
        assert run.returncode == 10, f"ended {run.returncode}: {self.told[-1:]}\n{said}"

    def _answer(self) -> None:
        for question in self.ground.ask("questions"):
            assert question["text"] == _QUESTION
            self.ground.wl("answer", question["id"], "blue").ok()

    def judge(self) -> None:
        """What became of everything is what had to."""
        over = self.told[-1]
        outcomes = {task["task"]: task["state"] for task in over["tasks"]}
        why = {task["task"]: task["why"] for task in over["tasks"] if task["why"]}
        assert outcomes == {**dict.fromkeys(LANDED, "landed"), FAILED: "failed"}, why
        assert (over["kind"], over["blocked"], over["problem"]) == ("over", [BLOCKED], "")
        ways = {
            task["task"]: [f"{visit['step']}={visit['result']}" for visit in task["visits"]]
            for task in over["tasks"]
        }
        assert ways == VISITS
        self._judge_board()
        self._judge_order()
        self._judge_main()

    def _judge_board(self) -> None:
        """Only markers have changed."""
        wanted = self.text
        for task in TASKS:
            marker = "x" if task in LANDED else "*" if task == FAILED else " "
            wanted = wanted.replace(f"- [ ] **[{task}]**", f"- [{marker}] **[{task}]**")
        assert self.board.read_text() == wanted

    def _judge_order(self) -> None:
        """Each task begins once, after what it needs has landed, and each visit ends once."""
        log = self.ground.events()
        begun = {e["data"]["task"]: e["id"] for e in log if e["kind"] == "run.begun"}
        ended = {e["data"]["task"]: e["id"] for e in log if e["kind"] == "run.ended"}
        kinds = Counter(event["kind"] for event in log)
        assert kinds["run.begun"] == kinds["run.ended"] == len(begun) == len(TASKS) - 1
        assert begun.keys() == ended.keys() == {*TASKS} - {BLOCKED}
        for task, needed in TASKS.items():
            for other in needed.split(", ") if task in LANDED and needed != "none" else []:
                assert begun[task] > ended[other], f"{task} did not wait for {other}"
        visits = Counter(
            (e["data"]["task"], e["data"]["step"], e["data"]["visit"])
            for e in log
            if e["kind"] == "step.ended"
        )
        assert {visit: times for visit, times in visits.items() if times > 1} == {}
        answers = [e["data"].get("answer") for e in log if e["kind"] == "step.iterated"]
        assert "RESTART" in answers

    def _judge_main(self) -> None:
        """It holds what every landed task wrote and nothing else, and was never red."""
        ground = self.ground
        changed = ground.git("diff", "--name-only", self.before, "main").split()
        assert sorted(changed) == sorted(f"{task.lower()}.txt" for task in LANDED)
        for task in LANDED - {"ASK-1", "RED-1", "UI-1"}:
            assert ground.git("show", f"main:{task.lower()}.txt") == f"{task}\n"
        assert ground.git("show", "main:ui-1.txt") == "mended\n"
        assert "blue" in ground.git("show", "main:ask-1.txt")
        line = ground.git("rev-list", "--first-parent", f"{self.before}..main").split()
        for commit in line:
            proven = ground.wl("gate", "run", commit, "--json").ok().json()
            assert (proven["outcome"], proven["cached"]) == ("passed", True)
        landings = ground.wl("log", "--landed", "--json").ok().json()
        ours = [change for landing in landings for change in landing["changes"]]
        assert sorted(change["task"] for change in ours) == sorted(LANDED)
        dirty = ground.git("status", "--porcelain").splitlines()
        assert dirty == [" M .windlass/kanban.md"]


def _board() -> str:
    lines = ["# Board", "", "Words that stay.", "", "## TASKS", ""]
    for task, needed in TASKS.items():
        lines += [f"- [ ] **[{task}]** Do {task}", "  - Priority: HIGH"]
        lines += [f"  - Dependencies: {needed}"]
        lines += ["  - Agent: looper"] if task == "LOOP-1" else []
    return "\n".join([*lines, "", "Words after it.", ""])


def _writes(name: str, text: str) -> dict[str, Any]:
    return {"tool": "Write", "input": {"file_path": name, "content": text}}


def _shell(line: str) -> dict[str, Any]:
    return {"tool": "Bash", "input": {"command": line}}


def _commits() -> tuple[dict[str, Any], ...]:
    """Plain lines: while no daemon answers, the policy hook allows nothing else."""
    return _shell("git add -A"), _shell("git commit -q -m mended")


def _pass_on(stream: IO[str], lines: queue.Queue[str | None]) -> None:
    with suppress(ValueError):  # the test has failed, and closed it
        for line in stream:
            lines.put(line)
    lines.put(None)
