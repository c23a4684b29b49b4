"""What is older than it is kept goes, and nothing that somebody still needs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from tests.support import whole_rows
from tests.support.agents import an_agent
from tests.support.contexts import NOW, REPO, Turned
from tests.support.workshop import Workshop

from windlass.core.errors import ConfigError
from windlass.core.events import Note
from windlass.core.ids import RepoId, Uid
from windlass.core.sessions import EARLIER_SCREEN, SCREEN
from windlass.daemon.jobs.ledger import Jobs
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.retention.retention import DAY, Retention
from windlass.git import trash_packs
from windlass.store import old_rows, rows, tables
from windlass.store.rows import Intent
from windlass.store.store import Writing


@pytest.fixture
def clock() -> Turned:
    """It stands still."""
    return Turned()


def sweep(context: Context, *, removes: bool = True) -> dict[str, Any]:
    """Has everything old removed, or only named; what was said of each kind."""
    retention = Retention(context, Jobs(context, Intents(context)))
    reply = retention.gc(None, {"cwd": "", "dry_run": not removes})  # type: ignore[arg-type]
    return {view["kind"]: view for view in reply["swept"]}


def note(context: Context, text: str, *, days: float) -> None:
    """Writes an event of so many days ago."""
    at = NOW - days * DAY
    context.store.write(lambda w: w.emit(Note(text=text, by="windlass"), repo=REPO, at=at))


def notes(context: Context) -> list[str]:
    """What is in the log."""
    return [event.data["text"] for event in context.store.read(rows.events)]


def put_row(context: Context, table: sa.Table, **values: Any) -> None:
    context.store.write(lambda w: w.connection.execute(sa.insert(table).values(values)))


def message(context: Context, name: str, *, days: float, state: str) -> None:
    """Keeps a message of so many days ago."""
    parties = {"sender": "user", "sender_id": "you", "recipient": "fox", "recipient_id": "fox"}
    words = {"kind": "info", "urgent": False, "body": "b", "reason": ""}
    at = NOW - days * DAY
    put_row(
        context, tables.messages, id=name, repo=REPO, state=state, created_at=at, **parties, **words
    )


def notice(context: Context, text: str, *, days: float, about: str | None = None) -> None:
    """Keeps a notice of so many days ago."""
    words = {"sender": "fox", "type": "done", "text": text, "message": about}
    put_row(context, tables.notices, repo=REPO, at=NOW - days * DAY, **words)


def column_of(context: Context, column: sa.Column[Any]) -> set[Any]:
    """What a table has in one of its columns."""
    return set(context.store.read(lambda c: c.execute(sa.select(column)).scalars().all()))


def unfinished(context: Context, *, days: float, status: Any = "open", **data: Any) -> None:
    """Keeps an intent that was begun so many days ago and is not finished."""
    at = NOW - days * DAY
    intent = Intent(
        id="i", kind="restore", repo=REPO, caller=None, data=data, step=0, status=status,
        created_at=at, updated_at=at,
    )  # fmt: skip
    context.store.write(lambda w: whole_rows.put_intent(w, intent))


def test_events_go_after_a_year_in_small_parts(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(old_rows, "_AT_ONCE", 3)
    monkeypatch.setattr(old_rows, "_LOOKED_AT", 4)
    for number in range(11):
        note(context, f"old{number}", days=366)
    note(context, "young", days=364)
    note(context, "old, of a clock that was set back", days=366)
    note(context, "newest", days=366)
    before = notes(context)
    named = sweep(context, removes=False)["events"]
    assert notes(context) == before, "it was only asked"
    changes: list[int] = []

    def removed(writing: Writing, kind: old_rows.Kind, numbers: Sequence[int]) -> None:
        changes.append(len(numbers))
        remove(writing, kind, numbers)

    remove = old_rows.remove
    monkeypatch.setattr(old_rows, "remove", removed)
    done = sweep(context)["events"]
    assert notes(context) == ["young", "newest"], "the number of the last one is not given again"
    assert (done["removed"], done["bytes"]) == (named["removed"], named["bytes"])
    assert done["removed"] == 12
    assert max(changes) == 3


@pytest.mark.parametrize("status", ["open", "set aside", "halted"])
def test_nothing_goes_that_is_newer_than_an_unfinished_intent(
    context: Context, status: str
) -> None:
    for days in (500, 400):
        note(context, str(days), days=days)
        message(context, str(days), days=days, state="acked")
        notice(context, str(days), days=days)
    note(context, "newest", days=0)
    unfinished(context, days=450, status=status)
    sweep(context)
    assert notes(context) == ["400", "newest"]
    for column in (tables.messages.c.id, tables.notices.c.text):
        assert column_of(context, column) == {"400"}, "and the last one stays in any case"


def test_messages_go_that_nothing_more_happens_to_and_notices_that_tell_of_none(
    context: Context,
) -> None:
    message(context, "over", days=181, state="acked")
    message(context, "failed", days=181, state="failed")
    message(context, "open", days=181, state="delivered")
    message(context, "young", days=179, state="acked")
    notice(context, "old", days=181)
    notice(context, "of an open message", days=181, about="open")
    notice(context, "of one that is over", days=181, about="over")
    notice(context, "young", days=179)
    sweep(context)
    assert column_of(context, tables.messages.c.id) == {"open", "young"}
    assert column_of(context, tables.notices.c.text) == {"of an open message", "young"}


def test_what_is_kept_for_ever_stays_and_a_wrong_value_removes_nothing(context: Context) -> None:
    note(context, "old", days=4000)
    note(context, "newest", days=0)
    config = context.folders.home / "config.toml"
    config.write_text("[retention]\nevents = 0\n")
    assert sweep(context)["events"]["removed"] == 0
    config.write_text('[retention]\nevents = "a year"\n')
    with pytest.raises(ConfigError, match=r"retention\.events"):
        sweep(context)
    Retention(context, Jobs(context, Intents(context))).daily()
    assert notes(context) == ["old", "newest"]


def test_it_is_done_once_a_day(context: Context, clock: Turned) -> None:
    """Whoever does it: the next daemon knows when the last one did."""
    Retention(context, Jobs(context, Intents(context))).daily()
    note(context, "old", days=400)
    note(context, "newest", days=0)
    clock.time += DAY - 1
    Retention(context, Jobs(context, Intents(context))).daily()
    assert notes(context) == ["old", "newest"]
    clock.time += 2
    Retention(context, Jobs(context, Intents(context))).daily()
    assert notes(context) == ["newest"]


def test_of_what_earlier_sessions_printed_the_newest_stays_up_to_a_size(context: Context) -> None:
    fox = an_agent("fox", repo=REPO, session=4)
    context.store.write(lambda w: whole_rows.put_agent(w, fox))
    logs = [context.folders.session(fox.uid, number) / SCREEN for number in range(1, 5)]
    for log in logs:
        log.parent.mkdir(parents=True)
        log.write_bytes(b"")
        os.truncate(log, 3 << 20)
    earlier = logs[1].with_name(EARLIER_SCREEN)
    earlier.write_bytes(b"x")
    done = sweep(context)["screens"]
    assert [log.exists() for log in (*logs, earlier)] == [False, False, True, True, False]
    assert (done["removed"], done["bytes"]) == (2, (6 << 20) + 1)


def end(workshop: Workshop, name: str, **more: Any) -> Uid:
    """Starts and ends an agent that has left a file."""
    made = workshop.ask("spawn", goal="g", name=name, driver="standin", isolation="hooks", **more)
    agent = workshop.agent(made["uid"])
    if agent.branch:
        (Path(agent.workspace) / "draft.txt").write_text(name)
    workshop.ask("end", agents=[name])
    return agent.uid


def entries(workshop: Workshop) -> list[str]:
    """Whose work is in the trash."""
    return sorted(entry["agent"] for entry in workshop.ask("trash"))


def archives(workshop: Workshop) -> list[str]:
    """Who is archived."""
    return sorted(archive["agent"] for archive in workshop.ask("archives"))


def test_salvages_go_after_a_month_and_archives_after_three_but_for_the_next_undo(
    workshop: Workshop, clock: Turned
) -> None:
    for name in ("ant", "bee", "cat"):
        end(workshop, name)
        clock.time += 1
    clock.time += 31 * DAY
    named = sweep(workshop.context, removes=False)["trash"]
    assert entries(workshop) == ["ant", "bee", "cat"]
    done = sweep(workshop.context)["trash"]
    assert named == done
    assert done["removed"] == 2
    assert entries(workshop) == ["cat"]
    assert archives(workshop) == ["ant", "bee", "cat"]
    clock.time += 60 * DAY
    done = sweep(workshop.context)["archive"]
    assert archives(workshop) == ["cat"]
    assert [said.partition(": ")[2] for said in done["kept"]] == [
        "the next `wl undo` brings it back"
    ]
    assert done["bytes"] > 0
    (back,) = workshop.ask("undo")["restored"]
    assert (Path(back["workspace"]) / "draft.txt").read_text() == "cat"


def test_what_an_unfinished_intent_names_stays(workshop: Workshop, clock: Turned) -> None:
    """A restoration names a salvage that is older than itself."""
    uid = end(workshop, "ant")
    clock.time += 1
    end(workshop, "bee")
    clock.time += 100 * DAY
    (ant,) = (entry for entry in workshop.ask("trash") if entry["agent"] == "ant")
    at = clock.time
    plan = {"uid": uid, "entry": ant["id"]}
    intent = Intent(
        id="i", kind="restore", repo=workshop.agent(uid).repo, caller=None,
        data={"agents": [plan]}, step=0, status="open", created_at=at, updated_at=at,
    )  # fmt: skip
    workshop.context.store.write(lambda w: whole_rows.put_intent(w, intent))
    sweep(workshop.context)
    assert entries(workshop) == ["ant", "bee"]
    assert archives(workshop) == ["ant", "bee"]
    done = msgspec.structs.replace(intent, status="done", updated_at=at)
    workshop.context.store.write(lambda w: whole_rows.put_intent(w, done))
    sweep(workshop.context)
    assert entries(workshop) == ["bee"]


def test_an_archive_is_removed_however_deep_the_folders_of_its_agent_are(context: Context) -> None:
    """One that could not be counted kept everything old for ever, of all agents."""
    old = context.folders.archive / "20200101T000000-000-fox"
    (old / "home").mkdir(parents=True)
    (old / "agent.json").write_bytes(msgspec.json.encode({"uid": "fox", "repo": "00000000"}))
    here = os.open(old / "home", os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    done = sweep(context)["archive"]
    assert done["bytes"] > 0
    assert not old.exists()


def test_an_archive_with_the_only_copy_of_the_work_stays_for_ever(context: Context) -> None:
    kept = context.folders.archive / "20200101T000000-000-fox"
    gone = context.folders.archive / "20200101T000000-000-owl"
    somebodys = context.folders.archive / "my-notes"
    for folder in (kept / "workspace", gone / "sessions", somebodys):
        folder.mkdir(parents=True)
        (folder / "file").write_text("x")
    for archive in (kept, gone):
        row = {"uid": archive.name, "repo": RepoId("00000000")}
        (archive / "agent.json").write_bytes(msgspec.json.encode(row))
    done = sweep(context)["archive"]
    assert {path.name for path in context.folders.archive.iterdir()} == {kept.name, "my-notes"}
    assert done["names"] == [gone.name]


def test_the_packs_of_many_endings_become_one(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trash_packs, "MANY", 1)
    for name in ("ant", "bee"):
        end(workshop, name)
    folder = workshop.repo / ".git/objects/pack"
    assert len([*folder.glob("*.pack")]) == 2
    (named,) = sweep(workshop.context, removes=False)["packs"]["names"]
    assert named == f"2 packs in {workshop.repo / '.git'}"
    sweep(workshop.context)
    assert len([*folder.glob("*.pack")]) == 1
    assert entries(workshop) == ["ant", "bee"]
