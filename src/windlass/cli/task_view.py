"""A task of the board with what its run made of it, as a terminal shows it."""

from __future__ import annotations

from typing import Any

from windlass.cli import money
from windlass.cli.call import Call
from windlass.core.board.tasks import MARKERS, PENDING
from windlass.core.printable import printable, printable_line

_COLOURS = {"landed": "green", "planned": "green", "failed": "red"}


def colour(state: str) -> str:
    """How the state of a run is painted: what is neither good nor bad stands out as well."""
    return _COLOURS.get(state, "yellow")


def show(call: Call, task: dict[str, Any]) -> None:
    """The task, the visits of its run, and what to type next."""
    say(call, task)
    run = task["run"]
    for visit in run["visits"] if run else ():
        again = f" (visit {visit['visit']})" if visit["visit"] > 1 else ""
        rounds = f", {visit['iterations']} iterations" if visit["iterations"] > 1 else ""
        sessions = f"{rounds}, {visit['sessions']} sessions" if visit["sessions"] > 1 else ""
        cost = f", {money.usd(visit)}" if visit["usd"] or visit["notional_usd"] else ""
        status = f" ({printable_line(visit['status'])})" if visit["status"] else ""
        call.say(
            f"  {printable_line(visit['step'])}{again}: {visit['result']}{status},"
            f" {visit['seconds']:.1f} s{sessions}{cost}"
        )
    if run and run["step"]:
        call.say(f"  {printable_line(run['step'])}{round_of(run)}: {run['state']}")
    if task["document"]:
        call.say("")
        call.say(printable(task["document"]).rstrip())
    if run and run["agent"]:
        agent = printable_line(run["agent"])
        change = f", wl show {run['change']}" if run["change"] else ""
        again = f"{_again(task)}, " if run["state"] == "failed" else ""
        look = "" if run["is_over"] else f"wl look {agent}, "
        call.say(f"\n  next  {again}{look}wl log {agent}{change}")


def round_of(run: dict[str, Any], *, first: bool = True) -> str:
    """Which visit and iteration of its step a run is at, and who looks at that."""
    said = [f"visit {run['visit']}"] if first or run["visit"] > 1 else []
    said += [f"iteration {run['iteration']}"] if run["iteration"] > 1 else []
    said += [run["duty"]] if run["duty"] != "work" else []
    return f" ({', '.join(said)})" if said else ""


def say(call: Call, task: dict[str, Any]) -> None:
    """Where a task stands, in a line or two."""
    run, name = task["run"], call.paint(task["task"], "bold")
    marker = task["marker"]
    board = "not on the board" if marker is None else f"[{marker}] {MARKERS[marker]}"
    call.say(f"{name}  {printable_line(task['title'])}  ({board})")
    if task["waits"]:
        call.say(f"  waits    {printable_line(task['waits'])}")
    elif run is None and marker == PENDING:
        call.say("  nobody has worked on it: wl run begins what is ready")
    if run is None:
        return
    state = call.paint(run["state"], colour(run["state"]))
    by = f", by {printable_line(run['agent'])}" if run["agent"] else ""
    change = f", {run['change']}" if run["change"] else ""
    commit = f" as {run['commit'][:10]}" if run["commit"] else ""
    cost = f", {money.usd(run)}" if run["usd"] or run["notional_usd"] else ""
    call.say(f"  {state}{commit}{by}{change}{cost}")
    if task["edited"]:
        edited = printable_line(", ".join(task["edited"]))
        call.say(f"  edited   {edited}: its run goes on with what it was")
    if run["why"]:
        call.say(f"  because  {printable_line(run['why'])}")


def explain(call: Call, task: dict[str, Any]) -> None:
    """Why a task is where it is: the last word of each visit that did not pass."""
    say(call, task)
    run = task["run"]
    for report in task["reports"]:
        first = printable_line(report["text"].strip().partition("\n")[0])
        is_said = run is not None and first in printable_line(run["why"])
        if report["result"] != "PASS" and not is_said:
            call.say(f"  {printable_line(report['step'])} gave {report['result']}: {first}")
    for verdict in run["verdicts"] if run else ():
        call.say(f"  it stopped: {printable_line(verdict['stopped'])}")
        call.say(f"  resume-decide said {verdict['answer']}: {printable_line(verdict['why'])}")
    if run and run["attempts"]:
        call.say(f"  its change came back {run['attempts']} times: wl why {run['change']}")
    if run and run["state"] == "failed":
        call.say(f"  to try it once more: {_again(task)}")


def _again(task: dict[str, Any]) -> str:
    """What has done once more what has failed."""
    if task["run"]["only_plans"]:
        return f"wl plan {task['task']} --agent"
    return f"wl retry {task['task']}"
