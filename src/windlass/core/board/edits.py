"""What Windlass writes into a board: a marker, a new task, another order; nothing else moves.

Each takes the board as it is at that moment, so that what somebody wrote meanwhile stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from windlass.core.board import parser, soundness
from windlass.core.board.board import Board
from windlass.core.board.tasks import (
    FIELDS,
    ID,
    MARKERS,
    NO_DEPENDENCIES,
    PRIORITIES,
    Task,
)
from windlass.core.errors import Conflict, NotFound, UserError
from windlass.core.printable import printable_line

EMPTY = f"# Board\n\n## {parser.HEADING}\n"
"""A board without tasks."""
_USUAL_PREFIX, _USUAL_WIDTH = "TASK", 3
_LARGEST = 9999
_MOST_DIGITS = 4
_BOX = 3
"""Where in its line a task's marker stands."""
_BREAKS = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]+")


class NewTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task that is to be written down."""

    title: str
    priority: str
    dependencies: tuple[str, ...] = ()
    id: str = ""
    """The next free one where nothing is said."""
    prefix: str = ""
    """What that begins with; the prefix of the last task where nothing is said."""
    texts: Mapping[str, str] = {}
    """Fields of one line."""
    lists: Mapping[str, Sequence[str]] = {}


class MarkerChanged(Conflict):
    """Somebody else has written another marker meanwhile."""

    exit_code = 14


def with_marker(board: Board, name: str, marker: str, *, was: str | None = None) -> str:
    """The board's text with another marker of one task: one letter changes.

    `was` is the marker that the caller knew. Where somebody has written another one since, which is
    not the new one, theirs stays and this is a conflict.
    """
    if marker not in MARKERS:
        raise UserError(f"unknown marker {marker!r}", "use ' ', =, P, x, * or N")
    task = require(board, name)
    if task.marker == marker:
        return board.text
    if was is not None and task.marker != was:
        raise MarkerChanged(
            f"{name} is [{task.marker}] ({MARKERS[task.marker]}) on the board, not [{was}]",
            "somebody changed it meanwhile, and theirs stays: look at the board",
        )
    lines = list(board.lines)
    line = lines[task.line - 1]
    lines[task.line - 1] = line[:_BOX] + marker + line[_BOX + 1 :]
    marked = msgspec.structs.replace(task, marker=marker)
    return soundness.require(board, "\n".join(lines), {name: marked}, line=task.line)


def require(board: Board, name: str) -> Task:
    """A task by its id."""
    task = board.by_id.get(name)
    if task is None:
        near = board.near(name)
        raise NotFound(
            f"no task {printable_line(name)} on the board",
            f"did you mean {near}?" if near else "`wl board list`",
        )
    return task


def with_task(board: Board, new: NewTask) -> tuple[str, str]:
    """The id of a new task, and the board's text with it after the last one."""
    soundness.require_text(board)
    name = new.id or free_id(board, new.prefix)
    _require_sound(board, new, name)
    task = _as_read(new, name)
    text, line = _inserted(board, new, name)
    return name, soundness.require(board, text, {name: task}, line=line)


def _as_read(new: NewTask, name: str) -> Task:
    """A new task as a board has it that holds nothing else."""
    alone = parser.parse("\n".join([f"## {parser.HEADING}", *_lines_of(new, name)]))
    soundness.require_text(alone)
    return require(alone, name)


def _inserted(board: Board, new: NewTask, name: str) -> tuple[str, int]:
    """The board's text with a new task, and the line that this begins at."""
    end = "\r" if _carriage_returns(board) else ""
    block = [line + end for line in _lines_of(new, name)]
    lines = list(board.lines)
    ended = not lines[-1].strip()
    if board.end is None:
        while lines and not lines[-1].strip():
            lines.pop()
        heading = [end, f"## {parser.HEADING}{end}", end]
        return _joined([*_ended(lines, end), *heading, *block], ended=ended), len(lines) + 1
    inside = [task.last for task in board.tasks if task.last <= board.end]
    at = max(inside, default=0)
    if not at:
        at = board.end
        while at and not lines[at - 1].strip():
            at -= 1
        block.insert(0, end)
    if at == len(lines):
        return _joined([*_ended(lines, end), *block], ended=ended), at + 1
    if not inside and at < board.end and board.end < len(lines):
        block.append(end)
        while at < board.end and not lines[at].strip():
            del lines[at]
            board = msgspec.structs.replace(board, end=board.end - 1)
    return "\n".join([*lines[:at], *block, *lines[at:]]), at + 1


def _joined(lines: Sequence[str], *, ended: bool) -> str:
    """A file of these lines, whose last one is ended where the last one was before."""
    return "\n".join([*lines, ""]) if ended else "\n".join(lines).removesuffix("\r")


