"""Changes: branches proposed for landing, and where each stands."""

from __future__ import annotations

import re
from typing import Literal, NewType

import msgspec

from windlass.core.ids import RepoId, Uid

ChangeId = NewType("ChangeId", str)
"""`c` and a number, counted in each repository."""

State = Literal[
    "queued", "gating", "landed", "rejected", "conflict", "held", "dropped", "nothing-to-land"
]
OPEN: frozenset[State] = frozenset({"queued", "gating"})
"""Where a change is while the queue still works on it."""
EXIT_CODES: dict[State, int] = {
    "queued": 0,
    "gating": 0,
    "landed": 0,
    "rejected": 10,
    "conflict": 14,
    "held": 15,
    "dropped": 1,
    "nothing-to-land": 16,
}
_ID = re.compile(r"c[1-9][0-9]{0,8}")


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """Why a change did not land, with all that its author needs to mend it."""

    why: str
    base: str = ""
    """The target's tip that it was tried on."""
    tree: str = ""
    """The tree that was gated, or would have been."""
    outcome: str = ""
    command: str = ""
    failed: tuple[str, ...] = ()
    log: str = ""
    paths: tuple[str, ...] = ()
    """Where it conflicts."""
    reproduce: str = ""


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One branch proposed for landing. What was landed or gated of it is `head`, its revision."""

    repo: RepoId
    id: ChangeId
    target: str
    branch: str
    head: str
    title: str
    revision: int = 1
    state: State = "queued"
    why: str = ""
    author: Uid | None = None
    """The agent whose branch it is; None for a person's."""
    commit: str | None = None
    """The commit of the target's that it landed with."""
    tree: str | None = None
    ticket: Ticket | None = None
    created_at: float = 0.0
    updated_at: float = 0.0


def is_id(text: str) -> bool:
    """Whether that is how a change is called."""
    return _ID.fullmatch(text) is not None


def number(change: ChangeId) -> int:
    """The number in the id of a change."""
    return int(change[1:])


def subject(change: ChangeId) -> str:
    """What events of a change are about."""
    return f"change:{change}"
