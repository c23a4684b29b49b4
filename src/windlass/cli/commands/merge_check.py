"""Says whether a merge would go through; touches nothing. Ends 1 if it would not."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call
from windlass.cli.render import counted
from windlass.core.printable import printable_line

EXAMPLES = ("wl merge-check api", "wl merge-check api --into release")


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent and a target."""
    parser.add_argument("agent")
    parser.add_argument("--into", metavar="BRANCH", help="the branch, or the agent, to merge into")


def run(call: Call) -> int:
    """Prints whether the merge would go through, and why not."""
    verdict = call.ask("merge-check", agent=call.args.agent, into=call.args.into)
    call.data(verdict)
    good = not verdict["problems"]
    word = "would merge" if good else "would not merge"
    call.say(f"{verdict['agent']} {word} into {verdict['into']}, at {verdict['tip']}")
    call.say(
        f"  {counted(verdict['ahead'], 'commit')} ahead, {verdict['behind']} behind,"
        f" {counted(verdict['files'], 'file')}"
    )
    for path in verdict["conflicts"]:
        call.say(f"  conflict     {printable_line(path)}")
    for path in verdict["uncommitted"]:
        call.say(f"  uncommitted  {printable_line(path)}")
    for path in verdict["protected"]:
        call.say(f"  protected    {printable_line(path)}")
    for path in verdict.get("submodules", []):
        said = "its commit is not in your own clone of it; have the agent push it, and fetch it"
        call.say(f"  submodule    {printable_line(path)}: {said}")
    for problem in verdict["problems"]:
        call.say(f"  because      {printable_line(problem)}")
    return 0 if good else 1
