"""Says whether a merge would go through; touches nothing. Ends 1 if it would not."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call
from windlass.core.printable import printable_line

EXAMPLES = ("wl merge-check api", "wl merge-check api --into release")


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent and a target."""
    parser.add_argument("agent")
    parser.add_argument("--into", metavar="BRANCH", help="the branch, or the agent, to merge into")


def run(call: Call) -> int:
    """Prints it."""
    found = call.ask("merge-check", agent=call.args.agent, into=call.args.into)
    call.data(found)
    good = not found["problems"]
    word = "would merge" if good else "would not merge"
    call.say(f"{found['agent']} {word} into {found['into']}")
    call.say(f"  {found['ahead']} commits ahead, {found['behind']} behind, {found['files']} files")
    for path in found["conflicts"]:
        call.say(f"  conflict     {printable_line(path)}")
    for path in found["uncommitted"]:
        call.say(f"  uncommitted  {printable_line(path)}")
    for path in found["protected"]:
        call.say(f"  protected    {printable_line(path)}")
    for problem in found["problems"]:
        call.say(f"  because      {printable_line(problem)}")
    return 0 if good else 1
