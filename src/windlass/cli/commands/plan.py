"""Makes the plan of a task, .windlass/plans/TASK.md: begun with what it says, or by an agent.

Without an option the file has description, scope, criteria and dependencies, and the rest is yours
to write; no daemon is needed. With --agent an agent of the role plan-mode reads the repository and
writes the plan; it changes nothing else, and is ended when the plan is there. The board stays as it
is, and nothing is submitted. A task that has a plan comes earlier in `wl board next`, by 15,000,
and `wl run` tells all its steps what it says.

A plan that is there already stays as it is; --agent --again keeps it beside the new one. Ctrl-C
leaves an agent at its plan: the same command follows it again, --stop ends it.

What is printed is where the plan lies; a terminal also sees what it says.

Exit codes: 0 made, or there already; 10 the agent gave no plan, or was stopped; 1 the task has a
plan, is done, or is worked on.
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from windlass.cli import plan_progress, run_asked
from windlass.cli.call import Call
from windlass.core.errors import UserError
from windlass.core.printable import printable_line
from windlass.project import plans

_OF_AGENTS = ("again", "driver", "live", "no_wait")
EXAMPLES = (
    "wl plan TASK-001",
    "$EDITOR $(wl plan TASK-001)",
    "wl plan TASK-001 --agent",
    "wl plan TASK-001 --agent --again",
    "wl plan TASK-001 --stop",
    "wl plan TASK-001 --json",
)


def arguments(parser: ArgumentParser) -> None:
    """Takes the task, its board, and who writes the plan."""
    parser.add_argument("task", metavar="TASK")
    parser.add_argument("--file", metavar="FILE", help="a board (.windlass/kanban.md)")
    by_whom = parser.add_mutually_exclusive_group()
    by_whom.add_argument("--agent", action="store_true", help="have an agent write the plan")
    by_whom.add_argument("--stop", action="store_true", help="end the agent that writes one")
    parser.add_argument(
        "--again", action="store_true", help="with --agent: also where there is a plan"
    )
    parser.add_argument("--driver", metavar="NAME", help="with --agent: the agent CLI")
    parser.add_argument(
        "--live", action="store_true", help="with --agent: a session that can be joined"
    )
    parser.add_argument("--no-wait", action="store_true", help="with --agent: begin, and no more")


def run(call: Call) -> int:
    """Makes it, and prints where it lies."""
    args = call.args
    given = [f"--{name.replace('_', '-')}" for name in _OF_AGENTS if getattr(args, name)]
    if given and not args.agent:
        raise UserError(f"{given[0]} is for a plan by an agent", f"--agent {given[0]} has one made")
    if args.file and (args.agent or args.stop):
        raise UserError("agents plan tasks of the repository's own board", "leave out --file")
    if args.stop:
        return _stop(call)
    return _by_agent(call) if args.agent else _begun(call)


def _begun(call: Call) -> int:
    """Makes the file that a person goes on with."""
    plan = plans.make(call.args.task, board=call.args.file, remark=call.remark)
    call.data(plan._asdict())
    call.say(printable_line(plan.path))
    if not plan.made:
        call.remark(f"there is a plan for {plan.task} already: it stays as it is")
    return 0


def _stop(call: Call) -> int:
    stopped = call.ask("plan.stop", task=call.args.task)
    call.data(stopped)
    call.tell(f"the planning of {printable_line(stopped['task'])} is being ended")
    return 0


def _by_agent(call: Call) -> int:
    """Has it planned, or joins that, and follows it to its end."""
    args = call.args
    wanted: dict[str, Any] = {
        "task": args.task,
        **run_asked.driver(args.driver),
        **run_asked.environment(),
        "live": args.live or None,
        "again": args.again or None,
    }
    before = call.ask("runs")["at"]
    begun = call.ask("plan", **{name: said for name, said in wanted.items() if said is not None})
    task = printable_line(begun["task"])
    if begun["joined"]:
        call.remark(f"{task} is being planned already; this follows it")
    elif begun["pays"]:
        call.remark(f"paid by: {printable_line(begun['pays'])}")
    if args.no_wait:
        call.data(begun)
        call.tell(f"begun; `wl plan {task} --agent` follows it, `wl plan {task} --stop` ends it")
        return 0
    seen = plan_progress.follow(call, begun["task"], begun["run"], after=before)
    run = seen["run"]
    call.data(
        {
            "task": begun["task"],
            "path": seen["path"],
            "made": run["state"] == "planned",
            "outcome": run["state"],
            "why": run["why"],
            "text": seen["text"],
            "run": begun["run"],
            "agent": run["agent"],
            "usd": run["usd"],
            "notional_usd": run["notional_usd"],
        }
    )
    if run["state"] != "planned":
        call.remark(f"{task} was not planned, {run['state']}: {printable_line(run['why'])}")
        return 10
    plan_progress.show(call, seen["text"])
    if run["why"]:
        call.remark(printable_line(run["why"]))
    call.say(printable_line(seen["path"]))
    return 0
