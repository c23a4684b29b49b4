"""Takes a change out of the queue for good, or gives a task up. Branch and agent stay.

An agent or a branch means its newest change. `wl merge` of the same branch proposes it anew, as
another change; `wl kill` ends an agent. A task that is dropped is stopped, and marked [N].
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import landed, task_view
from windlass.cli.call import Call
from windlass.core.ids import is_task

EXAMPLES = ("wl drop c12", "wl drop API-3", "wl drop c12 'done otherwise'")


def arguments(parser: ArgumentParser) -> None:
    """Takes a change and a reason."""
    parser.add_argument("change", metavar="TASK|CHANGE|AGENT|BRANCH")
    parser.add_argument("why", nargs="?", default="", help="why nobody wants it any more")


def run(call: Call) -> int:
    """Says it, and shows where the change stands then."""
    why = {"why": call.args.why} if call.args.why else {}
    if is_task(call.args.change):
        task = call.ask("task.drop", task=call.args.change, **why)
        call.data(task)
        task_view.say(call, task)
        if task["run"] is not None and not task["run"]["is_over"]:
            call.tell("  it is being stopped, and marked [N] then")
        return 0
    change = call.ask("drop", change=call.args.change, **why)
    call.data(change)
    landed.say(call, change)
    return 0
