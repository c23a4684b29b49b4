"""Observations in the database: with their reason, and those of before there were any."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.support import old_stores, whole_rows
from tests.support.agents import an_agent
from tests.support.clocks import Stopped
from tests.support.contexts import REPO

from windlass.core.ids import Uid
from windlass.core.reasons import Reason, words
from windlass.core.states import Observation, Source, State
from windlass.store import rows, tables
from windlass.store.store import Store, Writing

REASON = Reason(kind="claimed_waiting", tasks=("make",))
BEFORE_REASONS = 5
"""The number of the last migration that knew none."""


@pytest.fixture
def opened(path: Path, request: pytest.FixtureRequest) -> Callable[[], Store]:
    def open_it() -> Store:
        store = Store(path, clock=Stopped())
        store.open()
        request.addfinalizer(store.close)
        return store

    return open_it


def observe(writing: Writing) -> None:
    whole_rows.add_repo(writing, REPO)
    fox = an_agent("fox", repo=REPO)
    whole_rows.put_agent(writing, fox)
    seen = Observation(source=Source.HOOK, value=State.WAITING, at=9.0, reason=REASON, session=1)
    rows.put_observation(writing, fox.uid, seen)


def reasons(store: Store) -> list[Reason]:
    uid = an_agent("fox").uid
    one_by_one = [seen.reason for seen in store.read(lambda c: rows.observations(c, uid))]
    assert [seen.reason for seen in store.read(rows.all_observations)[uid]] == one_by_one
    return one_by_one


def test_an_observation_is_kept_with_its_reason_and_the_sentence_beside_it(
    opened: Callable[[], Store],
) -> None:
    store = opened()
    store.write(observe)
    assert reasons(store) == [REASON]
    evidence = store.read(lambda c: c.execute(sa.select(tables.observations.c.evidence)).scalar())
    assert evidence == "WAITING; in the background: make"


@pytest.mark.parametrize(
    "schema", [schema for schema in old_stores.SCHEMAS if schema <= BEFORE_REASONS]
)
def test_what_was_seen_before_there_were_reasons_is_read_as_its_words(
    opened: Callable[[], Store], path: Path, schema: int
) -> None:
    old_stores.make(path, schema)
    store = opened()
    stored = store.read(lambda c: c.execute(sa.select(tables.observations)).all())
    assert stored
    for row in stored:
        kept = store.read(partial(rows.observations, uid=Uid(row.agent)))
        assert words(row.evidence) in [seen.reason for seen in kept]
