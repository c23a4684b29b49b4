"""Lists and shows archived agents: their output, log, settings and conversation."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import render
from windlass.cli.call import Call
from windlass.core.printable import printable_line

EXAMPLES = ("wl archive list", "wl archive show api")


def arguments(parser: ArgumentParser) -> None:
    """Takes the id of an archive, or none to list them all."""
    verbs = parser.add_subparsers(dest="verb", metavar="list|show")
    verbs.add_parser("list", help="list them, newest first")
    shown = verbs.add_parser("show", help="show one")
    shown.add_argument("archive", help="its id, or the agent's (the newest of that name)")


def run(call: Call) -> int:
    """Lists the archives, or prints the files of one."""
    wanted = getattr(call.args, "archive", None)
    archives = call.ask("archives", archive=wanted)
    if wanted is None:
        call.data(archives)
        lines = [
            (entry["id"], entry["agent"], entry["how"], render.goal(call, entry["goal"]))
            for entry in archives
        ]
        if lines and not call.json:
            render.table(call, ("ARCHIVE", "AGENT", "BY", "GOAL"), lines, grow=3, spare=(2, 1))
        elif not lines:
            call.tell("nothing is archived")
        return 0
    archive = archives[0]
    call.data(archive)
    call.say(archive["path"])
    for name in archive["files"]:
        call.say(f"  {printable_line(name)}")
    return 0
