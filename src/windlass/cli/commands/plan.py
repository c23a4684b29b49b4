"""Makes the file that a task's plan goes into: .windlass/plans/TASK.md, begun with what it says.

Description, scope, criteria and dependencies come from the board; the rest is yours to write. One
that is there already stays as it is. A task that has a plan comes earlier in `wl board next`, by
15,000. No daemon is needed, and no agent writes anything into it: that is yours, or your session's.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call
from windlass.core.printable import printable_line
from windlass.project import plans

EXAMPLES = ("wl plan TASK-001", "$EDITOR $(wl plan TASK-001)", "wl plan TASK-001 --json")


def arguments(parser: ArgumentParser) -> None:
    """Takes the task, and its board."""
    parser.add_argument("task", metavar="TASK")
    parser.add_argument("--file", metavar="FILE", help="a board (.windlass/kanban.md)")


def run(call: Call) -> None:
    """Makes it, and prints where it lies."""
    plan = plans.make(call.args.task, board=call.args.file, remark=call.remark)
    call.data(plan._asdict())
    call.say(printable_line(plan.path))
    if not plan.made:
        call.remark(f"there is a plan for {plan.task} already: it stays as it is")
