"""Changes: branches proposed for landing, and where each stands."""

from __future__ import annotations

from typing import Any, Literal, NewType

import msgspec

from windlass.core import ids
from windlass.core.gate import verdicts
from windlass.core.gate.verdicts import Outcome
from windlass.core.ids import RepoId, Uid

ChangeId = NewType("ChangeId", str)
"""`c` and a number, counted in each repository."""

State = Literal[
    "draft",
    "queued",
    "gating",
    "proposed",
    "landed",
    "rejected",
    "conflict",
    "held",
    "dropped",
    "nothing-to-land",
]
OPEN: frozenset[State] = frozenset({"queued", "gating"})
"""Where a change is while the queue still works on it."""
UNFINISHED: frozenset[State] = OPEN | {"draft", "proposed", "rejected", "conflict", "held"}
"""Where something may still become of a change."""
WAITING: frozenset[State] = OPEN | {"proposed", "held"}
"""Where it waits: for the gate, for what it needs, or for somebody."""
SATISFIED: frozenset[State] = frozenset({"landed", "nothing-to-land"})
"""Where the target has all of a change, so that who needs it need not wait."""
ENDED: frozenset[State] = frozenset({"landed", "dropped"})
"""Where the next that its branch proposes is another change."""
OVER: frozenset[State] = ENDED | {"nothing-to-land"}
"""Where nobody has anything left to decide."""
PINNED: frozenset[State] = UNFINISHED - {"draft"}
"""Where what was proposed may be needed still, whatever becomes of its branch."""
EXIT_CODES: dict[State, int] = {
    "draft": 0,
    "queued": 0,
    "gating": 0,
    "proposed": 15,
    "landed": 0,
    "rejected": 10,
    "conflict": 14,
    "held": 15,
    "dropped": 1,
    "nothing-to-land": 16,
}


def exit_code(state: State, outcome: Outcome) -> int:
    """What `wl merge` ends with: by where a change is, and how the gate fared with its tree."""
    if state in ("rejected", "held") and outcome in ("ran-nothing", "could-not-run"):
        return verdicts.EXIT_CODES[outcome]
    return EXIT_CODES[state]


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
    tail: str = ""
    """The last lines of the log."""
    paths: tuple[str, ...] = ()
    """Where it conflicts."""
    landed: tuple[str, ...] = ()
    """What landed there since it began, the newest first."""
    reproduce: str = ""


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one head of a change's branch."""

    revision: int
    head: str
    state: State
    why: str = ""
    at: float = 0.0


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """A person has looked at one revision, and lets it in."""

    by: str
    at: float


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One branch proposed for landing. What is gated and lands of it is `head`, its revision.

    Approval and block are of that revision; the next one has neither.
    """

    repo: RepoId
    id: ChangeId
    target: str
    branch: str
    head: str
    title: str
    task: str = ""
    needs: tuple[ChangeId, ...] = ()
    """Changes that have to land before."""
    revision: int = 1
    state: State = "queued"
    why: str = ""
    author: Uid | None = None
    """The agent whose branch it is; None for a person's."""
    guards: tuple[str, ...] = ()
    """Why a person has to look at this revision, a line each; none: it lands by its verdict."""
    edits: tuple[str, ...] = ()
    """The protected paths that are known to be edited: an approval lets no others in."""
    approval: Approval | None = None
    seen: str = ""
    """The head whose difference a person looked at last."""
    blocked: str = ""
    """What a person has against this revision."""
    attempts: int = 0
    """How often it came back."""
    alone: bool = False
    """Whether it changes the gate, and so lands with no other, passed by both gates."""
    ends: bool = False
    """Whether its author is ended when it has landed."""
    deletes: bool = False
    """Whether its branch is deleted when it has landed."""
    unattended: bool = False
    """Whether a checkout that is in the way is left behind, detached."""
    reverts: ChangeId | None = None
    """The change that this one takes back."""
    orphaned: bool = False
    """Whether it was dropped as a draft because its author ended."""
    past: tuple[Revision, ...] = ()
    """The revisions before, the oldest first."""
    ticket: Ticket | None = None
    was: str | None = None
    """Where the target was before it landed."""
    commit: str | None = None
    """The commit of the target's that it landed with."""
    tree: str | None = None
    verdict: str = ""
    """How that tree is known to be good: `passed`, or by whose word it landed without."""
    usd: float | None = None
    """What its author had spent when it landed."""
    landed_at: float | None = None
    created_at: float = 0.0
    updated_at: float = 0.0

    @property
    def waits_for_a_person(self) -> str:
        """Why it may not be tried yet; empty where it may."""
        if self.blocked:
            return f"blocked: {self.blocked}"
        return "; ".join(self.guards) if self.approval is None else ""


MOST_PAST = 50
MOST_LEFT_OUT = 1000
"""Files that are told to be left out of a change: an agent may leave a million uncommitted."""


def next_revision(change: Change, *, head: str, at: float) -> dict[str, Any]:
    """The columns of a change whose branch is proposed again."""
    before = Revision(
        revision=change.revision, head=change.head, state=change.state, why=change.why, at=at
    )
    return {
        "head": head,
        "revision": change.revision + 1,
        "past": (*change.past, before)[-MOST_PAST:],
        "approval": None,
        "blocked": "",
        "ticket": None,
        "why": "",
    }


def is_id(text: str) -> bool:
    """Whether that is how a change is called."""
    return ids.is_change(text)


def needs_a_person(change: Change, *, has_author: bool, most: int) -> bool:
    """Whether nothing becomes of a change before a person does something about it.

    An author that is there mends what came back by itself, `most` times. What a person has blocked
    is as that person wants it.
    """
    if change.state == "held":
        return not change.blocked
    is_back = change.state in ("rejected", "conflict")
    return is_back and (not has_author or change.attempts >= most)


def number(change: ChangeId) -> int:
    """The number in the id of a change."""
    return int(change[1:])


def subject(change: ChangeId) -> str:
    """What events of a change are about."""
    return f"change:{change}"
