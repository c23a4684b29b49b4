"""Merges an agent's branch and ends the agent; or has a branch of your own proven and landed.

An agent's goes into the branch named with --into, else its parent's, else the one that your
checkout is on. Refused when either side has uncommitted work or the merge would conflict; nothing
is touched then.

A branch of your own goes onto the branch that changes land on: merged there, gated as that very
tree, and landed when that is green. This waits for it; --no-wait only puts it into the queue.

Exit codes of a branch: 0 landed, 10 rejected, 14 conflict, 15 held, 16 nothing to land.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser

from windlass.cli import ended, landed
from windlass.cli.call import Call, take_yes
from windlass.core.errors import Conflict, NotFound
from windlass.core.landing.changes import EXIT_CODES
from windlass.core.printable import printable_line

EXAMPLES = (
    "wl merge api",
    "wl merge api --into release --force",
    "wl merge my-branch",
    "wl merge my-branch --no-wait --json",
    "wl merge api --expect $(wl diff api --json | jq -r .tip)",
)


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent and a target, or a branch."""
    parser.add_argument("agent", metavar="AGENT|BRANCH")
    parser.add_argument("--into", metavar="BRANCH", help="the branch, or the agent, to merge into")
    parser.add_argument(
        "--expect", metavar="COMMIT",
        help="refuse if its tip is another commit by now; the whole id, as wl diff names it",
    )  # fmt: skip
    parser.add_argument(
        "--no-wait", action="store_true", help="of a branch: put it into the queue, and no more"
    )
    take_yes(parser)


def _refuse(call: Call, agent: str) -> None:
    """Says before the question what would be said after it."""
    asked = call.ask("merge-check", agent=agent, into=call.args.into, expect=call.args.expect)
    if asked["problems"]:
        raise Conflict(printable_line(asked["problems"][0]), f"see wl merge-check {agent}")


def run(call: Call) -> int:
    """Merges an agent; where there is none of that name, a branch."""
    try:
        return _merge_agent(call)
    except NotFound as error:
        if call.args.into or call.args.expect or os.environ.get("WINDLASS_SOCKET"):
            raise
        return _land(call, error)


def _land(call: Call, no_agent: NotFound) -> int:
    """Proposes a branch, and waits until it has landed or come back."""
    name = call.args.agent
    try:
        change = call.ask("submit", branch=name)
    except NotFound as no_branch:
        both = f"{no_agent.message}, and {no_branch.message}"
        raise NotFound(both, f"{no_agent.hint}; {no_branch.hint}") from no_branch
    if not call.args.no_wait:
        before = f", behind {change['position']}" if change["position"] else ""
        call.progress(f"{change['change']} waits for the gate{before} …")
        change = call.ask("change.wait", change=change["change"])
    call.data(change)
    landed.say(call, change)
    return EXIT_CODES[change["state"]]


def _merge_agent(call: Call) -> int:
    """Asks, then merges."""
    args = call.args
    agent = args.agent
    if not call.sure:
        (agent,) = call.to_be_ended([agent])
        into = f" into {args.into}" if args.into else ""
        _refuse(call, agent)
        call.confirm(f"merge {agent}{into} and end it?")
    done = call.ask("merge", agent=agent, into=args.into, expect=args.expect)
    call.data(done)
    call.tell(
        f"merged {done['tip'][:10]} into {done['into']}: {done['commit'][:10]} ({done['verdict']})"
    )
    ended.tell(call, done)
    return 0
