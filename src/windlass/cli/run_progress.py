"""The work on a board as a terminal shows it, while it goes on and when it is over."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from windlass.cli import money, output, progress_line, render, task_view
from windlass.cli.call import Call
from windlass.core import ages
from windlass.core.printable import printable_line

_BAR = 20


def follow(call: Call, seen: dict[str, Any]) -> dict[str, Any]:
    """Shows what happens until the board is worked off: lines, and on a terminal one that moves."""

    def look(before: dict[str, Any], seconds: float | None) -> dict[str, Any]:
        now: dict[str, Any] = call.ask("runs.wait", after=before["at"], seconds=seconds)
        return now

    return progress_line.watch(
        call,
        seen,
        look=look,
        is_over=lambda now: bool(now["is_over"]),
        line=_line,
        news=lambda now: now["events"],
        tell=partial(_tell, call),
    )


def _tell(call: Call, event: dict[str, Any]) -> None:
    """One thing that happened: a line of JSON for a program, a sentence for people."""
    if call.json:
        output.write_json(event)
        return
    task = printable_line(event.get("task", ""))
    match event["kind"]:
        case "run.begun":
            call.tell(f"{task}  begun, by {printable_line(event['agent'])}")
        case "run.waits" if event["question"]:
            asks = call.paint(f"asks: {printable_line(event['question'])}", "yellow")
            call.tell(f"{task}  {asks}   wl answer {printable_line(event['agent'])} '...'")
        case "step.ended" if event["result"]:
            seconds = f"{event['seconds']:.1f} s"
            visit = f" (visit {event['visit']})" if event["visit"] > 1 else ""
            call.tell(
                f"{task}  {printable_line(event['step'])}{visit}: {event['result']}, {seconds}"
            )
        case "step.iterated" if event["duty"] != "summary":
            said = f"the supervisor says {event.get('answer') or 'nothing'}"
            over = said if event["duty"] == "supervisor" else "over"
            step = printable_line(event["step"])
            call.tell(f"{task}  {step}, iteration {event['iteration']}: {over}")
        case "run.ended":
            outcome = call.paint(event["outcome"], task_view.colour(event["outcome"]))
            at = f" as {event['commit'][:10]}" if event.get("commit") else ""
            why = f": {printable_line(event['why'])}" if event.get("why") else ""
            call.tell(f"{task}  {outcome}{at}{why}")
        case "task.postponed":
            call.tell(f"{task}  waits: {printable_line(event['why'])}")
        case "task.edited":
            fields = printable_line(", ".join(event["fields"]))
            call.tell(f"{task}  was edited ({fields}): its run goes on with what it was")
        case "board.held":
            call.tell(f"no more is begun for now: {printable_line(event['why'])}")
        case "task.unmarked":
            why = printable_line(event["why"])
            call.tell(f"{task}  could not be marked [{event['marker']}]: {why}")


def _line(seen: dict[str, Any]) -> str:
    """A bar for the board, and what each task at work does."""
    tasks = seen["tasks"]
    over = sum(task["is_over"] for task in tasks)
    filled = _BAR * over // max(1, len(tasks))
    bar = "█" * filled + "·" * (_BAR - filled)
    doing = [_doing(task) for task in tasks if not task["is_over"]]
    problem = f"  {printable_line(seen['problem'])}" if seen["problem"] else ""
    problem = f"  held: {printable_line(seen['held'])}" if seen["held"] else problem
    problem = "  paused: wl resume run" if seen["paused"] else problem
    return f"{bar} {over}/{len(tasks)}  {'  '.join(doing)}{problem}"


def _doing(task: dict[str, Any]) -> str:
    age = ages.age(max(0.0, time.time() - task["began_at"]))
    step = f" {printable_line(task['step'])}" if task["step"] else f" {task['state']}"
    visit = f"#{task['visit']}" if task["visit"] > 1 else ""
    cost = f" {money.usd(task)}" if task["usd"] or task["notional_usd"] else ""
    return f"{task['task']}{step}{visit} {age}{cost}"


def _visited(visit: dict[str, Any]) -> str:
    times = f" in {visit['iterations']}" if visit["iterations"] > 1 else ""
    return f"{visit['step']}={visit['result']}{times}"


def table(call: Call, seen: dict[str, Any]) -> None:
    """What became of each task: outcome, steps and visits, iterations, cost, change, commit."""
    rows = [
        (
            task["task"],
            task["state"],
            " ".join(f"{visit['step']}={visit['result']}" for visit in task["visits"]),
            str(sum(visit["iterations"] for visit in task["visits"])),
            money.usd(task),
            task["change"],
            task["commit"][:10],
            task["why"],
        )
        for task in seen["tasks"]
    ]
    head = ("task", "outcome", "steps", "iterations", "cost", "change", "commit", "")
    render.table(call, head, rows, grow=2)
    for name in seen["blocked"]:
        call.say(f"{name}  waits for others: wl board show {name}")
    if seen["problem"]:
        call.say(f"begun no more: {printable_line(seen['problem'])}")
