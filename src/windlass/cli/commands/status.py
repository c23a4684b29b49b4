"""Shows commits and uncommitted work, of one agent or of the whole crew."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from windlass.cli import render, unfinished
from windlass.cli.call import Call
from windlass.core.ages import age
from windlass.core.printable import printable_line

EXAMPLES = ("wl status", "wl status api", "wl status api --json")

_KINDS = ("conflicted", "staged", "unstaged", "untracked", "nested", "unread")


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent."""
    parser.add_argument("agent", nargs="?", help="an agent; without one, all of them")


def run(call: Call) -> int:
    """Prints the commits and the uncommitted work of each agent."""
    status = call.ask("status", agent=call.args.agent)
    call.data(status)
    if call.json:
        return 0
    head = status["head"]
    if head and call.args.agent is None:
        branch = head["branch"] or "(detached)"
        call.say(f"{status['repo']}  {branch} {head['commit'][:10]}")
    left = unfinished.attached(unfinished.listed(call))
    for number, agent in enumerate(status["agents"]):
        if number or call.args.agent is None:
            call.say()
        show_one(call, agent, left.get((agent["repo"], agent["id"])))
    if not status["agents"]:
        call.tell("no agents")
    return 0


def show_one(call: Call, agent: dict[str, Any], left: dict[str, Any] | None) -> None:
    """Prints the work of an agent, with what was left of something that nobody finishes."""
    colour = render.STATE_COLOURS.get(agent["state"], "dim")
    call.say(
        f"{call.paint(agent['id'], 'bold')}  {call.paint(agent['state'], colour)}"
        f" {age(agent['state_age'])} ({agent['source']}: {printable_line(agent['evidence'])})"
    )
    branch = agent["branch"] or "your checkout"
    call.say(f"  {branch}  {render.level(agent)}  {agent['workspace']}")
    if left:
        call.say(f"  {unfinished.said(left)}: {printable_line(left['fix'])}")
    commits, work = agent["commits"], agent["work"]
    if work is None:
        call.say(f"  {printable_line(agent['error'])}")
        return
    if not work["exists"]:
        call.say(f"  the workspace is gone; wl resume {agent['id']} makes it again")
    if "stuck" in agent:
        call.say(f"  not home: {printable_line(agent['stuck'])}")
    if agent["branch_gone"]:
        call.say(f"  the branch {agent['branch']} is gone: {_mend(agent)}")
    elif not commits:
        call.say("  no commits are home yet" if "stuck" in agent else "  no commits yet")
    for commit in commits[:10]:
        call.say(f"  {commit['oid'][:10]} {printable_line(commit['subject'])}")
    if len(commits) > 10:
        call.say(f"  ... and {render.counted(len(commits) - 10, 'more commit')}")
    _uncommitted(call, work)


def _uncommitted(call: Call, work: dict[str, Any]) -> None:
    """What no commit has, by kind."""
    if work["operation"]:
        call.say(f"  a {work['operation']} is under way")
    for kind in _KINDS:
        why = ", which has too many holes" if kind == "unread" else ""
        for path in work[kind][:10]:
            call.say(f"  {kind:<10} {printable_line(path)}{why}")
        if len(work[kind]) > 10:
            call.say(f"  {kind:<10} ... and {len(work[kind]) - 10} more")
    if left := work.get("setup"):
        more = ", ..." if len(left) > 3 else ""
        names = ", ".join(map(printable_line, left[:3]))
        files = render.counted(len(left), "file")
        call.say(f"  {'before':<10} {files}, there before it and unchanged: {names}{more}")


def _mend(agent: dict[str, Any]) -> str:
    """What brings a branch back; a clone has it still, and comes back with it."""
    name = agent["id"]
    if agent["isolation"] == "box":
        return f"`wl kill {name}` keeps its commits, `wl undo` brings it back with its branch"
    return (
        f"`wl exec {name} -- git reflog` has its commits, `git branch {agent['branch']} COMMIT`"
        " makes it again"
    )
