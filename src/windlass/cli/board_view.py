"""How `wl board` shows a board: its problems, its tasks, what comes next."""

from __future__ import annotations

from functools import cache
from typing import Any

from windlass.cli.call import Call
from windlass.core.board import checks, edits, priority
from windlass.core.board.board import Board
from windlass.core.board.priority import Rank
from windlass.core.board.tasks import MARKERS, Problem, Task
from windlass.core.errors import ConfigError
from windlass.core.printable import printable_line
from windlass.project import boards
from windlass.project.boards import BoardFile

_COLOURS = {"=": "green", "P": "yellow", "x": "dim", "*": "red", "N": "dim"}


def validate(call: Call) -> int:
    """Says everything that is wrong; exit 3 if anything is."""
    read = boards.read(call.args.file)
    found = [*checks.problems(read.board), *_unknown_names(read)]
    found.sort(key=lambda problem: problem.line)
    errors = sum(problem.level == "error" for problem in found)
    call.data(
        {
            "file": read.path,
            "valid": not errors,
            "tasks": len(read.board.tasks),
            "problems": [_data(problem) for problem in found],
        }
    )
    for problem in found:
        line = printable_line(str(problem))
        call.say(call.paint(line, "red" if problem.level == "error" else "yellow"))
    if not found:
        call.tell(f"{printable_line(read.path)}: {_count(read.board)}, nothing wrong")
    return ConfigError.exit_code if errors else 0


def _unknown_names(read: BoardFile) -> list[Problem]:
    from windlass.api import places  # noqa: PLC0415 - the order needs none of these
    from windlass.project import configuration, pipelines, step_roles  # noqa: PLC0415

    known = {*step_roles.names(read.folder), *configuration.roles(read.folder, places.home())}
    return checks.unknown_names(
        read.board,
        is_role=known.__contains__,
        is_pipeline=cache(lambda name: pipelines.is_there(name, read.folder)),
    )


def _data(problem: Problem) -> dict[str, Any]:
    return {
        "line": problem.line,
        "level": problem.level,
        "kind": problem.kind,
        "what": problem.what,
        "remedy": problem.remedy,
    }


def _count(board: Board) -> str:
    return f"{len(board.tasks)} task{'' if len(board.tasks) == 1 else 's'}"


def tasks(call: Call) -> None:
    """Lists the tasks in the order of the file."""
    read = boards.read(call.args.file)
    call.data([task_data(read.board, task) for task in read.board.tasks])
    say_tasks(call, read.board)
    if not read.board.tasks:
        call.tell("there are no tasks: `wl board add` writes one down")
    remark_problems(call, read.board)


def say_tasks(call: Call, board: Board) -> None:
    """A line for each task: its box, its id, how urgent it is, and its title."""
    for task in board.tasks:
        call.say(_line(call, task))


def _line(call: Call, task: Task) -> str:
    box = f"[{task.marker}]"
    if task.marker in _COLOURS:
        box = call.paint(box, _COLOURS[task.marker])
    word = task.priority or "?"
    return f"{box} {task.id:<10} {word:<8} {printable_line(task.title)}"


def remark_problems(call: Call, board: Board) -> None:
    """Says beside the output that not all of the board can be relied on."""
    errors = sum(problem.level == "error" for problem in checks.problems(board))
    if errors:
        many = "is a problem" if errors == 1 else f"are {errors} problems"
        call.remark(f"there {many} on the board: wl board validate")


def task_data(board: Board, task: Task) -> dict[str, Any]:
    """A task for programs."""
    return {
        "id": task.id,
        "marker": task.marker,
        "status": MARKERS[task.marker],
        "title": task.title,
        "priority": task.priority or None,
        "dependencies": list(task.dependencies),
        "finished": board.finished(task),
        "line": task.line,
        "fields": {
            field.name: [*([field.value] if field.value else []), *map(_item, field.items)]
            if field.items
            else field.value
            for field in task.fields.values()
        },
    }


def _item(line: str) -> str:
    return line[2:].strip() if line[:2] in ("- ", "* ", "+ ") else line


def following(call: Call, waits: dict[str, int]) -> None:
    """Lists what comes next; reads alone, and counts no round."""
    read = boards.read(call.args.file)
    for name in sorted(waits.keys() - read.board.by_id.keys()):
        call.remark(f"--waits names {printable_line(name)}, which is no task of the board")
    ranked = priority.ranks(read.board, waits=waits, plans=read.plans)
    listed = priority.following(read.board, ranked)
    call.data([rank_data(rank) for rank in listed])
    for number, rank in enumerate(listed, start=1):
        call.say(_rank_line(call, read.board.by_id[rank.id], rank, number))
    if not listed:
        call.tell("no task waits for its turn")
    remark_problems(call, read.board)


def rank_data(rank: Rank) -> dict[str, Any]:
    """A rank for programs."""
    return {
        "id": rank.id,
        "effective": rank.effective,
        "base": rank.base,
        "plan": rank.plan,
        "aging": rank.aging,
        "dependents": rank.dependents,
        "siblings": rank.siblings,
        "ready": rank.ready,
        "blocked_by": list(rank.blocked_by),
    }


def _rank_line(call: Call, task: Task, rank: Rank, number: int) -> str:
    terms = [f"base {rank.base}"]
    terms += [f"aging -{rank.aging}"] if rank.aging else []
    terms += [f"siblings {rank.siblings}"] if rank.siblings else []
    terms += ["plan"] if rank.plan else []
    terms += [f"dependents {rank.dependents}"] if rank.dependents else []
    place = f"{number:>3}." if rank.ready else "    "
    waits = ""
    if not rank.ready:
        waits = call.paint(f"  waits for {printable_line(', '.join(rank.blocked_by))}", "yellow")
    title = printable_line(task.title)
    return f"{place} {rank.effective:>6}  {rank.id:<10} {title}  ({', '.join(terms)}){waits}"


def show(call: Call) -> None:
    """Shows a task, where it stands in the order, and who waits for it."""
    read = boards.read(call.args.file)
    task = edits.require(read.board, call.args.task)
    ranks = {rank.id: rank for rank in priority.ranks(read.board, plans=read.plans)}
    rank = ranks.get(task.id)
    waiting = [other.id for other in read.board.tasks if task.id in other.dependencies]
    own = [
        problem for problem in checks.problems(read.board) if task.line <= problem.line <= task.last
    ]
    call.data(
        {
            **task_data(read.board, task),
            "rank": rank_data(rank) if rank else None,
            "needed_by": waiting,
            "problems": [_data(problem) for problem in own],
        }
    )
    call.say(f"{_line(call, task)}  ({MARKERS[task.marker]}, line {task.line})")
    for field in task.fields.values():
        call.say(printable_line(f"  {field.name}: {field.value}".rstrip()))
        for item in field.items:
            call.say(f"    {printable_line(item)}")
    if rank:
        state = "ready" if rank.ready else "not ready"
        if rank.blocked_by:
            state = f"waits for {printable_line(', '.join(rank.blocked_by))}"
        call.say(f"  {state}; effective priority {rank.effective}")
    if waiting:
        call.say(f"  needed by {', '.join(waiting)}")
    for problem in own:
        call.say(call.paint(f"  {printable_line(str(problem))}", "yellow"))
