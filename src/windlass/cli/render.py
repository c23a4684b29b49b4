"""How things look in a terminal: tables, trees, events. Everything shown is neutralised first."""

from __future__ import annotations

import time
from collections.abc import Sequence
from shutil import get_terminal_size
from typing import Any

from windlass.cli.call import Call
from windlass.core.ages import age
from windlass.core.printable import printable_line

STATE_COLOURS = {
    "creating": "cyan",
    "running": "green",
    "asking": "magenta",
    "waiting": "yellow",
    "complete": "blue",
    "compacting": "cyan",
    "rate_limited": "red",
    "paused": "dim",
    "stopped": "red",
    "unknown": "magenta",
    "ended": "dim",
}


def table(call: Call, head: Sequence[str], lines: Sequence[Sequence[str]], *, grow: int) -> None:
    """Prints columns, the one numbered `grow` cut to what the terminal leaves for it."""
    rows = [head, *lines]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    if call.terminal:
        room = get_terminal_size().columns - sum(widths) - 2 * (len(head) - 1)
        widths[grow] = max(12, widths[grow] + min(0, room))
    for number, row in enumerate(rows):
        cells = []
        for column, cell in enumerate(row):
            text = _fit(cell, widths[column]) if call.terminal or column != grow else cell
            last = column == len(row) - 1
            shown = text if last else text.ljust(widths[column])
            colour = STATE_COLOURS.get(cell)
            cells.append(call.paint(shown, colour) if colour and number else shown)
        line = "  ".join(cells).rstrip()
        call.say(call.paint(line, "dim") if number == 0 else line)


def _fit(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(1, width - 1)] + "…"


def agents(call: Call, listed: list[dict[str, Any]]) -> None:
    """Prints agents as a table, children below their parents."""
    indents = depths(listed)
    lines = [
        (
            "  " * indents[agent["uid"]] + agent["id"],
            agent["state"],
            age(agent["state_age"]),
            agent["role"],
            agent["isolation"],
            agent["branch"] or "(your checkout)",
            age(agent["age"]),
            printable_line(agent["goal"]),
        )
        for agent in listed
    ]
    head = ("AGENT", "STATE", "FOR", "ROLE", "LIMIT", "BRANCH", "AGE", "GOAL")
    table(call, head, lines, grow=len(head) - 1)


def depths(listed: list[dict[str, Any]]) -> dict[str, int]:
    """How deep each listed agent is; lists come in the order of the tree."""
    by_name = {agent["id"]: agent for agent in listed}
    found: dict[str, int] = {}
    for agent in listed:
        above = by_name.get(agent["parent"] or "")
        found[agent["uid"]] = found.get(above["uid"], -1) + 1 if above else 0
    return found


def tree(call: Call, listed: list[dict[str, Any]]) -> list[str]:
    """Draws agents as a tree, one line each."""
    names = {agent["id"] for agent in listed}
    children: dict[str | None, list[dict[str, Any]]] = {}
    for agent in listed:
        parent = agent["parent"] if agent["parent"] in names else None
        children.setdefault(parent, []).append(agent)
    lines: list[str] = []

    def draw(parent: str | None, lead: str) -> None:
        group = children.get(parent, [])
        for number, agent in enumerate(group):
            last = number == len(group) - 1
            stem = "" if parent is None else ("└─ " if last else "├─ ")
            state = call.paint(agent["state"], STATE_COLOURS.get(agent["state"], "dim"))
            goal = printable_line(agent["goal"])
            width = (get_terminal_size().columns if call.terminal else 120) - 34 - len(lead)
            lines.append(
                f"{lead}{stem}{call.paint(agent['id'], 'bold')}  {state} "
                f"{age(agent['state_age'])}  {call.paint(_fit(goal, max(12, width)), 'dim')}"
            )
            draw(agent["id"], lead if parent is None else lead + ("   " if last else "│  "))

    draw(None, "")
    return lines


def event(call: Call, item: dict[str, Any]) -> str:
    """One event as one line."""
    when = time.strftime("%H:%M:%S", time.localtime(item["at"]))
    who = item["agent"] or "-"
    return f"{call.paint(when, 'dim')} {who:<20} {item['kind']:<20} {describe(item)}".rstrip()


def describe(item: dict[str, Any]) -> str:
    """What an event says, beyond its kind."""
    data = item["data"]
    match item["kind"]:
        case "agent.state":
            return f"{data['was']} -> {data['now']} ({data['source']}: {_short(data['evidence'])})"
        case "agent.created":
            under = f" under {data['parent']}" if data["parent"] else ""
            return f"{data['role']}{under}, from {data['base_from']}: {_short(data['goal'])}"
        case "agent.merged":
            return f"into {data['into']}, {data['commit'][:10]} ({data['verdict']})"
        case "agent.ended" | "agent.ending":
            return f"{data['how']} by {data['by']}"
        case "session.ended":
            return f"session {data['session']} {data['how']}"
        case "note" | "message.received" | "message.sent":
            party = data.get("sender") or data.get("to") or data.get("by") or ""
            return f"{party}: {_short(data['text'], 200)}"
    return " ".join(
        f"{name}={_short(value)}" for name, value in data.items() if value not in (None, "", [], {})
    )


def _short(value: Any, width: int = 80) -> str:
    return _fit(printable_line(str(value)), width)


def size(count: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"
