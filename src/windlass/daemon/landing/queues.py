"""Who is in a queue: what enters it, what leaves it and does not land, and those that need it.

The queue goes by events alone, each committed with the row of which it tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import sqlalchemy as sa

from windlass.core.errors import Conflict
from windlass.core.events import ChangeQueued, ChangeStopped
from windlass.core.ids import RepoId
from windlass.core.landing import changes as core
from windlass.core.landing import holds
from windlass.core.landing import job as landing_job
from windlass.core.landing.changes import Change, ChangeId
from windlass.core.landing.queue import Waiting
from windlass.store import changes as rows
from windlass.store import rows as intent_rows
from windlass.store.store import Writing


def enter(writing: Writing, change: Change) -> Change:
    """Has a change wait in the queue, or for whatever it has to wait for before."""
    lacking = _lacking(writing.connection, change)
    why = change.waits_for_a_person
    if not why and (stuck := [need for need in lacking if need.state not in core.OPEN]):
        why = "; ".join(holds.needs(change.id, need.id, need.state) for need in stuck)
    if why:
        rows.move(writing, change, state="held", why=why)
        if change.state in core.OPEN:
            left(writing, change, state="held", why=why)
        return msgspec.structs.replace(change, state="held", why=why)
    rows.move(writing, change, state="queued", why="")
    queued = ChangeQueued(
        change=change.id,
        target=change.target,
        branch=change.branch,
        head=change.head,
        revision=change.revision,
        needs=tuple(need.id for need in lacking),
        alone=change.alone,
    )
    writing.emit(queued, repo=change.repo, subject=core.subject(change.id))
    return msgspec.structs.replace(change, state="queued", why="")


def say(writing: Writing, repo: RepoId, heads: Mapping[str, str], why: str) -> None:
    """Says of revisions that wait why they are no further; nothing: they are on their way."""
    for name, head in heads.items():
        found = rows.find(writing.connection, repo, ChangeId(name))
        if (
            found is not None
            and found.state in core.OPEN
            and found.head == head
            and found.why != why
        ):
            rows.move(writing, found, why=why)


def refuse_landing(writing: Writing, change: Change) -> None:
    """Refuses to take a change back that the branch is just moving to: that would not hold."""
    for intent in intent_rows.open_intents(writing.connection):
        if intent.kind != landing_job.LAND or intent.repo != change.repo:
            continue
        if intent.data.get("plan") and change.id in intent.data["tried"]["group"]:
            raise Conflict(f"{change.id} is landing just now", f"once it has: wl undo {change.id}")


def waiting(connection: sa.Connection, repo: RepoId, target: str) -> list[Waiting]:
    """What waits to land on a branch, by the rows."""
    return [
        Waiting(
            change.id,
            change.head,
            tuple(need.id for need in _lacking(connection, change)),
            alone=change.alone,
        )
        for change in rows.open_ones(connection, repo)
        if change.target == target
    ]


def _lacking(connection: sa.Connection, change: Change) -> list[Change]:
    """What has to land before a change, and has not."""
    needs = [rows.find(connection, change.repo, name) for name in change.needs]
    return [n for n in needs if n is not None and n.state not in core.SATISFIED]


def leave(writing: Writing, change: Change, *, state: core.State, why: str, **columns: Any) -> None:
    """Takes a change out of the queue, and has those held that need it."""
    rows.move(writing, change, state=state, why=why, **columns)
    left(writing, change, state=state, why=why)


def left(writing: Writing, change: Change, *, state: core.State, why: str) -> None:
    """Says of a change whose row says so already that it has left the queue."""
    event = ChangeStopped(change=change.id, target=change.target, state=state, why=why)
    writing.emit(event, repo=change.repo, subject=core.subject(change.id))
    if state in core.SATISFIED:
        release_dependents(writing, change)
    elif state != "proposed":
        _hold_dependents(writing, change, state)


def release_dependents(writing: Writing, change: Change) -> None:
    """What was held until this one landed goes on: the target has all of it."""
    for waiting in rows.listed(writing.connection, change.repo, states={"held"}):
        if change.id in waiting.needs and not waiting.waits_for_a_person:
            enter(writing, waiting)


def release_halted(writing: Writing, repo: RepoId, target: str) -> None:
    """What was held because its target was red goes on."""
    for waiting in rows.listed(writing.connection, repo, states={"held"}):
        was_halted = waiting.target == target and holds.is_halted(waiting.why, target)
        if was_halted and not waiting.waits_for_a_person:
            enter(writing, waiting)


def _hold_dependents(writing: Writing, change: Change, state: core.State) -> None:
    """What waits behind a change that left cannot land, nor can what waits behind that."""
    for waiting in rows.listed(writing.connection, change.repo, states=core.OPEN | {"held"}):
        if change.id not in waiting.needs:
            continue
        why = holds.needs(waiting.id, change.id, state)
        if waiting.state in core.OPEN:
            leave(writing, waiting, state="held", why=why)
        elif not waiting.waits_for_a_person:
            rows.move(writing, waiting, why=why)
