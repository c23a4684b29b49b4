"""Rows are changed by their columns, so that nobody undoes what somebody else changed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from tests.support import whole_rows
from tests.support.agents import an_agent

from windlass.core.crew import Limits, Policy
from windlass.core.errors import NotFound
from windlass.core.ids import RepoId, Uid
from windlass.core.states import State
from windlass.store import rows, tables
from windlass.store.rows import Intent, Session
from windlass.store.store import Store, Writing

FOX = Uid("fox")
AGENT = an_agent("fox", repo=RepoId("r1"), policy=Policy(allow=("Read",)), limits=Limits(turns=3))
SESSION = Session(agent=FOX, number=1, marker="m1", marks={"output": 7})
INTENT = Intent(
    id="k1",
    kind="spawn",
    repo=RepoId("r1"),
    caller=None,
    data={"uid": "fox"},
    step=0,
    status="open",
    created_at=1.0,
    updated_at=1.0,
    done=("reserve",),
    version=2,
)


@pytest.fixture
def store(store: Store) -> Store:
    """A store with one agent, its session and an intent."""

    def fill(writing: Writing) -> None:
        whole_rows.add_repo(writing, "r1")
        rows.add_agent(writing, AGENT)
        rows.add_session(writing, SESSION)
        rows.add_intent(writing, INTENT)

    store.write(fill)
    return store


def test_what_was_added_is_read_as_it_is(store: Store) -> None:
    assert store.read(lambda c: rows.agent(c, FOX)) == AGENT
    assert store.read(lambda c: rows.session(c, FOX, 1)) == SESSION
    assert store.read(lambda c: rows.intent(c, "k1")) == INTENT


@pytest.mark.parametrize(
    "add",
    [
        lambda w: rows.add_agent(w, AGENT),
        lambda w: rows.add_session(w, SESSION),
        lambda w: rows.add_intent(w, INTENT),
    ],
)
def test_what_is_there_already_is_not_added_again(
    store: Store, add: Callable[[Writing], None]
) -> None:
    with pytest.raises(IntegrityError):
        store.write(add)


def test_a_change_returns_the_row_as_it_is_now(store: Store) -> None:
    agent = store.write(
        lambda w: rows.change_agent(w, FOX, state=State.WAITING, limits=Limits(usd=1.5))
    )
    assert (agent.state, agent.limits, agent.policy) == (
        State.WAITING,
        Limits(usd=1.5),
        AGENT.policy,
    )
    session = store.write(lambda w: rows.change_session(w, FOX, 1, ended_at=5.0, exit_code=0))
    assert (session.ended_at, session.exit_code, session.marks) == (5.0, 0, {"output": 7})
    intent = store.write(
        lambda w: rows.change_intent(w, "k1", done=(*INTENT.done, "start"), status="done")
    )
    assert (intent.done, intent.status, intent.data) == (
        ("reserve", "start"),
        "done",
        {"uid": "fox"},
    )
    assert store.read(lambda c: rows.agent(c, FOX)) == agent
    assert store.read(lambda c: rows.session(c, FOX, 1)) == session
    assert store.read(lambda c: rows.intent(c, "k1")) == intent


def test_a_change_of_nothing_returns_the_row(store: Store) -> None:
    assert store.write(lambda w: rows.change_agent(w, FOX)) == AGENT


def test_what_has_gone_is_null_in_columns_of_json_too(store: Store) -> None:
    store.write(lambda w: rows.change_intent(w, "k1", result={"agent": "fox"}))
    assert store.write(lambda w: rows.change_intent(w, "k1", result=None)).result is None
    without_result = sa.select(sa.func.count()).where(tables.intents.c.result.is_(sa.null()))
    assert store.read(lambda c: c.execute(without_result).scalar()) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda w: rows.change_agent(w, Uid("owl"), slot=1),
        lambda w: rows.change_agent(w, Uid("owl")),
        lambda w: rows.change_session(w, FOX, 2, exit_code=1),
        lambda w: rows.change_intent(w, "k2", status="done"),
        lambda w: rows.set_mark(w, FOX, 2, "output", 9),
    ],
)
def test_a_row_that_is_not_there_cannot_be_changed(
    store: Store, change: Callable[[Writing], Any]
) -> None:
    with pytest.raises(NotFound):
        store.write(change)


def test_a_column_that_is_not_there_cannot_be_changed(store: Store) -> None:
    with pytest.raises(KeyError, match="mood"):
        store.write(lambda w: rows.change_agent(w, FOX, mood="sunny"))


def test_a_value_that_cannot_be_read_back_is_not_kept(store: Store) -> None:
    with pytest.raises(ValueError, match="state"):
        store.write(lambda w: rows.change_agent(w, FOX, state="sunny", slot=9))
    assert store.read(lambda c: rows.agent(c, FOX)) == AGENT


def test_two_who_change_different_columns_do_not_undo_each_other(store: Store) -> None:
    """Both know the row from before, as whoever waits for something outside does."""
    known = threading.Barrier(2)

    def change(**columns: Any) -> None:
        assert store.read(lambda c: rows.agent(c, FOX)) == AGENT
        known.wait()
        store.write(lambda w: rows.change_agent(w, FOX, **columns))

    changes: tuple[dict[str, Any], ...] = (
        {"state": State.WAITING, "state_at": 9.0},
        {"conversation": "another"},
    )
    threads = [threading.Thread(target=change, kwargs=columns) for columns in changes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    agent = store.read(lambda c: rows.agent(c, FOX))
    assert agent is not None
    assert (agent.state, agent.state_at, agent.conversation) == (State.WAITING, 9.0, "another")


def test_many_who_move_marks_of_their_own_keep_each_others(store: Store) -> None:
    def move(name: str) -> None:
        for offset in range(20):
            moved = partial(rows.set_mark, uid=FOX, number=1, name=name, value={"at": offset})
            store.write(moved)

    threads = [threading.Thread(target=move, args=(f"reader {n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    marks = store.read(lambda c: rows.session(c, FOX, 1)).marks
    assert marks == {"output": 7, **{f"reader {n}": {"at": 19} for n in range(4)}}


def test_a_mark_is_moved_beside_another_change_of_its_session(store: Store) -> None:
    store.write(lambda w: rows.change_session(w, FOX, 1, ended_at=5.0))
    session = store.write(lambda w: rows.set_mark(w, FOX, 1, 'a name\'s "own"', [1, 2]))
    assert session.marks == {"output": 7, 'a name\'s "own"': [1, 2]}
    assert session.ended_at == 5.0
