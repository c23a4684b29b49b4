"""How `wl board` changes a board: a task more, another marker, another order."""

from __future__ import annotations

import difflib
import sys

from windlass.cli import output
from windlass.cli.call import Call
from windlass.core.board import edits, priority
from windlass.core.board.board import Board
from windlass.core.board.edits import NewTask
from windlass.core.board.tasks import MARKERS
from windlass.core.errors import UserError
from windlass.core.printable import printable_line
from windlass.project import boards, folder

_USUAL = "MEDIUM"


def add(call: Call, *, asks: bool) -> None:
    """Writes down a task; what is not said is asked for, on a terminal."""
    args = call.args
    title = " ".join(args.title)
    if not title and not asks:
        raise UserError("a task without a title", "wl board add 'what is to be done'")
    depends = args.depends
    said = {"priority": args.priority, "description": args.description}
    if not title:
        title = _asked("what is to be done")
        said["priority"] = args.priority or _asked(f"priority [{_USUAL}]").upper()
        if depends is None:
            depends = [_asked("waits for these tasks [none]")]
        said["description"] = args.description or _asked("more about it []")
    names = [name.strip() for name in ",".join(depends or ()).split(",") if name.strip()]
    new = NewTask(
        title=title,
        priority=said["priority"] or _USUAL,
        dependencies=tuple(dict.fromkeys(name for name in names if name.lower() != "none")),
        id=args.id or "",
        prefix=args.prefix or "",
        texts={
            "Description": said["description"] or "",
            "Complexity": args.complexity or "",
            "Agent": args.agent or "",
            "Pipeline": args.pipeline or "",
        },
        lists={
            "Scope": args.scope or (),
            "Out of Scope": args.out_of_scope or (),
            "Acceptance Criteria": args.criterion or (),
        },
    )
    written = ""

    def edit(board: Board) -> str:
        nonlocal written
        written, text = edits.with_task(board, new)
        return text

    boards.change(args.file, edit, make=True, remark=call.remark)
    path = boards.path_of(args.file)
    call.data({"id": written, "file": path})
    call.say(f"{written}: {printable_line(title)}")
    call.tell(f"  in {printable_line(path)}; not committed")


def _asked(question: str) -> str:
    output.write_error(f"{question}: ")
    return sys.stdin.readline().strip()


def mark(call: Call) -> None:
    """Writes another marker into a task's box."""
    args = call.args
    name, marker, was = args.task, args.marker, args.was

    def edit(board: Board) -> str:
        nonlocal was
        text = edits.with_marker(board, name, marker, was=was)
        was = edits.require(board, name).marker  # what somebody writes from now on is theirs
        return text

    changed = boards.change(args.file, edit, remark=call.remark)
    call.data({"id": name, "marker": marker, "changed": changed})
    call.tell(f"{name} is [{marker}] ({MARKERS[marker]})" + ("" if changed else ", as it was"))


def sort(call: Call, waits: dict[str, int]) -> None:
    """Brings the tasks into the order of their effective priority."""
    args = call.args
    path = boards.path_of(args.file)
    if args.file == "-" and not args.dry_run:
        raise UserError("stdin cannot be sorted in place", "add --dry-run, or name a file")
    plans = folder.plans(folder.beside(path))

    def edit(board: Board) -> str:
        ranked = priority.ranks(board, waits=waits, plans=plans)
        return edits.ordered(board, {rank.id: rank.effective for rank in ranked})

    if args.dry_run:
        was = boards.read(args.file).board
        text = edit(was)
        changed = text != was.text
    else:
        changed = boards.change(args.file, edit, remark=call.remark)
        text = boards.read(args.file).board.text
    from windlass.core.board import parser  # noqa: PLC0415 - only to say what came of it

    call.data({"changed": changed, "order": [task.id for task in parser.parse(text).tasks]})
    if not changed:
        call.tell("the tasks are in that order")
    elif args.dry_run:
        lines = difflib.unified_diff(
            was.text.splitlines(), text.splitlines(), path, "sorted", lineterm=""
        )
        for line in lines:
            call.say(printable_line(line))
    else:
        call.tell("sorted")
