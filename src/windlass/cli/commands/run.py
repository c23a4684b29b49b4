"""Works off the board: takes tasks in order, has agents do them, and lands what is proven.

Each task goes through its pipeline (`wl pipeline list`) with an agent and a branch of its own; what
is finished is submitted, and the board is marked: [=] at work, [P] waits to land, [x] landed, [*]
failed. It ends when only tasks are left that are blocked, have failed, or whose change waits to be
tried again (`wl retry TASK`). Ctrl-C leaves it, and it goes on.

WINDLASS_<ROLE>_MAX_TURNS, _MAX_ITERATIONS and _SUPERVISOR_INTERVAL say more of roles.

Exit codes: 0 all done, 10 some are not (or what the result says that a task failed with), 12 one of
them because a step used up its iterations, 3 the board, a pipeline or the gate is broken.
"""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser
from typing import Any

from windlass.cli import output, run_asked, run_progress
from windlass.cli.call import Call
from windlass.cli.render import counted
from windlass.core.errors import UserError
from windlass.core.printable import printable_line

_FIXED = ("pipeline", "driver", "live", "plan", "enable")
"""What is said once, when the work begins."""
EXAMPLES = (
    "wl run",
    "wl run --max-workers 8",
    "wl run --tasks API-1,API-2 --pipeline full",
    "wl run --dry-run",
    "wl run --json",
)


def arguments(parser: ArgumentParser) -> None:
    """Takes how many at once, which tasks, and by which pipeline."""
    parser.add_argument("--max-workers", type=int, metavar="N", help="tasks at once (4)")
    parser.add_argument("--tasks", metavar="A,B", help="only these tasks")
    parser.add_argument("--pipeline", metavar="NAME|FILE", help="for every task")
    parser.add_argument(
        "--plan", action="store_true", help="have who has no plan yet make one, and keep that"
    )
    parser.add_argument(
        "--enable", metavar="VAR", action="append", default=[],
        help="have steps run that ask for this variable; may be given several times",
    )  # fmt: skip
    parser.add_argument("--live", action="store_true", help="sessions that can be joined")
    parser.add_argument("--driver", metavar="NAME", help="the agent CLI")
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="check what it needs, say what it takes, begin nothing",
    )
    parser.add_argument("--no-wait", action="store_true", help="begin it, and no more")


def run(call: Call) -> int:
    """Begins the work, or joins it, and follows it to its end."""
    args = call.args
    if args.max_workers is not None and args.max_workers < 1:
        raise UserError(f"{args.max_workers} workers do nothing", "--max-workers 1 or more")
    wanted: dict[str, Any] = {
        "workers": args.max_workers,
        "tasks": _tasks(args.tasks),
        "pipeline": _pipeline(args.pipeline),
        "enabled": args.enable or None,
        **run_asked.driver(args.driver),
        **run_asked.environment(),
        "live": args.live or None,
        "plans": args.plan or None,
    }
    request = {name: said for name, said in wanted.items() if said is not None}
    if args.dry_run:
        preview = call.ask("run.preview", **request)
        call.data(preview)
        call.say(_taken(preview))
        return 0
    before = call.ask("runs")["at"]
    begun = call.ask("run", **request)
    call.tell(_taken(begun))
    if call.json and not args.no_wait:
        output.write_json({"kind": "begun", "at": time.time(), **begun})
    if begun["joined"]:
        call.tell("the board is being worked off already; this joins it")
        fixed = [f"--{name}" for name in _FIXED if getattr(args, name)]
        fixed += [line.partition("=")[0] for line in wanted.get("overrides", ())]
        if fixed:
            call.remark(f"{', '.join(fixed)} is for what begins anew; what goes on keeps its own")
    seen = call.ask("runs", after=before)
    if args.no_wait:
        call.data(seen)
        call.tell("it is paused: wl resume run" if seen["paused"] else "begun; `wl run` follows it")
        return 0
    seen = run_progress.follow(call, {**seen, "at": before})
    if call.json:
        kept = {name: said for name, said in seen.items() if name not in ("at", "events")}
        output.write_json({"kind": "over", "at": time.time(), **kept})
    run_progress.table(call, seen)
    if seen["problem"]:
        return 3
    failed = [task for task in seen["tasks"] if task["state"] == "failed"]
    waits = [task for task in seen["tasks"] if not task["is_over"]]
    if any(visit["exhausted"] for task in failed for visit in task["visits"]):
        return 12
    if failed:
        return max(map(_exit_code, failed))
    return 10 if seen["blocked"] or seen["failed"] or waits else 0


def _exit_code(task: dict[str, Any]) -> int:
    """What a task that has failed exits with: what its last result says, if it says anything."""
    last = task["visits"][-1]["exit_code"] if task["visits"] else None
    return last or 10


def _taken(preview: dict[str, Any]) -> str:
    """What the work takes, in a sentence."""
    tasks, sessions = counted(preview["tasks"], "task"), counted(preview["sessions"], "session")
    pays = f", paid by: {printable_line(preview['pays'])}" if preview["pays"] else ""
    target = printable_line(preview["target"])
    return f"{tasks} to begin, {sessions} at least{pays}; it lands on {target}"


def _tasks(said: str | None) -> list[str] | None:
    if said is None:
        return None
    names = [name.strip() for name in said.split(",") if name.strip()]
    if not names:
        raise UserError(f"--tasks {said!r} names none", "--tasks API-1,API-2")
    return names


def _pipeline(said: str | None) -> str | None:
    """A plain file by its whole path, or the name of a pipeline: nothing else is opened there."""
    if said == "-":
        raise UserError("--pipeline - names no file", "name one, or a pipeline: wl pipeline list")
    if said is None or (os.sep not in said and not os.path.isfile(said)):
        return said
    if not os.path.isfile(said):
        raise UserError(f"--pipeline {said}: no such plain file", "wl pipeline list has the names")
    return os.path.abspath(said)
