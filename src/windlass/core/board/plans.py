"""The file that a task's plan goes into: what the task says, and what a plan has to say."""

from __future__ import annotations

from windlass.core.board.board import Board
from windlass.core.board.tasks import MARKERS, Field, Task

_SECTIONS = (
    ("Approach", "What is done, and why this way and no other."),
    ("Steps", "Which files change, in which order; each step leaves the tests green."),
    ("Tests", "What shows that each criterion holds, and what would fail without the change."),
    ("Risks", "What may go wrong, what this leaves open, and what has to be asked first."),
)


def template(board: Board, task: Task) -> str:
    """The text of a new plan."""
    lines = [f"# {task.id}: {task.title}", ""]
    fields = task.fields
    if description := _text(fields.get("Description")):
        lines += [description, ""]
    for name, box in (
        ("Scope", "- [ ] "),
        ("Out of Scope", "- "),
        ("Acceptance Criteria", "- [ ] "),
    ):
        if items := _items(fields.get(name)):
            lines += [f"## {name}", "", *(f"{box}{item}" for item in items), ""]
    if task.dependencies:
        needs = [f"- {_needed(board, name)}" for name in task.dependencies]
        lines += ["## Depends on", "", *needs, ""]
    for name, about in _SECTIONS:
        lines += [f"## {name}", "", f"<!-- {about} -->", ""]
    return "\n".join(lines)


def _needed(board: Board, name: str) -> str:
    task = board.by_id.get(name)
    if task is None:
        return f"{name} (complete)" if name in board.done else f"{name} (no task of the board)"
    state = "complete" if board.finished(task) else MARKERS[task.marker]
    return f"{name}: {task.title} ({state})"


def _text(field: Field | None) -> str:
    return "\n".join([field.value, *field.items]).strip() if field else ""


def _items(field: Field | None) -> list[str]:
    """What a list says, item by item, without bullets and boxes."""
    if field is None:
        return []
    items = [item for item in (field.value, *field.items) if item]
    return [_bare(item) for item in items]


def _bare(item: str) -> str:
    text = item[2:].strip() if item[:2] in ("- ", "* ", "+ ") else item
    return text[3:].strip() if text[:1] == "[" and text[2:3] == "]" else text
