"""What is wrong with a board: what its lines show, and what tasks have to do with each other."""

from __future__ import annotations

from collections.abc import Callable

from windlass.core.board.board import Board
from windlass.core.board.graph import Graph
from windlass.core.board.tasks import ID, NOT_PLANNED, UNFINISHED, Problem, Task


def problems(board: Board) -> list[Problem]:
    """Everything that is wrong with a board, line by line."""
    found = list(board.problems)
    for task in board.unread:
        found += _dependencies(board, task)
    for task in board.tasks:
        found += _dependencies(board, task)
        if task.id in board.done and task.marker in UNFINISHED:
            found.append(
                Problem(
                    task.line,
                    "done",
                    f"{task.id} is [{task.marker}], and a comment says that it is done",
                    "write [x], or take it out of the comment",
                    "warning",
                )
            )
    found += _cycles(board)
    return sorted(found, key=lambda problem: problem.line)


def unknown_names(
    board: Board, *, is_role: Callable[[str], bool], is_pipeline: Callable[[str], bool]
) -> list[Problem]:
    """What tasks name that is not there: a role to do them, a pipeline to go through."""
    found = []
    for task in board.tasks:
        for name, known, remedy in (
            ("Agent", is_role, "`wl pipeline roles` lists them; or write .windlass/roles/{}.md"),
            ("Pipeline", is_pipeline, "`wl pipeline list` lists them; or name a file"),
        ):
            field = task.fields.get(name)
            if field and field.value and not known(field.value):
                what = f"{name} {field.value!r} of {task.id} is not there"
                hint = remedy.format(field.value)
                found.append(Problem(field.line, name.lower(), what, hint, "warning"))
    return found


def _dependencies(board: Board, task: Task) -> list[Problem]:
    found = []
    who = task.id or "this task"
    for name in task.dependencies:
        line = task.fields["Dependencies"].line
        needed = board.by_id.get(name)
        if needed is None and name not in board.done and name not in board.broken:
            what = f"{who} depends on {name}, which is no task of the board"
            if not ID.fullmatch(name):
                what = f"{who} depends on {name!r}, which is no task's id"
            found.append(Problem(line, "unknown-dependency", what, _remedy(board, name)))
        elif needed and needed.marker == NOT_PLANNED and name not in board.done:
            what = f"{who} depends on {name}, which is not planned, so it never gets its turn"
            remedy = f"take {name} out, or plan it"
            found.append(Problem(line, "not-planned", what, remedy, "warning"))
    return found


def _remedy(board: Board, name: str) -> str:
    if near := board.near(name):
        return f"did you mean {near}?"
    return "add that task, take it out, or name it in a comment <!-- done: … -->"


def _cycles(board: Board) -> list[Problem]:
    found = []
    tasks, graph = board.by_id, board.graph
    if more := {task.id: task for task in board.unread if task.id in board.broken}:
        listed = sorted([*more.values(), *tasks.values()], key=lambda task: task.line)
        tasks = {task.id: task for task in listed}
        graph = Graph({name: task.dependencies for name, task in tasks.items()})
    for knot in graph.knots():
        for cycle in knot.cycles:
            line = tasks[cycle[0]].fields["Dependencies"].line
            named = " -> ".join((*cycle, cycle[0]))
            remedy = "take one of these dependencies out"
            found.append(Problem(line, "cycle", f"dependency cycle {named}", remedy))
        if knot.more:
            line = tasks[knot.cycles[0][0]].fields["Dependencies"].line
            what = f"{knot.more} more dependencies lie on cycles with {knot.cycles[0][0]}"
            found.append(Problem(line, "cycle", what, "mend those that are named first"))
    return found
