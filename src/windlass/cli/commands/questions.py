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
    """Takes whether to list those that are answered too."""
    parser.add_argument(
        "--all", action="store_true", help="also those that were answered or are over"
    )


def run(call: Call) -> int:
    """Prints the questions, each with the command that answers it."""
    questions = call.ask("questions", all=call.args.all)
    call.data(questions)
    if not questions:
        call.tell("no questions")
    place = places(call, questions)
    for question in questions:
        # Whole, however long: who is to answer has to read it to its end.
        state = f" [{question['state']}]" if call.args.all else ""
        head = f"{question['agent']}{place(question)} asks ({age(question['age'])}){state}"
        call.say(f"{head}: {printable_line(question['text'])}")
        if question["state"] in OPEN:
            call.say(f"    wl answer {question['id']} '...'")
    return 0
