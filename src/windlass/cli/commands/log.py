"""Shows what happened: to one agent, to one change or its branch, or in the whole repository.

In sentences, without how Windlass went about it: --all has that too, and so has --json.
With --landed, the commits that the target moved to, newest first: with which verdict, and which
changes they brought. The target's own line is the truth: what moved it beside Windlass is listed.
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from windlass.api import calls
from windlass.cli import event_lines, landed, limits
from windlass.cli.call import Call
from windlass.cli.output import write_json
from windlass.core import log_kinds
from windlass.core.errors import NotFound, UserError
from windlass.core.ids import is_change, is_task
from windlass.core.printable import printable_line

EXAMPLES = ("wl log", "wl log api", "wl log c12", "wl log api --follow", "wl log --landed --json")


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent or a change, and how much."""
    parser.add_argument(
        "agent", nargs="?", metavar="AGENT|BRANCH|CHANGE", help="without one, the whole repository"
    )
    parser.add_argument("--follow", "-f", action="store_true", help="go on as things happen")
    parser.add_argument("--lines", "-n", type=limits.count, default=100, help="how many (100)")
    parser.add_argument(
        "--all",
        action="store_true",
        help="every event with all that it carries, intents and jobs too",
    )
    parser.add_argument("--landed", action="store_true", help="what has landed, newest first")


def run(call: Call) -> int:
    """Prints the events, and with --follow those that come."""
    args = call.args
    if args.landed:
        return _landed(call)
    if is_task(args.agent or ""):
        args.agent = _agent_of(call, args.agent)
    change, events = _events(call)
    if not args.follow:
        call.data(events)
    for item in events:
        _print(call, item, following=args.follow)
    if args.follow:
        last = events[-1]["id"] if events else 0
        for item in calls.follow(last, agent=None if change else args.agent):
            if _is_plain(call) and not log_kinds.is_news(item["kind"]):
                continue
            if change is None or item["subject"] == f"change:{change}":
                _print(call, item, following=True)
    return 0


def _is_plain(call: Call) -> bool:
    return not (call.args.all or call.json)


def _events(call: Call) -> tuple[str | None, list[dict[str, Any]]]:
    """What was recorded, and the change that it is about: what names no agent may be a branch."""
    args = call.args
    plain = {"plain": True} if _is_plain(call) else {}
    change = args.agent if is_change(args.agent or "") else None
    if change is None:
        try:
            return None, call.ask("log", agent=args.agent, last=args.lines, **plain)
        except NotFound as no_agent:
            change = _change_of(call, no_agent)
    return change, call.ask("log", change=change, last=args.lines, **plain)


def _agent_of(call: Call, task: str) -> str:
    """Who works, or worked last, on a task."""
    run = call.ask("task", task=task)["run"]
    if run is None or run["agent"] is None:
        raise NotFound(f"nobody has worked on {task}", "`wl run` begins what is ready")
    return str(run["agent"])


def _change_of(call: Call, no_agent: NotFound) -> str:
    name = call.args.agent
    if name is None:
        raise no_agent
    try:
        return str(call.ask("change", change=name)["id"])
    except NotFound:
        raise NotFound(
            f"no agent, change or proposed branch {printable_line(name)!r}",
            f"{no_agent.hint}; a branch has a log once it is proposed: wl merge BRANCH",
        ) from None


def _landed(call: Call) -> int:
    if call.args.agent or call.args.follow:
        raise UserError("--landed is of the whole repository", "wl show c12 says how one landed")
    reply = call.ask("landings", last=call.args.lines)
    call.data(reply["landings"])
    for landing in reply["landings"]:
        if not call.json:
            landed.landing(call, landing)
    return 0


def _print(call: Call, item: dict[str, Any], *, following: bool) -> None:
    if call.json and following:
        write_json(item)
    else:
        line = event_lines.whole if call.args.all else event_lines.told
        call.say(line(call, item))
