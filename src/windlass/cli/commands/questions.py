"""Lists the questions that wait for your answer.

Inside an agent: those of the agents right below it. Outside of repositories: those of all, each
with the folder of its own.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call
from windlass.cli.commands.inbox import places
from windlass.cli.commands.message import OPEN
from windlass.core.ages import age
from windlass.core.printable import printable_line

EXAMPLES = ("wl questions", "wl questions --all --json")


def arguments(parser: ArgumentParser) -> None:
    """Takes which."""
    parser.add_argument(
        "--all", action="store_true", help="also those that were answered or are over"
    )


def run(call: Call) -> int:
    """Prints them."""
    found = call.ask("questions", all=call.args.all)
    call.data(found)
    if not found:
        call.tell("no questions")
    where = places(call, found)
    for one in found:
        # Whole, however long: who is to answer has to read it to its end.
        state = f" [{one['state']}]" if call.args.all else ""
        head = f"{one['agent']}{where(one)} asks ({age(one['age'])}){state}"
        call.say(f"{head}: {printable_line(one['text'])}")
        if one["state"] in OPEN:
            call.say(f"    wl answer {one['id']} '...'")
    return 0
