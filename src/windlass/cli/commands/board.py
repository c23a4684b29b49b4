"""Shows, checks and extends the board: the tasks in .windlass/kanban.md.

A task is a line `- [ ] **[TASK-001]** title` below `## TASKS`, with its fields two blanks in:
Priority (CRITICAL, HIGH, MEDIUM, LOW) and Dependencies (ids with commas, or none), and if you like
Description, Complexity, Agent, Pipeline, Scope, Out of Scope, Acceptance Criteria. Boxes: [ ] to
do, [=] under way, [P] waits for approval, [x] complete, [*] failed, [N] not planned. None of this
needs a daemon; FILE is any board, or - for stdin.

`next` says in which order tasks get their turn, and why: base is what the priority is worth, aging
what is taken off for rounds of waiting, plan whether there is a plan for it (15,000 off),
dependents how many unfinished tasks wait for it (7,000 off each), siblings how many others of its
prefix are under way (the square root, times 20,000, added). The lowest comes first.

Exit codes: 3 where `validate` finds something wrong; warnings alone are none. 14 where `mark --was`
finds another marker there by now.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser

from windlass.cli import board_view
from windlass.cli.call import Call
from windlass.core.board.tasks import PRIORITIES
from windlass.core.errors import UserError

EXAMPLES = (
    "wl board validate",
    "wl board next --json",
    "wl board next --waits TASK-001=14,TASK-004=3",
    "wl board add 'Read CSV files too' --priority HIGH --depends TASK-001",
    "wl board show TASK-001",
    "wl board sort --dry-run",
)


_FILE = "a board (.windlass/kanban.md); - is stdin"


def arguments(parser: ArgumentParser) -> None:
    """Takes what to do with the board."""
    verbs = parser.add_subparsers(dest="verb", metavar="validate|list|next|show|add|mark|sort")
    validate = verbs.add_parser("validate", help="say everything that is wrong, line by line")
    list_ = verbs.add_parser("list", help="list the tasks, as they stand there")
    next_ = verbs.add_parser("next", help="list what comes next, and why")
    show = verbs.add_parser("show", help="show a task")
    add = verbs.add_parser("add", help="write down a new task; asks for what is not said")
    mark = verbs.add_parser("mark", help="write another marker into a task's box")
    sort = verbs.add_parser("sort", help="bring the tasks into the order of their priority")
    for verb in (next_, sort):
        verb.add_argument(
            "--waits",
            action="append",
            default=[],
            metavar="TASK=N,…",
            help="for how many rounds these tasks have been ready",
        )
    sort.add_argument("--dry-run", action="store_true", help="say the order, and write nothing")
    show.add_argument("task", metavar="TASK")
    for verb in (validate, list_, next_, show, sort):
        verb.add_argument("named", nargs="?", metavar="FILE", help=_FILE)
    for verb in (validate, list_, next_, show, add, mark, sort):
        verb.add_argument("--file", metavar="FILE", help=_FILE)
    mark.add_argument("task", metavar="TASK")
    mark.add_argument("marker", metavar="MARKER", help="' ', =, P, x, * or N")
    mark.add_argument("--was", metavar="MARKER", help="only where it is this one still")
    _take_new(add)


def _take_new(add: ArgumentParser) -> None:
    add.add_argument("title", nargs="*", metavar="TITLE", help="what is to be done")
    add.add_argument("--priority", type=str.upper, choices=tuple(PRIORITIES), help="(MEDIUM)")
    add.add_argument("--depends", action="append", metavar="TASK,…", help="what it waits for")
    add.add_argument("--id", help="its id (the next free one)")
    add.add_argument("--prefix", help="what the next free id begins with (as the last task's)")
    for name in ("description", "complexity", "agent", "pipeline"):
        add.add_argument(f"--{name}", metavar="TEXT")
    for name in ("scope", "out-of-scope", "criterion"):
        add.add_argument(f"--{name}", action="append", metavar="TEXT", help="an item; repeat it")


def run(call: Call) -> int:
    """Does it."""
    verb = call.args.verb
    if verb is None:
        verb, call.args.file = "list", None
    elif named := getattr(call.args, "named", None):
        if call.args.file:
            raise UserError(
                f"two boards are named: {named} and --file {call.args.file}", "name one of them"
            )
        call.args.file = named
    if verb == "validate":
        return board_view.validate(call)
    if verb == "next":
        board_view.following(call, waits(call.args.waits))
    elif verb == "show":
        board_view.show(call)
    elif verb == "list":
        board_view.tasks(call)
    else:
        _change(call, verb)
    return 0


def _change(call: Call, verb: str) -> None:
    from windlass.cli import board_edits  # noqa: PLC0415 - looking needs nothing of it

    if verb == "add":
        board_edits.add(call, asks=sys.stdin.isatty() and not call.json)
    elif verb == "sort":
        board_edits.sort(call, waits(call.args.waits))
    else:
        board_edits.mark(call)


def waits(given: list[str]) -> dict[str, int]:
    """Reads `A-1=14,B-2=3`."""
    found = {}
    for part in ",".join(given).split(","):
        if not part.strip():
            continue
        name, sign, number = part.strip().partition("=")
        if not sign or not name or not (number.isascii() and number.isdigit()):
            raise UserError(f"--waits: {part.strip()!r} is no TASK=N", "as in TASK-001=14")
        if len(number) > 12:
            raise UserError(f"--waits: {number} rounds are too many", "as in TASK-001=14")
        found[name] = int(number)
    return found
