"""Lists the questions that wait for your answer; one is answered by saying something to who asked.

Inside an agent: those of the agents right below it.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call
from windlass.core.ages import age
from windlass.core.printable import printable_line

EXAMPLES = ("wl questions", "wl questions --json")


def arguments(parser: ArgumentParser) -> None:
    """Takes none."""
    del parser


def run(call: Call) -> int:
    """Prints them."""
    found = call.ask("questions")
    call.data(found)
    if not found:
        call.tell("no questions")
    for one in found:
        # Whole, however long: who is to answer has to read it to its end.
        call.say(f"{one['agent']} asks ({age(one['age'])}): {printable_line(one['text'])}")
        call.say(f"    wl send {one['agent']} '...'")
    return 0
