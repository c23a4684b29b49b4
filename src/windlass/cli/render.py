"""How things look in a terminal: tables, trees, events. Everything shown is neutralised first."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from windlass.cli.call import Call
from windlass.cli.output import unpainted
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
_LEAST = 12
"""What a text that is cut should keep."""
_GOAL = 120
"""What a goal may take where no terminal says: some are whole files. `--json` has them whole."""


_OBJECT = re.compile(r"\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b")
_DIGITS = 12


def table(
    call: Call,
    head: Sequence[str],
    lines: Sequence[Sequence[str]],
    *,
    grow: int,
    spare: Sequence[int] = (),
) -> None:
    """Prints columns; on a terminal they are made to fit it.

    The column `grow` is cut first, then those of `spare` are left out in their order, then the
    widest is cut. Somewhere else than on a terminal columns have the room that they need.
    """
    rows = [[printable_line(cell) for cell in row] for row in (head, *lines)]
    widths = {column: max(width(row[column]) for row in rows) for column in range(len(head))}
    if call.terminal:
        widths = fitted(widths, columns(), grow=grow, spare=spare)
    for number, row in enumerate(rows):
        cells = []
        for column, room in widths.items():
            cell = padded(row[column], room)
            state = number and head[column] == "STATE"
            cells.append(call.paint(cell, STATE_COLOURS.get(row[column], "dim")) if state else cell)
        line = "  ".join(cells).rstrip()
        call.say(line if number else call.paint(line, "dim"))


def fitted(widths: dict[int, int], room: int, *, grow: int, spare: Sequence[int]) -> dict[int, int]:
    """The columns that are left, and their widths, when only so much room is there."""
    kept = dict(widths)

    def excess() -> int:
        return sum(kept.values()) + 2 * (len(kept) - 1) - room

    if excess() <= 0:
        return kept
    kept[grow] = min(kept[grow], _LEAST)
    for column in spare:
        if excess() > 0:
            del kept[column]
    if grow in kept:
        kept[grow] = min(widths[grow], kept[grow] + max(0, -excess()))
    while excess() > 0 and max(kept.values()) > 1:
        kept[max(kept, key=lambda column: kept[column])] -= 1
    return kept


def columns() -> int:
    """How wide the terminal is; `shutil`'s way would load four compressors first."""
    with suppress(ValueError, OSError):
        return int(os.environ.get("COLUMNS", "0")) or os.get_terminal_size(1).columns or 80
    return 80


def width(text: str) -> int:
    """How many places of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(_places, text))


def _places(char: str) -> int:
    from unicodedata import category, east_asian_width  # noqa: PLC0415 - most text is ASCII

    if category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(char) in ("W", "F") else 1


def fit(text: str, room: int) -> str:
    """Cuts a text to so many places, and shows that it did."""
    if width(text) <= room:
        return text
    end, left = 0, room - 1
    while end < len(text) and left >= (places := _places(text[end])):
        left -= places
        end += 1
    return text[:end] + "…" if room > 0 else ""


def padded(text: str, room: int) -> str:
    """Cuts or fills a text to exactly so many places."""
    cut = fit(text, room)
    return cut + " " * (room - width(cut))


def advice(call: Call, text: str, command: str) -> str:
    """Something to know, and the command to type about it, which is never cut."""
    line = printable_line(text)
    if call.terminal:
        line = fit(line, max(_LEAST, columns() - width(command) - 4))
    return f"{line}    {command}"


def folded(call: Call, lead: str, text: str, *, indent: int) -> str:
    """A line that a terminal would break in the middle of a word, broken between words instead.

    What follows stands below, indented. Elsewhere it is one line, for programs. `lead` is kept.
    """
    if not call.terminal:
        return f"{lead}{text}".rstrip()
    room = max(columns(), indent + _LEAST)
    left = room - width(unpainted(lead))
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".lstrip()
        # Below, a word stands alone at worst: the terminal breaks what is longer than a line.
        if width(unpainted(longer)) <= left or (len(lines) > 1 and not lines[-1]):
            lines[-1] = longer
        else:
            lines.append(word)
            left = room - indent
    first, *rest = lines
    return "\n".join([f"{lead}{first}".rstrip(), *(" " * indent + line for line in rest)])


def agents(
    call: Call, listed: list[dict[str, Any]], *, places: Mapping[str, str] | None = None
) -> None:
    """Prints agents as a table, children below their parents, and where if that differs.

    Where is a repository's name in `places`, by id; of one that is not there, the id.
    """
    indents = depths(listed)
    several = len({agent["repo"] for agent in listed}) > 1
    lines = [
        (
            "  " * indents[agent["uid"]] + agent["id"],
            agent["state"],
            age(agent["state_age"]),
            agent["role"],
            level(agent),
            agent["branch"] or "(your checkout)",
            age(agent["age"]),
            *(((places or {}).get(agent["repo"], agent["repo"]),) if several else ()),
            goal(call, agent["goal"]),
        )
        for agent in listed
    ]
    repo_column = ("REPO",) if several else ()
    head = ("AGENT", "STATE", "FOR", "ROLE", "LEVEL", "BRANCH", "AGE", *repo_column, "GOAL")
    table(call, head, lines, grow=len(head) - 1, spare=(6, 5, 3, 4, 2))


def short_paths(paths: Mapping[str, str]) -> dict[str, str]:
    """Each path by its last part, or by as many of its last parts as tell it from the others."""
    parts = {key: path.strip("/").split("/") for key, path in paths.items()}

    def short(key: str) -> str:
        own = parts[key]
        for count in range(1, len(own)):
            if sum(other[-count:] == own[-count:] for other in parts.values()) == 1:
                return "/".join(own[-count:])
        return paths[key]

    return {key: short(key) for key in parts}


def shortened(text: str) -> str:
    """A text with each whole id of git's by its first digits, which it is known by as well."""
    return _OBJECT.sub(lambda found: found.group()[:_DIGITS], text)


