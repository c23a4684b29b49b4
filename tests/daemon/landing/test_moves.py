"""Whatever happens to changes, they move as the lifecycle in data says, by one function."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, get_args

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from tests.daemon.landing.landing_ground import LandingGround
from tests.support.clocks import Stopped as StoppedClock

import windlass
from windlass.core.errors import Internal
from windlass.core.ids import RepoId
from windlass.core.jobs import Job
from windlass.core.landing import job as landing_job
from windlass.core.landing.changes import OPEN, Change, ChangeId, State
from windlass.core.landing.moves import Event
from windlass.daemon.landing import moves, restarts
from windlass.store import changes as rows
from windlass.store import jobs, tables
from windlass.store.store import Store, Writing

SOURCE = Path(windlass.__file__).parent
ONLY = SOURCE / "daemon/landing/moves.py"
"""The one module that writes the state of a change."""
REPO = RepoId("0" * 8)
LIFECYCLE = json.loads((resources.files("windlass.data") / "lifecycle.json").read_text())


def trees() -> Iterator[tuple[Path, ast.AST]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path, ast.parse(path.read_text())


def test_no_module_but_one_writes_the_state_of_a_change() -> None:
    """Rows of changes are noted elsewhere, and begin as drafts."""
    found = [
        f"{path.name}:{node.lineno}"
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and re.fullmatch(r"\w*rows\.move", ast.unparse(node))
    ]
    assert [place.partition(":")[0] for place in found] == [ONLY.name], found
    named = [
        path
        for path, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) in ("t.changes", "tables.changes")
    ]
    assert {*named} == {SOURCE / "store/changes.py"}


def test_the_events_that_landing_names_are_those_that_it_tells_the_lifecycle() -> None:
    """None is told that is not declared (mypy), and none is declared that nobody tells."""
    said = {
        node.value
        for path, tree in trees()
        if path.parent == ONLY.parent
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert {*get_args(Event)} <= said


def add(store: Store, **columns: Any) -> Change:
    fields: dict[str, Any] = {
        "repo": REPO,
        "id": ChangeId(""),
        "target": "main",
        "branch": "b",
        "head": "h",
        "title": "t",
        "state": "draft",
    }
    return store.write(partial(rows.add, change=Change(**fields | columns)))


def found(store: Store, change: Change) -> Change:
    return store.read(partial(rows.find, repo=REPO, change=change.id))  # type: ignore[return-value]


def told(store: Store) -> list[tuple[str, str]]:
    """The events of changes, with which they are about."""

    def read(connection: sa.Connection) -> list[tuple[str, str]]:
        query = sa.select(tables.events.c.kind, tables.events.c.data).order_by(tables.events.c.id)
        return [(kind, data.get("change", "")) for kind, data in connection.execute(query)]

    return store.read(read)


def in_queue(store: Store) -> set[str]:
    """Which changes the queue works on, by the events alone, as its job knows them."""
    known: set[str] = set()
    for kind, change in told(store):
        if kind == "change.queued":
            known.add(change)
        elif kind in ("change.stopped", "change.landed"):
            known.discard(change)
    return known


ENTERS: tuple[Event, ...] = (
    "change.submitted",
    "change.approved",
    "change.retried",
    "change.released",
)
LEAVES: tuple[Event, ...] = (
    "change.dropped",
    "change.undone",
    "merge.conflict",
    "merge.hard_fail",
    "merge.held",
    "merge.nothing",
    "merge.requested",
)


def tell(writing: Writing, change: Change, event: Event) -> None:
    """Has something happen to a change, as landing says it."""
    if event in ENTERS:
        moves.enter(writing, change, event)
    elif event in ("merge.succeeded", "merge.pr_merged"):
        moves.land(writing, change, was="a", commit="b", tree="c", why="")
    elif event in LEAVES or (event == "change.blocked" and change.state in OPEN):
        more: dict[str, Any] = {"orphaned": True} if event == "change.dropped" else {}
        moves.leave(writing, change, event, why=event, **more)
    else:
        moves.move(writing, change, event, why=event)


PLAIN: tuple[Event, ...] = (
    "change.blocked",
    "merge.start",
    "merge.succeeded",
    "author.restored",
    "startup.reset",
)
SAID = st.tuples(
    st.integers(0, 2),
    st.just(ENTERS[0]) | st.sampled_from((*ENTERS, *LEAVES, *PLAIN)),
    st.sampled_from(((), ("nobody has looked",))),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store for all the stories here: each has changes of its own."""
    opened = Store(tmp_path_factory.mktemp("moves") / "windlass.db", clock=StoppedClock())
    opened.open()
    yield opened
    opened.close()


