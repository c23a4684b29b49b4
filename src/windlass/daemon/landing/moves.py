"""The moves of changes between their states: whatever becomes of one is written here alone.

A move is told an event, and the lifecycle in data says what follows. It is written with the event
that the queue goes by and with its effects, in one transaction. Those held by others move with
them: what needs a change, and what was held until its target is green.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from windlass.core.errors import Internal
from windlass.core.events import ChangeLanded, ChangeQueued, ChangeStopped
from windlass.core.ids import RepoId
from windlass.core.landing import changes as core
from windlass.core.landing import holds
from windlass.core.landing.changes import Change
from windlass.core.landing.moves import ChangeLife, Event, Facts
from windlass.core.lifecycle import spec
from windlass.core.lifecycle.machine import Call
from windlass.daemon.landing import tells
from windlass.project import lifecycles
from windlass.store import changes as rows
from windlass.store.store import Writing

_NO_FACTS = Facts()


class _Moved(NamedTuple):
    was: Change
    change: Change
    facts: Facts
    effects: tuple[Call, ...]


def hears(change: Change, event: Event) -> bool:
    """Whether an event means anything for a change where it is."""
    return life().hears(change, event, _NO_FACTS)


def move(writing: Writing, change: Change, event: Event, **columns: Any) -> Change:
    """Moves a change of which the queue need not hear: it is in it before and after, or never."""
    moved = _write(writing, change, event, _NO_FACTS, columns)
    _perform(writing, moved)
    return moved.change


def enter(writing: Writing, change: Change, event: Event) -> Change:
    """Has a change wait in the queue, or for whatever it has to wait for before."""
    lacking = lacks(writing.connection, change)
    why = change.waits_for_a_person
    if not why and (stuck := [need for need in lacking if need.state not in core.OPEN]):
        why = "; ".join(holds.needs(change.id, need.id, need.state) for need in stuck)
    moved = _write(writing, change, event, Facts(in_its_way=why), {"why": why})
    if moved.change.state in core.OPEN:
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
    elif change.state in core.OPEN:
        left(writing, moved.change)
    _perform(writing, moved)
    return moved.change


def leave(
    writing: Writing, change: Change, event: Event, facts: Facts = _NO_FACTS, **columns: Any
) -> Change:
    """Takes a change out of the queue, and has those held that need it."""
    moved = _write(writing, change, event, facts, columns)
    left(writing, moved.change)
    _perform(writing, moved)
    return moved.change


def land(writing: Writing, change: Change, **columns: Any) -> Change:
    """Records that the target has a change: it may have been taken out of the queue meanwhile."""
    event: Event = "merge.succeeded" if change.state in core.OPEN else "merge.pr_merged"
    moved = _write(writing, change, event, _NO_FACTS, columns)
    landed = moved.change
    if landed.commit is None or landed.tree is None or landed.was is None:
        raise AssertionError(landed)
    told = ChangeLanded(
        change=landed.id,
        target=landed.target,
        commit=landed.commit,
        tree=landed.tree,
        was=landed.was,
    )
    writing.emit(told, repo=landed.repo, subject=core.subject(landed.id))
    _perform(writing, moved)
    return landed


def left(writing: Writing, change: Change) -> None:
    """Says of a change whose row says so already that it has left the queue."""
    event = ChangeStopped(
        change=change.id, target=change.target, state=change.state, why=change.why
    )
    writing.emit(event, repo=change.repo, subject=core.subject(change.id))
    if change.state in core.SATISFIED:
        _release_dependents(writing, change)
    elif change.state != "proposed":
        _hold_dependents(writing, change)


def release_halted(writing: Writing, repo: RepoId, target: str) -> None:
    """What was held because its target was red goes on."""
    for waiting in rows.listed(writing.connection, repo, states={"held"}):
        was_halted = waiting.target == target and holds.is_halted(waiting.why, target)
        if was_halted and not waiting.waits_for_a_person:
            enter(writing, waiting, "change.released")


def lacks(connection: sa.Connection, change: Change) -> list[Change]:
    """What has to land before a change, and has not."""
    needs = [rows.find(connection, change.repo, name) for name in change.needs]
    return [n for n in needs if n is not None and n.state not in core.SATISFIED]


def _write(
    writing: Writing, change: Change, event: Event, facts: Facts, columns: Mapping[str, Any]
) -> _Moved:
    """The one place that writes the state of a change."""
    found = life().move(change, event, facts)
    after = msgspec.structs.replace(change, state=found.state, **columns)
    is_moved = bool(columns) or after.state != change.state
    if is_moved and not rows.move(writing, change, state=found.state, **columns):
        raise Internal(
            f"{change.id} is not {change.state} any more, so {event} leads it nowhere",
            "please report this",
        )
    return _Moved(change, after, facts, found.effects)


def _perform(writing: Writing, moved: _Moved) -> None:
    for effect in moved.effects:
        if perform := _EFFECTS.get(effect.fn):
            perform(writing, moved, effect.args)


def _release_dependents(writing: Writing, change: Change) -> None:
    """What was held until this one landed goes on: the target has all of it."""
    for waiting in rows.listed(writing.connection, change.repo, states={"held"}):
        if change.id in waiting.needs and not waiting.waits_for_a_person:
            enter(writing, waiting, "change.released")


def _hold_dependents(writing: Writing, change: Change) -> None:
    """What waits behind a change that left cannot land, nor can what waits behind that."""
    for known in rows.listed(writing.connection, change.repo, states=core.OPEN | {"held"}):
        if change.id not in known.needs:
            continue
        waiting = rows.find(writing.connection, change.repo, known.id)
        if waiting is None or waiting.state != known.state:
            continue  # held by now, with another that it needs as well
        why = holds.needs(waiting.id, change.id, change.state)
        if waiting.state in core.OPEN:
            leave(writing, waiting, "change.waits", why=why)
        elif not waiting.waits_for_a_person:
            rows.note(writing, waiting, why=why)


def _tell(writing: Writing, moved: _Moved, args: Any) -> None:
    tell = tells.tell_author if args["whom"] == "author" else tells.tell_person
    tell(writing, moved.change, most=moved.facts.most)


def _tell_of_ending(writing: Writing, moved: _Moved, _: Any) -> None:
    tells.tell_of_ending(writing, moved.was)


def _release(writing: Writing, moved: _Moved, _: Any) -> None:
    _release_dependents(writing, moved.change)
    release_halted(writing, moved.change.repo, moved.change.target)


_EFFECTS: Mapping[str, Callable[[Writing, _Moved, Any], None]] = {
    "tell": _tell,
    "tell_of_ending": _tell_of_ending,
    "remove_conflict_queue": _release,
}
_OF_OTHERS: Mapping[str, str] = {
    "add_conflict_queue": "the queue defers what conflicts with a change before it",
    "count_attempt": "what counts is how often a change came back, and `stops` writes that with it",
    "reset_attempts": "of what no change hears yet",
    "sync_forge": "the push, or the pull request, came before what is recorded here",
    "end_author": "the queue's job ends authors, when it hears that their change has landed",
}
"""Effects that the data names and others perform, on their own intents, and who does."""


@cache
def life() -> ChangeLife:
    """The lifecycle of changes, read once."""
    data, origin = lifecycles.data_of(None)
    return ChangeLife(spec.parse(data, origin), {*_EFFECTS, *_OF_OTHERS})
