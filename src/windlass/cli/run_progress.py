"""The work on a board as a terminal shows it, while it goes on and when it is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from windlass.cli import money, output, progress_line, render, task_view
from windlass.cli.call import Call
from windlass.core import ages
from windlass.core.printable import printable_line

_LOOK = 1.0
"""Seconds that one look takes at most: several daemons could die under a longer one, which it would
not survive."""
_BAR = 20
_MOST = 12
"""Tasks that are shown while they are at work."""
_TASK, _DOING = 9, 24
"""Places that a task's name takes, and what it does."""
_LANDING = ("is submitted", "waits to land")
_STOPPED = {"rejected": "came back", "conflict": "came back", "held": "is held"}

Tell = Callable[[Call, dict[str, Any]], None]


def follow(call: Call, seen: dict[str, Any], tell: Tell | None = None) -> dict[str, Any]:
    """Tells what happens until the board is worked off; on a terminal, below it, where it stands.

    It is told by `tell`, or as a line of JSON for programs and a sentence for people.
    """

    def look(before: dict[str, Any], _: float | None) -> dict[str, Any]:
        now: dict[str, Any] = call.ask("runs.wait", after=before["at"], seconds=_LOOK)
        return now

    return progress_line.watch(
        call,
        seen,
        look=look,
        is_over=lambda now: bool(now["is_over"]),
        lines=lambda now: [*_standing(now)],
        news=lambda now: now["events"],
        tell=lambda event: (tell or _tell)(call, event),
    )


def _tell(call: Call, event: dict[str, Any]) -> None:
    if call.json:
        output.write_json(event)
    else:
        say(call, event)


def say(call: Call, event: dict[str, Any]) -> None:
    """One thing that happened, in a sentence."""
    if said := _said(call, event):
        lead = f"{render.padded(printable_line(event.get('task', '')), _TASK)} "
        call.tell(render.folded(call, lead, said, indent=_TASK + 1))


def _said(call: Call, event: dict[str, Any]) -> str:
    match event["kind"]:
        case "run.begun":
            return f"begins; its agent is {printable_line(event['agent'])}"
        case "run.waits" if event["question"]:
            asks = call.paint(f"asks: {printable_line(event['question'])}", "yellow")
            return f"{asks}   wl answer {printable_line(event['agent'])} '...'"
        case "step.ended" if event["result"]:
            visit = f" (visit {event['visit']})" if event["visit"] > 1 else ""
            step = f"{printable_line(event['step'])}{visit}"
            result = event["result"]
            colour = {"FAIL": "red", "UNKNOWN": "red", "FIX": "yellow"}.get(result)
            return f"{step}: {call.paint(result, colour) if colour else result}"
        case "step.iterated" if event["duty"] != "summary":
            return _iterated(event)
        case "run.submitted":
            return f"is done, and waits to land as {event['change']}"
        case "change.stopped" if event["state"] in _STOPPED:
            why = f"{_STOPPED[event['state']]}: {printable_line(event['why'])}"
            return f"{event['change']} {call.paint(why, 'red')}"
        case "run.ended":
            outcome = call.paint(event["outcome"], task_view.colour(event["outcome"]))
            at = f" as {event['commit'][:10]}" if event.get("commit") else ""
            why = f": {printable_line(event['why'])}" if event.get("why") else ""
            return f"{outcome}{at}{why}"
        case "task.postponed":
            return f"waits: {printable_line(event['why'])}"
        case "task.edited":
            fields = printable_line(", ".join(event["fields"]))
            return f"was edited ({fields}): its run goes on with what it was"
        case "board.held":
            return f"no more is begun for now: {printable_line(event['why'])}"
        case "task.unmarked":
            return f"could not be marked [{event['marker']}]: {printable_line(event['why'])}"
        case _:
            return ""


def _iterated(event: dict[str, Any]) -> str:
    step, answer = printable_line(event["step"]), event.get("answer") or "nothing"
    match event["duty"]:
        case "resume":
            return f"{step} gave no result, and resume-decide says {answer}"
        case "supervisor":
            return f"{step}, iteration {event['iteration']}: the supervisor says {answer}"
        case _:
            return f"{step}, iteration {event['iteration']}: over"


def _standing(seen: dict[str, Any]) -> Iterator[str]:
    """A bar for the board, and what each task at work does."""
    tasks = seen["tasks"]
    at_work = [task for task in tasks if not task["is_over"]]
    over, whole = len(tasks) - len(at_work), len(tasks) + seen["left"]
    landing = sum(task["state"] in _LANDING for task in at_work)
    parts = [f"{over} of {whole} finished", f"{len(at_work) - landing} at work"]
    parts += [f"{landing} landing"] if landing else []
    parts += [f"{seen['left']} to begin"] if seen["left"] else []
    parts += ["paused: wl resume run"] if seen["paused"] else []
    parts += [f"held: {printable_line(seen['held'])}"] if seen["held"] else []
    parts += [printable_line(seen["problem"])] if seen["problem"] else []
    yield f"{bar(over, whole)}  {', '.join(parts)}"
    for task in at_work[:_MOST]:
        yield _doing(task)
    if len(at_work) > _MOST:
        yield f"  and {len(at_work) - _MOST} more"


def bar(part: int, whole: int) -> str:
    """How much of a board is over, drawn."""
    filled = _BAR * part // max(1, whole)
    return "█" * filled + "·" * (_BAR - filled)


def _doing(task: dict[str, Any]) -> str:
    age = ages.age(max(0.0, time.time() - task["began_at"]))
    what = printable_line(task["step"]) if task["state"] == "works" else task["state"]
    if task["state"] == "works":
        what += task_view.round_of(task, first=False)
    about = task["why"] or task["title"]
    cost = f" {money.usd(task)}" if task["usd"] or task["notional_usd"] else ""
    name, doing = render.padded(task["task"], _TASK), render.padded(what, _DOING)
    return f"  {name} {doing} {age:>4}{cost}  {printable_line(about)}"


def _visited(visit: dict[str, Any]) -> str:
    """A visit of a step; most pass, and at once, so that is not said."""
    result = "" if visit["result"] == "PASS" else f"={visit['result']}"
    times = f" in {visit['iterations']}" if visit["iterations"] > 1 else ""
    return f"{visit['step']}{result}{times}"


def table(call: Call, seen: dict[str, Any]) -> None:
    """What became of each task: outcome, steps and visits, iterations, cost, change, commit."""
    rows = [
        (
            task["task"],
            task["state"],
            " ".join(map(_visited, task["visits"])),
            str(sum(visit["iterations"] for visit in task["visits"])),
            money.usd(task),
            task["change"],
            task["commit"][:10],
            task["why"],
        )
        for task in seen["tasks"]
    ]
    earlier = [name for name in seen["failed"] if name not in {row[0] for row in rows}]
    head = ("task", "outcome", "steps", "iterations", "cost", "change", "commit", "")
    if rows:
        render.table(call, head, rows, grow=len(head) - 1, spare=(3, 4, 5))
    elif not (earlier or seen["blocked"] or seen["problem"]):
        call.tell("nothing is left to do on the board")
    for name in earlier:
        call.say(f"{name}  failed before: wl retry {name}")
    for name in seen["blocked"]:
        call.say(f"{name}  waits for others: wl board show {name}")
    if seen["problem"]:
        call.say(f"begun no more: {printable_line(seen['problem'])}")
