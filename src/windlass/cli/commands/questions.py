"""Lists the questions that wait for your answer; one is answered by saying something to who asked.

Inside an agent: those of the agents right below it.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import render
from windlass.cli.call import Call
from windlass.core.ages import age

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
        text = f"{one['agent']} asks ({age(one['age'])}): {one['text']}"
        call.say(render.advice(call, text, f"wl send {one['agent']} '...'"))
    return 0
