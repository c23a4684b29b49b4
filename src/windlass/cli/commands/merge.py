"""Lands what an agent or a branch has: proven first, by the gate of the branch that it lands on.

It is merged onto the target, gated as that very tree, and landed when that is green; this waits for
it, --no-wait only puts it into the queue. An agent is ended once its work has landed, unless it
has more by then. What comes back says which tests failed; an agent has that in its mailbox.

Without a name it lists what there is to merge.

A merge into another branch than the target (a manager's, or one named with --into) is made at once,
and refused when either side has uncommitted work or it would conflict.

Exit codes: 0 landed, 10 rejected, 11 the gate ran nothing, 13 it could not run, 14 conflict,
15 held or waits for a person, 16 nothing to land, 3 no gate.
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from windlass.cli import change_wait, ended, landed, render
from windlass.cli.call import Call, take_yes
from windlass.core.errors import Conflict, NotFound, UserError
from windlass.core.landing.changes import EXIT_CODES, MOST_LEFT_OUT, exit_code
from windlass.core.printable import printable_line

EXAMPLES = (
    "wl merge api",
    "wl merge my-branch",
    "wl merge c12 --no-wait --json",
    "wl merge api --into release --force",
    "wl merge api --expect $(wl diff api --json | jq -r .tip)",
)
_ALONE = ("into", "ungated")
"""What is said of merges that do not go through the gate."""


def arguments(parser: ArgumentParser) -> None:
    """Takes what is to land, or an agent and a target."""
    parser.add_argument("change", metavar="AGENT|BRANCH|CHANGE", nargs="?")
    parser.add_argument("--into", metavar="BRANCH", help="the branch, or the agent, to merge into")
    parser.add_argument(
        "--expect", metavar="COMMIT",
        help="refuse if its tip is another commit by now; the whole id, as wl diff names it",
    )  # fmt: skip
    parser.add_argument("--title", metavar="TEXT", help="what the change is called")
    parser.add_argument(
        "--task", metavar="TASK", help="the task of the board that it is for (not by agents)"
    )
    parser.add_argument(
        "--needs", metavar="CHANGE", action="append", default=[],
        help="a change that has to land before; may be given several times",
    )  # fmt: skip
    parser.add_argument(
        "--no-needs", dest="needs", action="store_const", const=[""],
        help="it lands whatever became of what it needed",
    )  # fmt: skip
    parser.add_argument("--no-wait", action="store_true", help="put it into the queue, and no more")
    parser.add_argument("--keep", action="store_true", help="do not end the agent when it landed")
    parser.add_argument("--delete", action="store_true", help="delete the branch when it landed")
    parser.add_argument(
        "--unattended", action="store_true",
        help="where your own edits are in the way, leave your checkout behind, detached",
    )  # fmt: skip
    parser.add_argument(
        "--ungated", action="store_true", help="merge an agent without a verdict; it is recorded"
    )
    take_yes(parser)


def run(call: Call) -> int:
    """Merges an agent at once where no gate stands before; everything else goes to the queue."""
    if call.args.change is None and not _is_in_workspace(call):
        return _list(call)
    asked = _preview(call)
    if asked is None:
        return _land(call)
    if asked["gated"] and not call.args.ungated:
        if not call.sure and not call.args.keep:
            call.to_be_ended([call.args.change])
            call.confirm(f"land {asked['agent']} on {asked['into']} and end it then?")
        return _land(call)
    return _merge_agent(call)


def _is_in_workspace(call: Call) -> bool:
    """Whether some agent is meant by where this is run."""
    try:
        call.ask("why", agent=None)
    except (UserError, NotFound):
        return False
    return True


def _list(call: Call) -> int:
    """Who names nothing is told what there is to merge."""
    asked = call.ask("candidates")
    call.data(asked)
    target, found = printable_line(asked["target"]), asked["candidates"]
    if not found:
        call.say(f"nothing to merge: no branch has commits that {target} lacks")
        return EXIT_CODES["nothing-to-land"]
    call.say(f"say what is to land on {target}: wl merge AGENT|BRANCH")
    lines = [
        (
            item["agent"] or item["branch"],
            "agent" if item["agent"] else "branch",
            str(item["commits"]),
            f"{item['change']} {item['state']}" if item["change"] else "-",
            item["subject"],
        )
        for item in found
    ]
    if not call.json:
        head = ("NAME", "IS", "COMMITS", "CHANGE", "NEWEST COMMIT")
        render.table(call, head, lines, grow=4, spare=(1,))
    return UserError.exit_code


def _preview(call: Call) -> dict[str, Any] | None:
    """What merging an agent would mean; None where none of that name is meant."""
    args = call.args
    if args.change is None or args.no_wait:
        return None
    try:
        asked: dict[str, Any] = call.ask(
            "merge-check", agent=args.change, into=args.into, expect=args.expect
        )
    except NotFound:
        if any(getattr(args, name) for name in _ALONE):
            raise
        return None
    return asked


def _land(call: Call) -> int:
    """Proposes a change, and waits until it has landed or come back."""
    args = call.args
    wanted = {
        "change": args.change,
        "title": args.title,
        "task": args.task,
        "expect": args.expect,
        "needs": args.needs or None,
        "keep": args.keep or None,
        "delete": args.delete or None,
        "unattended": args.unattended or None,
    }
    change = call.ask("submit", **{name: said for name, said in wanted.items() if said is not None})
    if change["left_out"]:
        named = ", ".join(printable_line(path) for path in change["left_out"][:5])
        several = len(change["left_out"])
        more = f" and {several - 5} more" if several > 5 else ""
        more = " and many more" if several == MOST_LEFT_OUT else more
        call.tell(f"not committed, and so left out: {named}{more}")
    if not args.no_wait and change["state"] in ("queued", "gating"):
        change = change_wait.wait(call, change)
    call.data(change)
    landed.say(call, change)
    return exit_code(change["state"], (change["ticket"] or {}).get("outcome", "failed"))


def _merge_agent(call: Call) -> int:
    """Asks, then merges."""
    args = call.args
    agent = args.change
    if not call.sure:
        (agent,) = call.to_be_ended([agent])
        into = f" into {args.into}" if args.into else ""
        _refuse(call, agent)
        call.confirm(f"merge {agent}{into} and end it?")
    done = call.ask("merge", agent=agent, into=args.into, expect=args.expect, ungated=args.ungated)
    call.data(done)
    call.tell(
        f"merged {done['tip'][:10]} into {done['into']}: {done['commit'][:10]} ({done['verdict']})"
    )
    ended.tell(call, done)
    return 0


def _refuse(call: Call, agent: str) -> None:
    """Says before the question what would be said after it."""
    asked = call.ask("merge-check", agent=agent, into=call.args.into, expect=call.args.expect)
    if asked["problems"]:
        raise Conflict(printable_line(asked["problems"][0]), f"see wl merge-check {agent}")
