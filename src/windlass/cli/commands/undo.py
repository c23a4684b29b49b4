"""Takes back your last ending or reassignment: agents return with everything they had."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import ended
from windlass.cli.call import Call
from windlass.core.printable import printable_line

EXAMPLES = ("wl undo",)


def arguments(parser: ArgumentParser) -> None:
    """Takes none."""
    del parser


def run(call: Call) -> int:
    """Takes back the last ending or reassignment, and says what is back."""
    done = call.ask("undo")
    call.data(done)
    for agent in done["restored"]:
        if "workspace" in agent:
            call.tell(
                f"{agent['id']} is back in {agent['workspace']}; wl resume {agent['id']} goes on"
            )
        else:
            call.tell(f"{agent['id']} is under {agent['parent'] or 'nobody'} again")
    for note in done["notes"]:
        call.tell(f"  {printable_line(note)}")
    if done["undoes"] == "merge":
        call.tell("the merge itself stays: history only moves forward (git revert takes it back)")
    return ended.tell_failed(call, done, "brought back")
