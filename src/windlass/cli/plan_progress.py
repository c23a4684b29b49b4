"""The planning of a task as a terminal shows it: what happens, and the plan in the end."""

from __future__ import annotations

from typing import Any

from windlass.cli import money, progress_line
from windlass.cli.call import Call
from windlass.core.printable import printable, printable_line

_LOOK = 1.0
"""Seconds that one look takes at most: several daemons could die under a longer one, which it would
not survive."""


def follow(call: Call, task: str, run: str, *, after: int) -> dict[str, Any]:
    """Follows a planning to its end; returns where it stands then."""

    def look(before: dict[str, Any], _: float | None) -> dict[str, Any]:
        now: dict[str, Any] = call.ask(
            "plan.wait", task=task, run=run, after=before["at"], seconds=_LOOK
        )
        return now

    seen = call.ask("plan.wait", task=task, run=run)
    return progress_line.watch(
        call,
        {**seen, "at": after},
        look=look,
        is_over=lambda now: bool(now["is_over"]),
        lines=lambda now: [_standing(now["run"])],
        news=lambda now: now["events"],
        tell=lambda event: _tell(call, event),
    )


def show(call: Call, text: str) -> None:
    """Shows a plan to whoever watches a terminal: the output itself says where it lies."""
    call.progress(f"\n{printable(text).rstrip()}\n")


def _standing(run: dict[str, Any]) -> str:
    cost = f", {money.usd(run)}" if run["usd"] or run["notional_usd"] else ""
    why = f": {printable_line(run['why'])}" if run["why"] else ""
    return f"{printable_line(run['task'])} is being planned: {run['state']}{why}{cost}"


def _tell(call: Call, event: dict[str, Any]) -> None:
    """Says what somebody may have to act on."""
    task, agent = printable_line(event["task"]), printable_line(event.get("agent", ""))
    if event["kind"] == "plan.begun":
        call.remark(f"{task} is being planned by {agent}: wl look {agent}")
    elif event["kind"] == "run.waits" and event["question"]:
        asks = printable_line(event["question"])
        whom = printable_line(event.get("message", "")) or agent
        call.remark(f"{task} asks: {asks}   wl answer {whom} '...'")