def counted(count: int, thing: str, things: str = "") -> str:
    """A number of things: `1 commit`, `2 commits`, `3 entries`."""
    return f"{count} {thing if count == 1 else things or thing + 's'}"


def level(agent: dict[str, Any]) -> str:
    """What confines an agent, and what it reaches from there where that is not everything."""
    network = agent["network"] if agent["isolation"] == "box" else "host"
    return agent["isolation"] if network == "host" else f"{agent['isolation']}, {network}"


def goal(call: Call, text: str) -> str:
    """A goal as a cell of a table, which a terminal cuts."""
    line = printable_line(text)
    return line if call.terminal else fit(line, _GOAL)


def depths(listed: list[dict[str, Any]]) -> dict[str, int]:
    """How deep each listed agent is, by uid; lists come in the order of the tree."""
    counts: dict[str, int] = {}
    for agent in listed:
        counts[agent["uid"]] = counts.get(agent.get("parent_uid") or "", -1) + 1
    return counts


def tree(call: Call, listed: list[dict[str, Any]], *, indent: str = "") -> list[str]:
    """Draws agents as a tree, one line each, whatever their parents are said to be."""
    uids = {agent["uid"] for agent in listed}
    children: dict[str | None, list[dict[str, Any]]] = {}
    for agent in listed:
        parent = agent.get("parent_uid")
        children.setdefault(parent if parent in uids else None, []).append(agent)
    lines: list[str] = []
    drawn: set[str] = set()
    # The tops first; who is in a ring has none, and is drawn all the same.
    waiting = [(agent, indent, indent) for agent in reversed([*children.get(None, []), *listed])]
    while waiting:
        agent, lead, below = waiting.pop()
        if agent["uid"] in drawn:
            continue
        drawn.add(agent["uid"])
        lines.append(_branch(call, agent, lead))
        group = children.get(agent["uid"], [])
        for child in reversed(group):
            last = child is group[-1]
            waiting.append(
                (child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))
            )
    return lines


_ROOMY = 40


def _branch(call: Call, agent: dict[str, Any], lead: str) -> str:
    room = columns() if call.terminal else 120
    lead = lead[-(room // 3) :]
    state, since = agent["state"], age(agent["state_age"])
    if room >= _ROOMY:
        since = f"{since}  {level(agent)}"
    name = fit(f"{lead}{agent['id']}", room - len(f"  {state} {since}"))[len(lead) :]
    left = room - width(f"{lead}{name}  {state} {since}  ")
    goal = fit(printable_line(agent["goal"]), left) if left >= _LEAST else ""
    painted = call.paint(state, STATE_COLOURS.get(state, "dim"))
    line = f"{lead}{call.paint(name, 'bold')}  {painted} {since}"
    return f"{line}  {call.paint(goal, 'dim')}" if goal else line


def size(count: float) -> str:
    """A number of bytes for people."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"