@given(st.lists(SAID, max_size=15))
def test_whatever_happens_each_move_is_one_of_the_data_and_the_queue_hears_of_it(
    store: Store, story: list[tuple[int, Event, tuple[str, ...]]]
) -> None:
    """Three changes, of which each needs the one before; what is no move is refused whole."""
    changes: list[Change] = []
    for _ in range(3):
        changes.append(add(store, needs=tuple(c.id for c in changes[-1:])))
    for number, event, guards in story:
        store.write(partial(rows.note, change=found(store, changes[number]), guards=guards))
        before = [found(store, change) for change in changes]
        change = before[number]
        if not possible(change.state, event):
            with pytest.raises(Internal, match=f"{change.id} is {change.state}"):
                store.write(partial(tell, change=change, event=event))
            assert [found(store, known) for known in changes] == before
            continue
        store.write(partial(tell, change=change, event=event))
        after = [found(store, change) for change in changes]
        assert after[number].state in possible(change.state, event)
        for was, now in zip(before, after, strict=True):
            if was.id != change.id and was.state != now.state:
                followed: Event = "change.waits" if was.state in OPEN else "change.released"
                assert now.state in possible(was.state, followed)
        assert {known.id for known in after if known.state in OPEN} == {
            known for known in in_queue(store) if known in {c.id for c in changes}
        }


def possible(state: State, event: Event) -> set[str]:
    """Where the data leads by an event, whatever its guards say; landing is told as it is found."""
    names = {
        name
        for name, known in LIFECYCLE["states"].items()
        if known["public"] == state and known["type"] not in ("transient", "terminal")
    }
    rests = next(name for name in LIFECYCLE["states"] if name in names)
    asked = "merge.pr_merged" if event == "merge.succeeded" and state not in OPEN else event
    return {
        LIFECYCLE["states"][entry["to"] or rests]["public"]
        for entry in LIFECYCLE["transitions"]
        if entry["event"] == asked and entry["from"] in (rests, "*")
    }


def test_what_is_not_as_it_was_known_is_not_moved(store: Store) -> None:
    """Nor does anybody hear that it was."""
    draft = add(store)
    store.write(partial(moves.enter, change=draft, event="change.submitted"))
    before = told(store)
    late: Callable[[Writing], Any] = partial(
        moves.leave, change=draft, event="change.dropped", why="late"
    )
    with pytest.raises(Internal, match="is not draft any more"):
        store.write(late)
    assert (found(store, draft).state, told(store)) == ("queued", before)


def test_what_needs_two_that_go_is_held_once(store: Store) -> None:
    """One of these needs the other, so that it goes by both ways."""
    base = add(store)
    middle = add(store, needs=(base.id,))
    top = add(store, needs=(base.id, middle.id))
    for change in (base, middle, top):
        store.write(partial(moves.enter, change=change, event="change.submitted"))
    store.write(partial(tell, change=found(store, base), event="merge.hard_fail"))
    assert [found(store, change).state for change in (middle, top)] == ["held", "held"]
    assert told(store).count(("change.stopped", top.id)) == 1
    assert found(store, top).why == f"it needs {middle.id}, which is held"


def test_a_restart_leaves_alone_what_its_queue_is_trying(ground: LandingGround) -> None:
    """The gate goes on with it. What nothing tries any more waits again, and lands."""
    ground.commit({"more.py": "more = 1\n"}, branch="tried")
    ground.submit("tried")
    while ground.states() != {"tried": "gating"}:
        step(ground)
    ground.context.store.write(restarts.reset)
    assert ground.states() == {"tried": "gating"}, "its queue has not heard of the try yet"
    while not tries(ground):
        step(ground)
    ground.context.store.write(restarts.reset)
    assert ground.states() == {"tried": "gating"}
    job = queue_of(ground)
    ground.context.store.write(
        lambda writing: jobs.change(writing, job, state={**job.state, "tries": []})
    )
    ground.context.store.write(restarts.reset)
    assert ground.states() == {"tried": "queued"}
    ground.context.store.write(lambda writing: jobs.change(writing, job, state=job.state))
    ground.settle()
    assert ground.states() == {"tried": "landed"}


def step(ground: LandingGround) -> None:
    """Does the next of what `settle` does."""
    if ground.work:
        ground.work.pop(0)()
    else:
        ground.intents.perform_recorded(ground.due.pop(0).key)


def queue_of(ground: LandingGround) -> Job:
    found = ground.context.store.read(partial(jobs.listed, repo=ground.proofs_repo))
    return next(job for job in found if job.kind == landing_job.KIND.name)


def tries(ground: LandingGround) -> list[Any]:
    return list(queue_of(ground).state["tries"])
