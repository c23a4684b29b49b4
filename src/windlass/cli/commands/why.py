"""Says how an agent's state is known: what decided it, what else was said, how old each word is.

Of a message (`msg-…`): what became of it so far, step by step, and why it is not further.
Of a task (`API-3`) or a change (`c12`): why it is where it is. Of a commit: when it landed, with
which verdict, and by which change, task and agent it came.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from windlass.cli import landed, receipts, render, task_view
from windlass.cli.call import Call
from windlass.core.ages import age
from windlass.core.errors import NotFound, WindlassError
from windlass.core.ids import MESSAGE, is_change, is_task
from windlass.core.printable import printable_line

EXAMPLES = (
    "wl why api",
    "wl why api --history --json",
    "wl why msg-5f0c",
    "wl why c12",
    "wl why API-3",
    "wl why 4f2a9c1",
)


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent, a message, a change or a commit."""
    parser.add_argument(
        "agent", nargs="?", metavar="SUBJECT", help="an agent, a message, a change or a commit"
    )
    parser.add_argument("--history", action="store_true", help="every state so far, oldest first")


def run(call: Call) -> int:
    """Prints how the state of an agent, or of a message, is known."""
    if (call.args.agent or "").startswith(MESSAGE):
        return _message(call)
    if is_change(call.args.agent or ""):
        return _change(call)
    if is_task(call.args.agent or ""):
        return _task(call)
    try:
        why = call.ask("why", agent=call.args.agent, history=call.args.history)
    except NotFound as no_agent:
        return _commit(call, no_agent)
    call.data(why)
    if call.json:
        return 0
    if call.args.history:
        return _history(call, why["history"])
    call.say(f"{call.paint(why['id'], 'bold')} is {call.paint(why['state'], 'bold')}")
    if why["ended_by"]:
        call.say(f"  ended by {why['ended_by']}")
    if why["winner"] is None:
        call.say("  nobody has said anything about it yet")
    else:
        call.say(f"  because  {_line(why['winner'])}")
    for loser in why["losers"]:
        call.say(call.paint(f"  not      {_line(loser)}", "dim"))
    if "stuck" in why:
        call.say(f"  not home {printable_line(why['stuck'])}")
    for report in why["refused"]:
        call.say(f"  refused  {printable_line(report)}")
    return 0


def _change(call: Call) -> int:
    change = call.ask("change", change=call.args.agent)
    call.data(change)
    if not call.json:
        landed.explain(call, change)
    return 0


def _task(call: Call) -> int:
    task = call.ask("task", task=call.args.agent)
    call.data(task)
    if not call.json:
        task_view.explain(call, task)
    return 0


def _commit(call: Call, no_agent: NotFound) -> int:
    """Where a commit came from; what names none was meant as an agent."""
    try:
        found = call.ask("commit", commit=call.args.agent)
    except WindlassError:
        raise no_agent from None
    call.data(found)
    if call.json:
        return 0
    target = printable_line(found["target"])
    commit = call.paint(found["commit"][:10], "bold")
    call.say(f"{commit}  {printable_line(found['subject'])}")
    if found["landing"] is None:
        call.say(f"  {target} has not got it")
    elif found["landing"]["by"] == "outside":
        call.say(f"  it came to {target} beside Windlass")
    if found["landing"] is not None:
        landed.landing(call, found["landing"])
    for change in found["changes"]:
        landed.say(call, change)
    return 0


def _message(call: Call) -> int:
    message = call.ask("message", message=call.args.agent)
    call.data(message)
    said = receipts.receipt(message)
    call.say(
        f"{call.paint(message['id'], 'bold')}, {message['from']} to {message['to']}, is {said}"
    )
    if message["note"]:
        call.say(f"  because  {printable_line(message['note'])}")
    now = time.time()
    call.say(call.paint("AGO   WHAT HAPPENED", "dim"))
    for event in message["history"]:
        # Whole, however long: who asks why wants the reason to its end.
        call.say(f"{age(now - event['at']):<4}  {_step(event, message)}")
    return 0


def _step(step: dict[str, Any], message: dict[str, Any]) -> str:
    """One thing that happened to a message, in words."""
    what, why = step["what"], printable_line(step["why"])
    match what:
        case "sent":
            return f"sent by {message['from']} to {message['to']}"
        case "received":
            return f"delivered by {why}" if why else "delivered"
        case "acked":
            return f"acknowledged by {why}" if why else "acknowledged"
        case "requeued":
            return f"did not arrive, and waits again: {why}"
    return f"{what}: {why}" if why else str(what)


def _history(call: Call, history: list[dict[str, Any]]) -> int:
    now = time.time()
    lines = [
        (
            age(now - change["at"]),
            change["state"],
            change["source"],
            printable_line(change["evidence"]),
        )
        for change in history
    ]
    render.table(call, ("AGO", "STATE", "SOURCE", "EVIDENCE"), lines, grow=3, spare=())
    return 0


def _line(seen: dict[str, Any]) -> str:
    return (
        f"{seen['source']} said {seen['value']} {age(seen['age'])} ago: "
        f"{printable_line(seen['evidence'])} (session {seen['session']})"
    )
