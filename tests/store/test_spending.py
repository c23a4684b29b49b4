"""Sums of what was spent, on a real database: each spending once, whoever told of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.support import whole_rows
from tests.support.agents import an_agent

from windlass.core.crew import Agent
from windlass.core.ids import AgentId, RepoId, Uid
from windlass.core.usage import Usage
from windlass.store import rows, spending, spending_groups
from windlass.store.counted_spending import Source
from windlass.store.rows import Session
from windlass.store.store import Store, Writing


def agent(uid: str, repo: str) -> Agent:
    return an_agent(uid, repo=RepoId(repo), id=AgentId(f"name-{uid}"), mode="live", session=2)


@pytest.fixture
def store(store: Store) -> Store:
    """A store with two repositories and three agents, each with two sessions."""

    def people(writing: Writing) -> None:
        for repo in ("r1", "r2"):
            whole_rows.add_repo(writing, repo)
        for uid, repo in (("a", "r1"), ("b", "r1"), ("c", "r2")):
            whole_rows.put_agent(writing, agent(uid, repo))
            for number in (1, 2):
                session = Session(agent=Uid(uid), number=number, marker=f"{uid}{number}")
                whole_rows.put_session(writing, session)

    store.write(people)
    return store


def spend(
    store: Store,
    uid: str,
    cost: float,
    *,
    session: int = 1,
    day: str = "2026-01-01",
    model: str = "m",
    source: Source = "transcript",
    notional: bool = False,
) -> None:
    used = Usage(input_tokens=10, output_tokens=1)
    store.write(
        lambda w: spending.add(
            w,
            Uid(uid),
            session,
            day=day,
            model=model,
            source=source,
            used=used,
            cost=cost,
            notional=notional,
        )
    )


def total(store: Store, *, notional: bool = False, **asked: Any) -> float:
    return store.read(lambda c: spending.total(c, notional=notional, **asked))


def test_what_is_added_to_a_row_adds_up(store: Store) -> None:
    for _ in range(3):
        spend(store, "a", 0.5)
    (row,) = store.read(lambda c: spending_groups.grouped(c, "day", repo=None, since=None))
    assert (row.usd, row.input_tokens, row.output_tokens) == (1.5, 30, 3)


def test_of_two_sources_the_one_that_says_more_counts_by_session(store: Store) -> None:
    spend(store, "a", 3.0, source="transcript")
    spend(store, "a", 2.0, source="result")
    spend(store, "a", 2.0, source="result", model="side")
    spend(store, "a", 1.0, source="transcript", session=2)
    spend(store, "a", 0.5, source="result", session=2)
    assert total(store, agent=Uid("a")) == 5.0
    spent = store.read(lambda c: spending_groups.grouped(c, "model", repo=None, since=None))
    assert {(row.name, row.usd) for row in spent} == {("m", 3.0), ("side", 2.0)}
    sessions = store.read(lambda c: spending.by_session(c, [Uid("a")]))
    assert [(row.session, row.usd) for row in sessions] == [(1, 4.0), (2, 1.0)]


def test_one_model_under_two_names_does_not_count_twice(store: Store) -> None:
    spend(store, "a", 2.0, source="result", model="as-asked-for")
    spend(store, "a", 1.9, source="transcript", model="as-it-answers")
    assert total(store, agent=Uid("a")) == 2.0


def test_a_day_has_what_the_counting_source_says_of_that_day(store: Store) -> None:
    spend(store, "a", 5.0, day="2026-01-01", source="result")
    spend(store, "a", 1.0, day="2026-01-02", source="result")
    spend(store, "a", 4.0, day="2026-01-02", source="transcript")
    spend(store, "c", 0.25, day="2026-01-02")
    assert total(store, day="2026-01-02") == 1.25
    assert total(store, day="2026-01-02", repo=RepoId("r1")) == 1.0
    assert total(store, day="2026-01-03") == 0.0


def test_sums_are_of_an_agent_or_of_a_repository(store: Store) -> None:
    spend(store, "a", 1.0)
    spend(store, "b", 2.0)
    spend(store, "c", 4.0)
    assert total(store, agent=Uid("a")) == 1.0
    assert total(store, repo=RepoId("r1")) == 3.0
    assert total(store) == 7.0


def test_what_a_subscription_pays_is_summed_apart(store: Store) -> None:
    spend(store, "a", 1.0, notional=True)
    spend(store, "b", 2.0)
    assert (total(store), total(store, notional=True)) == (2.0, 1.0)
    spend(store, "a", 1.0, notional=False)
    assert (total(store), total(store, notional=True)) == (4.0, 0.0)


def test_results_of_a_session_are_summed_over_its_days(store: Store) -> None:
    spend(store, "a", 1.0, day="2026-01-01", source="result")
    spend(store, "a", 2.0, day="2026-01-02", source="result")
    spend(store, "a", 9.0, day="2026-01-02", source="transcript")
    spend(store, "a", 9.0, session=2, source="result")
    reported = store.read(lambda c: spending.reported(c, Uid("a"), 1))
    assert reported == {"m": (Usage(input_tokens=20, output_tokens=2), 3.0)}


def test_a_mark_moves_to_the_newest_session_and_leaves_the_others_alone(store: Store) -> None:
    def change(writing: Writing) -> None:
        first = rows.session(writing.connection, Uid("a"), 1)
        whole_rows.put_session(writing, msgspec.structs.replace(first, marks={"output": 7}))
        spending.put_mark(writing, Uid("a"), 1, "costs", {"n": 1})
        spending.put_mark(writing, Uid("a"), 2, "costs", {"n": 2})

    store.write(change)
    second, first = store.read(lambda c: rows.sessions(c, Uid("a")))
    assert first.marks == {"output": 7}
    assert second.marks == {"costs": {"n": 2}}
    assert store.read(lambda c: spending.mark(c, Uid("a"), "costs")) == {"n": 2}
    assert store.read(lambda c: spending.mark(c, Uid("b"), "costs")) == {}
