"""Names what lives and no agent accounts for, and takes it in or puts it away.

Workspaces and branches of lost agents become agents again, with all that is in them; `wl kill` ends
those as usual, with their work in the trash. Sessions of nobody are stopped, folders of nobody go
to the archive. What is not proven to be Windlass's own is named and left alone.
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from windlass.cli.call import Call
from windlass.core.printable import printable_line

EXAMPLES = ("wl repair --dry-run", "wl repair --json")


def arguments(parser: ArgumentParser) -> None:
    """Takes whether to do anything."""
    parser.add_argument("--dry-run", action="store_true", help="only say what would be done")


def run(call: Call) -> int:
    """Prints what was found, and what became of it."""
    orphans: list[dict[str, Any]] = call.ask("repair", dry_run=call.args.dry_run)
    call.data(orphans)
    for orphan in orphans:
        done = "done" if orphan["done"] else "not done"
        call.say(
            f"{orphan['kind']} {printable_line(orphan['subject'])}: {orphan['action']}, {done}"
        )
        call.say(f"    {printable_line(orphan['evidence'])}")
    if not orphans:
        call.tell("nothing to repair")
    return 0
