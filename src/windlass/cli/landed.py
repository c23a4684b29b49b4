"""What is said of changes: where each stands, and why one did not land."""

from __future__ import annotations

from typing import Any

from windlass.cli.call import Call
from windlass.core.printable import printable_line

_NAMED = 10
_COLOURS = {
    "landed": "green",
    "rejected": "red",
    "conflict": "red",
    "held": "yellow",
}


def say(call: Call, change: dict[str, Any]) -> None:
    """Prints one change, with its ticket where it has one."""
    state = change["state"]
    word = call.paint(state.replace("-", " "), _COLOURS.get(state, ""))
    branch, target = printable_line(change["branch"]), printable_line(change["target"])
    where = f" as {change['commit'][:10]}" if change["commit"] and state == "landed" else ""
    call.say(f"{change['change']}  {branch} → {target}  {word}{where}")
    if change["why"]:
        call.say(f"  {printable_line(change['why'])}")
    ticket = change["ticket"]
    if ticket is None:
        return
    for name in ticket["failed"][:_NAMED]:
        call.say(f"  {printable_line(name)}")
    if len(ticket["failed"]) > _NAMED:
        call.say(f"  and {len(ticket['failed']) - _NAMED} more")
    for path in ticket["paths"][:_NAMED]:
        call.say(f"  {printable_line(path)}")
    if ticket["log"]:
        call.say(f"  log: {printable_line(ticket['log'])}")
    if ticket["reproduce"]:
        call.say(f"  to see it again: {printable_line(ticket['reproduce'])}")
