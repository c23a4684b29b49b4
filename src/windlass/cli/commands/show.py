"""Shows a task, a change or an agent: where it stands, what came of it, and what to type next.

Of a change: its revisions, verdict, approval, and what failed, with the line that shows it again.
Of a task: its text, each visit of a step with its result, its agent and its change.
Of an agent: its state, commits and uncommitted work, and its change if it has one.
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from windlass.cli import landed, task_view, unfinished
from windlass.cli.call import Call
from windlass.cli.commands import status
from windlass.core.errors import NotFound
from windlass.core.ids import is_change, is_task

EXAMPLES = ("wl show c12", "wl show API-3", "wl show api", "wl show my-branch --json")


def arguments(parser: ArgumentParser) -> None:
    """Takes a change, an agent, or a branch that was proposed."""
    parser.add_argument("subject", metavar="TASK|CHANGE|AGENT|BRANCH")


def run(call: Call) -> int:
    """Prints what is known of it."""
    name = call.args.subject
    if is_change(name):
        return _change(call, call.ask("change", change=name))
    if is_task(name):
        task = call.ask("task", task=name)
        call.data(task)
        if not call.json:
            task_view.show(call, task)
        return 0
    try:
        (agent,) = call.ask("status", agent=name)["agents"]
    except NotFound as no_agent:
        change = _change_of(call, name)
        if change is None:
            raise NotFound(f"no agent, change or branch {name!r}", no_agent.hint) from None
        return _change(call, change)
    return _agent(call, agent)


def _change(call: Call, change: dict[str, Any]) -> int:
    call.data(change)
    if not call.json:
        landed.show(call, change)
    return 0


def _agent(call: Call, agent: dict[str, Any]) -> int:
    change = _change_of(call, agent["id"])
    call.data({**agent, "change": change})
    if call.json:
        return 0
    left = unfinished.attached(unfinished.listed(call))
    status.show_one(call, agent, left.get((agent["repo"], agent["id"])))
    if change is not None:
        landed.say(call, change)
    call.say(f"  {'next':<10} wl look {agent['id']}, wl diff {agent['id']}, wl why {agent['id']}")
    return 0


def _change_of(call: Call, name: str) -> dict[str, Any] | None:
    """The newest change of an agent or a branch; None where nothing of it was proposed."""
    try:
        change: dict[str, Any] = call.ask("change", change=name)
    except NotFound:
        return None
    return change
