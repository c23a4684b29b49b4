"""The copy of a task that its run works from: what somebody edits meanwhile is for the next run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from windlass.core import texts
from windlass.core.board.tasks import LISTS, Task
from windlass.core.errors import ConfigError


class TaskCopy(msgspec.Struct, frozen=True, kw_only=True):
    """A task as the board had it when its run began."""

    id: str
    title: str
    priority: str = ""
    description: str = ""
    role: str = ""
    """The role that does it instead of the one that the first step names."""
    pipeline: str = ""
    scope: tuple[str, ...] = ()
    out_of_scope: tuple[str, ...] = ()
    criteria: tuple[str, ...] = ()


def of(task: Task) -> TaskCopy:
    """Copies what a task says."""
    scope, outside, criteria = (_items(task, name) for name in LISTS)
    return TaskCopy(
        id=task.id,
        title=task.title,
        priority=task.priority,
        description=_text(task, "Description"),
        role=_text(task, "Agent"),
        pipeline=_text(task, "Pipeline"),
        scope=scope,
        out_of_scope=outside,
        criteria=criteria,
    )


def require_short(copy: TaskCopy) -> TaskCopy:
    """A copy that a run may carry; refuses one that says more than any prompt should."""
    if (length := len(document(copy))) > texts.LONGEST:
        raise ConfigError(
            f"{copy.id} has {length} characters on the board, and {texts.LONGEST} is the most",
            f"write what is longer into .windlass/plans/{copy.id}.md",
        )
    return copy


def differing(before: TaskCopy, now: TaskCopy) -> list[str]:
    """What two copies of a task say differently."""
    fields = TaskCopy.__struct_fields__
    return [name for name in fields if getattr(before, name) != getattr(now, name)]


def document(task: TaskCopy, plan: str = "") -> str:
    """The task as every step of its run reads it: `prd.md`."""
    parts = [f"# {task.id}: {task.title}", task.description]
    parts += _section("Scope", (f"- [ ] {item}" for item in task.scope))
    parts += _section("Out of scope", (f"- {item}" for item in task.out_of_scope))
    parts += _section("Acceptance criteria", (f"- [ ] {item}" for item in task.criteria))
    parts += _section("Plan", [plan.strip()] if plan.strip() else [])
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(heading: str, lines: Iterable[str]) -> Iterator[str]:
    text = "\n".join(lines)
    if text:
        yield f"## {heading}\n\n{text}"


def _text(task: Task, name: str) -> str:
    field = task.fields.get(name)
    if field is None:
        return ""
    return "\n".join(line for line in (field.value, *field.items) if line).strip()


def _items(task: Task, name: str) -> tuple[str, ...]:
    """The entries of a list, or its one line of text."""
    field = task.fields.get(name)
    if field is None:
        return ()
    lines = (*([field.value] if field.value else []), *field.items)
    return tuple(text for line in lines if (text := line.strip().lstrip("-*").strip()))