def _ended(lines: Sequence[str], end: str) -> list[str]:
    """Lines of which the last one was perhaps not ended."""
    if not lines or not end or lines[-1].endswith(end):
        return list(lines)
    return [*lines[:-1], lines[-1] + end]


def _carriage_returns(board: Board) -> bool:
    ended = [line.endswith("\r") for line in board.lines[:-1]]
    return sum(ended) * 2 > len(ended)


def free_id(board: Board, prefix: str = "") -> str:
    """The next id of a prefix that nobody has, nor has had as far as the board knows."""
    prefix = prefix or (board.tasks[-1].prefix if board.tasks else _USUAL_PREFIX)
    names = {*board.by_id, *board.done, *board.broken}
    names.update(name for task in board.tasks for name in task.dependencies)
    digits = [
        name.rpartition("-")[2] for name in names if ID.fullmatch(name) and _prefix(name) == prefix
    ]
    number = max((int(number) for number in digits), default=0) + 1
    if number > _LARGEST:
        taken = {int(number) for number in digits}
        number = next((n for n in range(1, _LARGEST + 1) if n not in taken), 0)
    if not number:
        raise Conflict(f"{prefix} has no free id left", "use another --prefix")
    usual = Counter(len(number) for number in digits).most_common(1)
    width = min(usual[0][0] if usual else _USUAL_WIDTH, _MOST_DIGITS)
    return f"{prefix}-{number:0{width}}"


def _prefix(name: str) -> str:
    return name.rpartition("-")[0]


def _require_sound(board: Board, new: NewTask, name: str) -> None:
    if not ID.fullmatch(name):
        raise UserError(
            f"{name!r} cannot be a task's id", "use 2 to 10 letters, a hyphen and 1 to 4 digits"
        )
    if name in board.by_id or name in board.done or name in board.broken:
        raise UserError(f"{name} is taken", "leave the id out, and the next free one is used")
    if not _line(new.title):
        raise UserError("a task without a title", "say in a few words what is to be done")
    if new.priority not in PRIORITIES:
        raise UserError(f"bad priority {new.priority!r}", f"use one of {', '.join(PRIORITIES)}")
    for needed in new.dependencies:
        if needed == name:
            raise UserError(f"{name} cannot depend on itself", "take it out")
        if needed not in board.by_id and needed not in board.done:
            raise UserError(f"{needed} is no task of the board", "`wl board list` shows them")


def _lines_of(new: NewTask, name: str) -> list[str]:
    said = {
        **{field: _line(text) for field, text in new.texts.items()},
        "Priority": new.priority,
        "Dependencies": ", ".join(new.dependencies) or NO_DEPENDENCIES,
    }
    lines = [f"- [ ] **[{name}]** {_line(new.title)}"]
    for field in _order(said, new.lists):
        if field in said:
            lines.append(f"  - {field}: {said[field]}")
        else:
            lines.append(f"  - {field}:")
            lines += [f"    - {_line(item)}" for item in new.lists[field] if _line(item)]
    return lines


def _order(said: Mapping[str, str], lists: Mapping[str, Sequence[str]]) -> list[str]:
    """The fields that there is something to say in, in the order that people know."""
    order = ("Description", *(field for field in FIELDS if field != "Description"))
    return [field for field in order if said.get(field) or any(map(_line, lists.get(field, ())))]


def _line(text: str) -> str:
    """A text as one line of a board."""
    return " ".join(_BREAKS.sub(" ", text).split())


def ordered(board: Board, effective: Mapping[str, int]) -> str:
    """The board's text with its tasks by effective priority, those of one value as they were.

    Tasks trade places within their group: headings and text between tasks stay where they are, as
    do blank lines. A task that has no effective priority keeps its place.
    """
    lines = list(board.lines)
    groups: dict[int, list[Task]] = {}
    for task in board.tasks:
        if task.id in effective:
            groups.setdefault(task.group, []).append(task)
    pieces: list[tuple[int, int, list[str]]] = []
    for group in groups.values():
        wanted = sorted(group, key=lambda task: effective[task.id])
        for place, task in zip(group, wanted, strict=True):
            if place is not task:
                block = list(board.lines[task.line - 1 : task.last])
                block[-1] = _ending(block[-1], like=board.lines[place.last - 1])
                pieces.append((place.line - 1, place.last, block))
    for first, last, block in sorted(pieces, reverse=True):
        lines[first:last] = block
    line = min((first for first, _, _ in pieces), default=0) + 1
    return soundness.require(board, "\n".join(lines), {}, line=line)


def _ending(line: str, *, like: str) -> str:
    bare = line.removesuffix("\r")
    return bare + "\r" if like.endswith("\r") else bare
