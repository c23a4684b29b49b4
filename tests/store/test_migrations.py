"""Stores of every earlier schema are brought up to date, and lose nothing on the way."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.core.mail.test_messages import message
from tests.support import old_stores
from tests.support.clocks import Stopped

from windlass.core.errors import ConfigError
from windlass.core.ids import Uid
from windlass.core.schema import SCHEMA
from windlass.store import mailbox, rows, spending_groups, tables
from windlass.store.migrations.upgrade import MIGRATIONS
from windlass.store.store import Store

EVERY = pytest.mark.parametrize("schema", [0, *old_stores.SCHEMAS])
MAIL = 4
"""The first schema that had messages."""
SUBJECTS = 7
"""The first schema in which events of messages are about them."""
FILLED = pytest.mark.parametrize("schema", old_stores.SCHEMAS)


def migrate(path: Path) -> None:
    store = Store(path, clock=Stopped())
    store.open()
    store.close()


def execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@pytest.fixture
def meant(tmp_path: Path) -> dict[str, Any]:
    """The shape that the tables have now, as they are written down."""
    made = tmp_path / "meant.db"
    engine = sa.create_engine(f"sqlite:///{made}")
    tables.metadata.create_all(engine)
    engine.dispose()
    return old_stores.shape(made)


def test_the_schema_number_that_clients_know_is_the_number_of_migrations() -> None:
    assert len(MIGRATIONS) == SCHEMA


def test_there_is_a_dump_of_every_earlier_schema() -> None:
    assert tuple(range(1, SCHEMA)) == old_stores.SCHEMAS


@EVERY
def test_whatever_it_was_made_as_a_store_has_the_shape_that_is_written_down(
    path: Path, schema: int, meant: dict[str, Any]
) -> None:
    old_stores.make(path, schema)
    migrate(path)
    assert old_stores.shape(path) == meant
    assert old_stores.schema_of(path) == SCHEMA


@FILLED
def test_everything_in_an_old_store_is_still_there(path: Path, schema: int) -> None:
    old_stores.make(path, schema)
    before = old_stores.contents(path)
    assert all(rows for _, rows in before.values())
    migrate(path)
    assert old_stores.still_held(path, before) == before


@FILLED
def test_what_an_old_store_holds_is_read_as_what_it_means_today(path: Path, schema: int) -> None:
    old_stores.make(path, schema)
    store = Store(path, clock=Stopped())
    store.open()
    amber, birch = store.read(rows.agents)
    assert (amber.id, birch.id, birch.parent) == ("amber", "birch", amber.uid)
    assert amber.limits.turns == (7 if schema >= 2 else None)
    assert [amber.spawns, birch.spawns] == [amber.role == "manager", birch.role == "manager"]
    assert amber.spawns != birch.spawns
    assert birch.isolation == ("box" if schema >= 3 else "hooks")
    sessions = store.read(lambda c: rows.sessions(c, amber.uid))
    assert [session.marks.get("output") for session in sessions] == [4096 if schema >= 2 else None]
    (under_way,) = store.read(rows.open_intents)
    assert (under_way.kind, under_way.step, under_way.done, under_way.version) == ("end", 2, (), 1)
    assert [event.subject for event in store.read(rows.events)] == [None] * 4
    spent = store.read(lambda c: spending_groups.of_live(c, repo=None, since=None))
    assert [(row.uid, row.usd) for row in spent if row.usd] == [(birch.uid, 0.25)] * (schema >= 2)
    queued = store.read(lambda c: mailbox.queued(c, Uid("aaaaaaaaaaaaaaa2")))
    assert [message.body for message in queued] == ["go on"] * (schema >= 4)
    store.close()


@pytest.mark.parametrize("schema", range(MAIL, SUBJECTS))
def test_what_happened_to_a_message_before_events_were_about_messages_is_found(
    path: Path, schema: int
) -> None:
    old_stores.make(path, schema)
    insert = "INSERT INTO events (at, kind, data) VALUES (1.0, "
    execute(
        path,
        insert + """'message.sent', '{"id":"msg-1"}')""",
        insert + """'message.acked', '{"id":"msg-1"}')""",
        insert + """'message.sent', '{"id":"msg-2"}')""",
        insert + """'note', '{"id":"msg-1"}')""",
    )
    store = Store(path, clock=Stopped())
    store.open()
    history = store.read(lambda c: mailbox.history(c, message(id="msg-1")))
    assert [event.kind for event in history] == ["message.sent", "message.acked"]
    store.close()


def test_a_store_that_is_up_to_date_is_left_alone(path: Path) -> None:
    migrate(path)
    reached: list[str] = []
    store = Store(path, clock=Stopped(), reached=reached.append)
    store.open()
    store.close()
    assert reached == []


def test_the_index_that_the_first_stores_of_schema_4_lack_is_added(
    path: Path, meant: dict[str, Any]
) -> None:
    old_stores.make(path, 4)
    execute(path, "DROP INDEX messages_by_state")
    migrate(path)
    assert old_stores.shape(path) == meant


@pytest.mark.parametrize(
    ("schema", "left"),
    [
        (3, ["CREATE TABLE messages (number INTEGER PRIMARY KEY, id TEXT)"]),
        (2, ["ALTER TABLE agents ADD COLUMN isolation VARCHAR(16) DEFAULT 'hooks' NOT NULL"]),
        (1, ["CREATE TABLE usage (agent TEXT)", "ALTER TABLE agents ADD COLUMN fork_of TEXT"]),
        (0, ["CREATE TABLE schema_version (version INTEGER)", "CREATE TABLE repos (id TEXT)"]),
    ],
)
def test_what_an_older_windlass_left_when_it_was_killed_in_a_migration_is_mended(
    path: Path, schema: int, left: list[str], meant: dict[str, Any]
) -> None:
    old_stores.make(path, schema)
    before = old_stores.contents(path) if schema else {}
    execute(path, *left)
    migrate(path)
    assert old_stores.shape(path) == meant
    assert old_stores.still_held(path, before) == before


def test_a_table_of_somebody_elses_that_is_in_the_way_is_refused_and_kept(path: Path) -> None:
    statements = ("CREATE TABLE events (day TEXT)", "INSERT INTO events VALUES ('wedding')")
    execute(path, *statements)
    store = Store(path, clock=Stopped())
    with pytest.raises(ConfigError, match="events already exists"):
        store.open()
    store.close()
    assert old_stores.contents(path) == {"events": (["day"], [("wedding",)])}


@pytest.mark.parametrize(
    ("number", "said"),
    [
        ("'three'", "its schema is 'three'"),
        ("''", "its schema is ''"),
        ("x'00ff'", "its schema is b'"),
        ("2.5", "its schema is 2.5"),
        ("0.0001", "its schema is 0.0001"),
        ("-1", "its schema is -1"),
        ("1e300", "its schema is 1e"),
        ("9223372036854775807", "made by a newer Windlass"),
    ],
)
def test_a_number_of_the_schema_that_is_none_is_named_and_the_store_left_alone(
    path: Path, number: str, said: str
) -> None:
    migrate(path)
    execute(path, f"UPDATE schema_version SET version = {number}")  # noqa: S608 - the numbers above
    before = path.read_bytes()
    store = Store(path, clock=Stopped())
    with pytest.raises(ConfigError) as refused:
        store.open()
    store.close()
    assert said in refused.value.message
    assert "untouched" in refused.value.hint
    assert path.read_bytes() == before
    assert list(path.parent.glob("backups/*")) == []
