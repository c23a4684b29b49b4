"""Removes what is older than it is kept, and says how much room that made.

That happens by itself once a day; for how long what is kept says `wl config list`, under retention.
What something unfinished needs, and what the next `wl undo` would bring back, stays.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import render
from windlass.cli.call import Call
from windlass.core.printable import printable_line

EXAMPLES = ("wl gc --dry-run", "wl gc", "wl gc --json")


def arguments(parser: ArgumentParser) -> None:
    """Takes whether to do anything."""
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")


def run(call: Call) -> int:
    """Prints what went, kind by kind."""
    done = call.ask("gc", dry_run=call.args.dry_run)
    call.data(done)
    lines = [
        (
            view["kind"],
            _limit(view["kind"], view["limit"]),
            str(view["removed"]),
            render.size(view["bytes"]),
        )
        for view in done["swept"]
    ]
    head = ("KIND", "KEPT FOR", "OVER" if done["dry_run"] else "REMOVED", "ROOM")
    render.table(call, head, lines, grow=0, spare=())
    for view in done["swept"]:
        for reason in view["kept"]:
            call.say(f"  kept: {view['kind']} {printable_line(reason)}")
    said = "that would make" if done["dry_run"] else "that made"
    call.tell(f"{said} room for about {render.size(done['bytes'])}; the store uses its own again")
    return 0


def _limit(kind: str, limit: int) -> str:
    if kind == "workspaces":
        return "while in use"
    if not limit:
        return "ever"
    if kind == "packs":
        return f"{limit} packs"
    return f"{limit} MiB" if kind in ("screens", "layers") else render.counted(limit, "day")
