"""The board on the first screen: how far it is, which tasks have failed, and what to type next."""

from __future__ import annotations

from typing import Any, NamedTuple

from windlass.cli import run_progress
from windlass.cli.call import Call
from windlass.core.board.board import Board
from windlass.core.errors import WindlassError
from windlass.core.printable import printable_line
from windlass.project import boards

_MOST = 5
"""Failed tasks that are told of one by one."""


class BoardNews(NamedTuple):
    """What the first screen says of the board of this repository."""

    line: str
    needs: list[tuple[str, str, str]]
    """What waits for the person: a name, what about it, and the command to type."""
    data: dict[str, Any]


def of(call: Call, path: str) -> BoardNews | None:
    """Reads the board of this repository; None where it has no tasks."""
    try:
        board = boards.read(path).board
    except WindlassError as error:
        needs = [("the board", f"cannot be read: {error.message}", "wl board validate")]
        return BoardNews("", needs, {"file": path, "problem": error.message})
    if not board.tasks:
        return None
    seen = call.ask("runs")
    counted = _counted(board)
    return BoardNews(_line(call, counted, seen), _failed(board, seen), {"file": path, **counted})


def _counted(board: Board) -> dict[str, int]:
    """How many tasks there are of each kind; what nobody plans to do is none."""
    counted = {"finished": 0, "failed": 0, "at_work": 0, "landing": 0, "to_begin": 0}
    names = {"*": "failed", "=": "at_work", "P": "landing", " ": "to_begin"}
    for task in board.tasks:
        if board.finished(task):
            counted["finished"] += 1
        elif task.marker in names:
            counted[names[task.marker]] += 1
    return counted


def _line(call: Call, counted: dict[str, int], seen: dict[str, Any]) -> str:
    whole = sum(counted.values())
    parts = [f"{counted['finished']} of {whole} finished"]
    parts += [
        f"{count} {name.replace('_', ' ')}"
        for name, count in counted.items()
        if count and name != "finished"
    ]
    following = "wl run"
    if not seen["is_over"]:
        parts += ["paused" if seen["paused"] else "being worked off"]
        following = "wl resume run" if seen["paused"] else "wl run follows it"
    elif not counted["to_begin"]:
        following = "wl board"
    bar = run_progress.bar(counted["finished"] + counted["failed"], whole)
    return f"{call.paint('board', 'bold')}  {bar}  {', '.join(parts)}   {following}"


def _failed(board: Board, seen: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The tasks that have failed, and why as far as that is known."""
    why = {task["task"]: task["why"] for task in seen["tasks"] if task["state"] == "failed"}
    failed = [task for task in board.tasks if task.marker == "*" and not board.finished(task)]
    needs = []
    for task in failed[:_MOST]:
        about = printable_line(why.get(task.id) or task.title)
        needs.append((task.id, f"failed: {about}", f"wl why {task.id}"))
    if len(failed) > _MOST:
        needs.append((f"{len(failed) - _MOST} more tasks", "failed", "wl board list"))
    return needs
