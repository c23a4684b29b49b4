"""Tries a change once more that came back or is held, or what was set aside or halted.

The very revision of the change is gated again: `wl merge` proposes what its branch has by now. What
waits for your approval is not tried before you give it: `wl approve`. A task is worked on from the
beginning, with a branch of its own.

What was set aside or halted, because the daemon died in it again and again, `wl doctor` lists. With
--back it is given up instead, and what can be taken back is: after a merge no checkout is left half
moved, and the branch stays where it is.
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from windlass.cli import landed, run_asked, unfinished
from windlass.cli.call import Call
from windlass.core.errors import NotFound, UserError
from windlass.core.ids import is_change, is_task

EXAMPLES = ("wl retry c12", "wl retry API-3", "wl retry api", "wl retry api --back")


def arguments(parser: ArgumentParser) -> None:
    """Takes a change, or an agent that it is about, or its id."""
    parser.add_argument(
        "agent", metavar="TASK|AGENT|CHANGE", help="or the id of what wl doctor --json shows"
    )
    parser.add_argument("--back", action="store_true", help="give it up: take back what can be")


def run(call: Call) -> int:
    """Tries it, or takes it back, and says what came of that."""
    if is_change(call.args.agent):
        return _change(call, call.args.agent)
    if is_task(call.args.agent):
        return _task(call)
    try:
        intent = _meant(call, call.args.agent, unfinished.listed(call))
    except NotFound as nothing:
        return _change(call, _change_of(call, nothing))
    done = call.ask("retry", intent=intent["id"], back=call.args.back)
    call.data(done)
    name = ", ".join(intent["agents"]) or intent["id"]
    how = "is given up, and what could be taken back was" if done["back"] else "is done"
    call.tell(f"{done['kind']} of {name} {how}")
    if done["back"] and (branch := intent.get("branch")):
        call.tell(f"{branch} stays where it is, merged or not: git log {branch}")
    return 0


def _task(call: Call) -> int:
    """Has a task that failed, or was given up, be worked on from the beginning."""
    task = call.ask("task.retry", task=call.args.agent)
    call.ask("run", tasks=[task["task"]], **run_asked.driver(), **run_asked.environment())
    call.data(task)
    goes_on = task["run"] is not None and not task["run"]["is_over"]
    again = "goes on" if goes_on else "is worked on once more, on a branch of its own"
    call.tell(f"{task['task']} {again}; `wl run` follows it")
    return 0


def _change_of(call: Call, nothing: NotFound) -> str:
    """The newest change of the agent or the branch that is meant, where nothing else is."""
    try:
        return str(call.ask("change", change=call.args.agent)["id"])
    except NotFound:
        raise nothing from None


def _change(call: Call, name: str) -> int:
    if call.args.back:
        raise UserError("--back is of what was set aside or halted", f"wl drop {name} gives it up")
    change = call.ask("change.retry", change=name)
    call.data(change)
    landed.say(call, change)
    return 0


def _meant(call: Call, wanted: str, intents: list[dict[str, Any]]) -> dict[str, Any]:
    exact = [intent for intent in intents if wanted in (intent["id"], *intent["agents"])]
    found = exact or [
        intent
        for intent in intents
        if any(name.startswith(wanted) for name in (intent["id"], *intent["agents"]))
    ]
    if not found:
        call.full_ids([wanted])  # says so where there is no such agent
        raise NotFound(
            f"nothing of {wanted} is set aside or halted", "`wl doctor` lists what is, if anything"
        )
    if len(found) > 1:
        ids = ", ".join(intent["id"] for intent in found)
        raise UserError(f"{wanted} may mean several", f"give the id of one: {ids}")
    return found[0]
