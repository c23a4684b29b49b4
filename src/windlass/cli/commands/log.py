"""Shows what happened, to one agent or in the whole repository."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.api import calls
from windlass.cli import limits, render
from windlass.cli.call import Call
from windlass.cli.output import write_json

EXAMPLES = ("wl log", "wl log api", "wl log api --follow", "wl log --lines 500 --json")


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent and how much."""
    parser.add_argument("agent", nargs="?", help="an agent; without one, the whole repository")
    parser.add_argument("--follow", "-f", action="store_true", help="go on as things happen")
    parser.add_argument("--lines", "-n", type=limits.count, default=100, help="how many (100)")


def run(call: Call) -> int:
    """Prints the events, and with --follow those that come."""
    args = call.args
    events = call.ask("log", agent=args.agent, last=args.lines)
    if not args.follow:
        call.data(events)
    for item in events:
        _print(call, item, following=args.follow)
    if args.follow:
        last = events[-1]["id"] if events else 0
        for item in calls.follow(last, agent=args.agent):
            _print(call, item, following=True)
    return 0


def _print(call: Call, item: dict[str, object], *, following: bool) -> None:
    if call.json and following:
        write_json(item)
    else:
        call.say(render.event(call, item))
