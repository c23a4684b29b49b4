"""Merges an agent's branch and ends the agent.

Into the branch named with --into, else the parent's branch, else the one that your checkout is on.
Refused when either side has uncommitted work or the merge would conflict; nothing is touched then.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import ended
from windlass.cli.call import Call, take_yes
from windlass.core.errors import Conflict
from windlass.core.printable import printable_line

EXAMPLES = (
    "wl merge api",
    "wl merge api --into release --force",
    "wl merge api --expect $(wl diff api --json | jq -r .tip)",
)


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent and a target."""
    parser.add_argument("agent")
    parser.add_argument("--into", metavar="BRANCH", help="the branch, or the agent, to merge into")
    parser.add_argument(
        "--expect", metavar="COMMIT",
        help="refuse if its tip is another commit by now; the whole id, as wl diff names it",
    )  # fmt: skip
    take_yes(parser)


def _refuse(call: Call, agent: str) -> None:
    """Says before the question what would be said after it."""
    asked = call.ask("merge-check", agent=agent, into=call.args.into, expect=call.args.expect)
    if asked["problems"]:
        raise Conflict(printable_line(asked["problems"][0]), f"see wl merge-check {agent}")


def run(call: Call) -> int:
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
