"""Takes back your last ending or reassignment, or a change that landed.

Agents return with everything they had. A change that nothing followed and that was not pushed is
taken off the target, which is then where it was before; otherwise a revert of it is proposed, gated
and landed as any change. Merge its branch again, and all of it lands once more.
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from windlass.cli import change_wait, ended, landed
from windlass.cli.call import Call, take_yes
from windlass.core.errors import NotFound
from windlass.core.landing.changes import EXIT_CODES
from windlass.core.printable import printable_line

EXAMPLES = ("wl undo", "wl undo c12", "wl undo c12 --no-wait")


def arguments(parser: ArgumentParser) -> None:
    """Takes a change, or nothing."""
    parser.add_argument("change", metavar="CHANGE", nargs="?", help="a change that landed")
    parser.add_argument("--why", metavar="TEXT", help="what its revert says")
    parser.add_argument("--no-wait", action="store_true", help="do not wait until a revert lands")
    take_yes(parser)


def run(call: Call) -> int:
    """Takes back what is named, or else the last ending or reassignment."""
    return _agents(call) if call.args.change is None else _change(call)


def _agents(call: Call) -> int:
    try:
        done = call.ask("undo")
    except NotFound as nothing:
        if (last := call.ask("unfinished")["last"]) is None:
            raise
        title = printable_line(last["title"])
        hint = f"of what landed, {last['id']} is the last ({title}): wl undo {last['id']}"
        raise NotFound(nothing.message, f"{hint}; {nothing.hint}") from None
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
        call.tell("what was merged stays: wl undo CHANGE takes back what landed")
    return ended.tell_failed(call, done, "brought back")


def _change(call: Call) -> int:
    args = call.args
    if not call.sure:
        shown = call.ask("change", change=args.change)
        # What cannot be taken back is refused, and nobody is asked about it.
        if shown["state"] == "landed" and not shown["undone_by"]:
            call.confirm(f"take back {shown['id']}, {printable_line(shown['title'])}?")
    why = {"why": args.why} if args.why else {}
    change: dict[str, Any] = call.ask("change.undo", change=args.change, **why)
    if change["state"] == "dropped":
        call.data(change)
        target, was = printable_line(change["target"]), (change["was"] or "")[:10]
        call.tell(f"{change['id']} is taken back: {target} is at {was}, where it was before")
        return 0
    if change["state"] in ("queued", "gating") and not args.no_wait:
        call.progress(f"{change['id']} takes it back")
        change = change_wait.wait(call, change)
    call.data(change)
    landed.say(call, change)
    return EXIT_CODES[change["state"]]
