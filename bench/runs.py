"""What `wl run` adds to the work of agents: the way from a decision to a session, and waiting."""

from __future__ import annotations

import json
import time
from contextlib import closing
from functools import partial

import psutil
from bench.table import Row
from tests.support.ground import Ground, grounded

from windlass.core.ids import RepoId
from windlass.core.jobs import Job, JobId
from windlass.core.pipeline import engine
from windlass.core.pipeline.steps import Pipeline, Step
from windlass.core.runs import moves, run
from windlass.core.runs.run_state import RunState
from windlass.core.runs.task_copy import TaskCopy
from windlass.daemon.kernel.clock import SystemClock
from windlass.store import jobs as rows
from windlass.store.rows import newest_event, repos
from windlass.store.store import Store, Writing

TASKS = 12
WAITING = 100
IDLE_SECONDS = 20.0
BUDGET = 400.0
_GATE = '[gate]\n[[gate.check]]\nname = "c"\nrun = "true"\ntests = "none"\n'
_STEPS = [
    {"id": "execution", "agent": "worker", "commit_after": True},
    {"id": "review", "agent": "worker", "readonly": True},
]


def measure() -> list[Row]:
    """A board of trivial steps, and then a hundred runs that wait for their changes."""
    with grounded() as ground:
        return _measured(ground)


def _measured(ground: Ground) -> list[Row]:
    _write_board(ground)
    ground.wl("run", "--driver", "standin", "--max-workers", "1", timeout=600).ok()
    begins, closes = _visits(ground)
    note = f"{TASKS} tasks, one worker"
    return [
        Row("a step visit, decision to session running", begins, BUDGET, note),
        Row("... end of its turn to its result", closes, None, note),
        *_idle(ground),
    ]


def _write_board(ground: Ground) -> None:
    folder = ground.folder / "repo" / ".windlass"
    (folder / "scripts").mkdir(parents=True)
    lines = ["## TASKS", ""]
    for number in range(1, TASKS + 1):
        task, name = f"API-{number}", f"api-{number}.txt"
        lines += [f"- [ ] **[{task}]** Do {task}", "  - Priority: HIGH", "  - Dependencies: none"]
        writes = {"tool": "Write", "input": {"file_path": name, "content": "more\n"}}
        passed = {"text": "<result>PASS</result>"}
        for step, turns in (("execution", [writes, passed]), ("review", [passed])):
            script = folder / "scripts" / f"{task}.{step}.json"
            script.write_text(json.dumps({"turns": turns}))
    (folder / "kanban.md").write_text("\n".join(lines) + "\n")
    (folder / "pipeline.json").write_text(json.dumps({"name": "own", "steps": _STEPS}))
    (folder / "config.toml").write_text(_GATE)
    ground.git("add", "-A")
    ground.git("commit", "-q", "-m", "a board")


def _visits(ground: Ground) -> tuple[list[float], list[float]]:
    """Milliseconds until each session ran, and those from the end of its turn to its result."""
    begins, closes = [], []
    decided: dict[str, float] = {}
    turned: dict[str | None, float] = {}
    for event in ground.events():
        run_id = event["data"].get("run")
        match event["kind"]:
            case "run.begun":
                decided[run_id] = event["at"]
            case "step.begun":
                begins.append((event["at"] - decided[run_id]) * 1000)
            case "turn.over":
                turned[event["agent"]] = event["at"]
            case "step.ended":
                closes.append((event["at"] - turned[event["agent"]]) * 1000)
                decided[run_id] = event["at"]
    return begins, closes


def _idle(ground: Ground) -> list[Row]:
    """CPU of a daemon that has nothing to do, and of one with runs that all wait."""
    alone = _share(ground)
    ground.wl("daemon", "stop").ok()
    with closing(Store(ground.state / "windlass.db", clock=SystemClock())) as store:
        store.open()
        (repo,) = store.read(repos)
        store.write(partial(_add_waiting, repo=repo.id))
    together = _share(ground)
    note = f"{IDLE_SECONDS:g} s"
    return [
        Row("daemon idle, CPU of a core", [alone], None, note, "%"),
        Row(f"... with {WAITING} runs that wait", [together], alone + 0.5, note, "%"),
    ]


def _share(ground: Ground) -> float:
    ground.wl("list").ok()
    daemon = psutil.Process(ground.daemon_pid())
    time.sleep(2)  # what follows its start is over
    before, began = sum(daemon.cpu_times()[:2]), time.monotonic()
    time.sleep(IDLE_SECONDS)
    return (sum(daemon.cpu_times()[:2]) - before) / (time.monotonic() - began) * 100


def _add_waiting(writing: Writing, *, repo: RepoId) -> None:
    """Records runs whose changes are proposed."""
    pipeline = Pipeline(name="own", steps=(Step(id="execution", agent="worker"),))
    for number in range(WAITING):
        state = RunState(
            task=TaskCopy(id=f"WAIT-{number}", title="wait"),
            pipeline=pipeline,
            place=engine.start(pipeline),
            stage="landing",
            change=f"c{number + 1000}",
        )
        job = Job(
            id=JobId(f"job-wait{number}"),
            kind=run.KIND.name,
            subject=run.subject(state.task.id),
            repo=repo,
            state=moves.begun(state),
            version=run.KIND.version,
            cursor=newest_event(writing.connection),
            host="here",
            created_at=writing.now,
            updated_at=writing.now,
        )
        rows.add(writing, job)
