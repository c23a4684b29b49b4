"""What kill, nuke and merge say about what they ended."""

from __future__ import annotations

from typing import Any

from windlass.cli.call import Call
from windlass.cli.render import counted
from windlass.core import errors
from windlass.core.errors import Internal
from windlass.core.landing import orphans
from windlass.core.printable import printable, printable_line


def tell(call: Call, done: dict[str, Any]) -> int:
    """Says who ended, what was kept, and what could not be; returns what to exit with."""
    for agent in done["ended"]:
        kept = agent["trash"]
        if agent["archived"] is not None:
            where = printable_line(agent["archived"])
            call.tell(f"{agent['id']} ended; its repository is gone, its files are in {where}")
            continue
        if kept is None:
            call.tell(f"{agent['id']} ended")
            continue
        call.tell(f"{agent['id']} ended; its work is kept as {kept['id']}")
        for late in agent.get("late", []):
            call.tell(f"  something was written there meanwhile; that is kept as {late['id']}")
        if dropped := kept["summary"]["dropped"]:
            what = f"{counted(dropped, 'thing')} {'was' if dropped == 1 else 'were'}"
            call.tell(f"  {what} too big or odd to keep: wl trash show {kept['id']}")
    if done["orphans"]:
        below = counted(len(done["orphans"]), "agent")
        call.tell(f"{below} below went to the next manager up")
    for note in done["notes"]:
        call.tell(note)
    if any(agent["trash"] for agent in done["ended"]):
        call.tell("`wl undo` brings back what just ended")
    return tell_failed(call, done, "ended")


def proposed(call: Call) -> list[dict[str, Any]]:
    """The changes that are not over, as long as their authors are there."""
    changes: list[dict[str, Any]] = call.ask("unfinished")["changes"]
    return changes


def tell_changes(call: Call, done: dict[str, Any], known: list[dict[str, Any]]) -> None:
    """Says what becomes of the changes of those who ended."""
    ended = {agent["id"] for agent in done["ended"]}
    for change in known:
        told = orphans.told(change["id"], change["state"], change["author"] or "")
        if change["author"] in ended and told:
            call.tell(printable_line(told))


def tell_failed(call: Call, done: dict[str, Any], what: str) -> int:
    """Says who could not be `what`, and why; returns what to exit with."""
    for agent in done["failed"]:
        call.tell(f"{agent['id']} could not be {what}: {printable(agent['message'])}")
        call.tell(f"  {printable_line(agent['hint'])}")
    kinds = [errors.BY_KIND.get(agent["kind"], Internal) for agent in done["failed"]]
    return kinds[0].exit_code if kinds else 0
