"""The status in a person's files: when it is written, and what is left alone."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support import whole_rows
from tests.support.agents import an_agent
from tests.support.contexts import NOW, REPO, Turned, lent

from windlass.core.config import Config
from windlass.core.crew import Agent
from windlass.core.ids import Uid
from windlass.core.person import status_node
from windlass.core.states import State
from windlass.daemon.kernel import settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.person.status_files import StatusFiles
from windlass.store import rows, tables
from windlass.store.store import Event, Writing

BLOCK = b"# Ours\n<windlass>\nwords\n</windlass>\nno line end"
BOTH = "status_file = true\n[status_node]\nenabled = true\n"


class Desk:
    """A repository of a person, a store, and what keeps its status."""

    def __init__(self, context: Context, clock: Turned) -> None:
        self.context = context
        self.clock = clock
        self.store = context.store
        self.root = context.folders.home / "shop"
        self.files = StatusFiles(context)
        self.node = self.root / "CLAUDE.md"
        self.status = self.root / ".windlass" / "STATUS.md"

    def configure(self, text: str) -> None:
        """Writes the person's configuration."""
        (self.context.folders.home / "config.toml").write_text(text)

    def put(self, name: str, **more: Any) -> Agent:
        """An agent, new or changed."""
        given = {"uid": Uid(f"uid{name}"), "repo": REPO, "created_at": NOW - 600}
        agent = an_agent(name, **given | more)
        self.store.write(lambda w: whole_rows.put_agent(w, agent))
        return agent

    def tell(self, number: int, body: str, **more: Any) -> None:
        """A message of an agent to the person."""
        values = {
            "id": f"msg-{number}",
            "repo": REPO,
            "sender": "uidkit",
            "sender_id": "kit",
            "recipient": "user",
            "recipient_id": "user",
            "kind": "question",
            "urgent": False,
            "body": body,
            "state": "queued",
            "reason": "",
            "created_at": NOW + number,
        }

        def change(writing: Writing) -> None:
            writing.connection.execute(sa.insert(tables.messages).values(**values | more))

        self.store.write(change)

    def later(self, seconds: float) -> None:
        """Lets time pass, and looks once."""
        self.clock.time += seconds
        self.files.refresh()

    def read(self) -> dict[str, Any]:
        """What the node says."""
        text = self.node.read_text(errors="replace")
        inner = text[text.index("<windlass-status>") : text.index("</windlass-status>")]
        found: dict[str, Any] = json.loads(inner[inner.index("{") :])
        return found

    def states(self) -> dict[str, str]:
        """What the node says of each agent."""
        return {root["id"]: root["state"] for root in self.read()["root_agents"]}

    def skipped(self) -> list[Event]:
        """What was said to be amiss."""
        return [e for e in self.store.read(rows.events) if e.kind.endswith(".skipped")]


@pytest.fixture
def desk() -> Iterator[Desk]:
    """One of a person with a single repository, where time stands still."""
    clock = Turned()
    with lent(clock) as context:
        yield Desk(context, clock)


def test_nothing_is_written_unless_it_is_wanted(desk: Desk) -> None:
    desk.node.write_bytes(BLOCK)
    desk.put("kit")
    desk.files.refresh()
    assert desk.node.read_bytes() == BLOCK
    assert not desk.status.exists()
    desk.configure(BOTH)
    desk.files.refresh()
    assert desk.states() == {"kit": "running"}
    assert "`kit`: running" in desk.status.read_text()
    assert desk.skipped() == []


def test_what_is_switched_off_is_taken_back(desk: Desk) -> None:
    desk.configure(BOTH)
    desk.node.write_bytes(BLOCK)
    desk.put("kit")
    desk.files.refresh()
    desk.node.write_bytes(desk.node.read_bytes() + b", and more")
    desk.configure("status_file = true\n")
    desk.files.refresh()
    assert desk.node.read_bytes() == BLOCK + b", and more"
    assert desk.status.exists()
    desk.configure("")
    desk.files.refresh()
    assert not desk.status.exists()
    desk.node.write_bytes(BLOCK)
    desk.status.write_text("a person's own")
    desk.files.refresh()
    assert desk.node.read_bytes() == BLOCK
    assert desk.status.read_text() == "a person's own"


def test_settings_are_read_again_only_when_their_file_has_changed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = []
    load = settings.load

    def counted(home: Path, root: str | None) -> Config:
        loads.append(root)
        return load(home, root)

    monkeypatch.setattr(settings, "load", counted)
    for _ in range(5):
        desk.files.refresh()
    assert len(loads) == 1
    desk.configure(BOTH)
    for _ in range(5):
        desk.files.refresh()
    assert len(loads) == 2


def test_a_configuration_that_cannot_be_read_writes_nothing(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.configure("status_file = maybe")
    desk.files.refresh()
    desk.files.refresh()
    assert not desk.status.exists()
    assert len(caplog.records) == 1
    desk.configure(BOTH)
    desk.files.refresh()
    assert desk.status.exists()


def test_a_configuration_that_is_a_link_is_read_again_when_what_it_leads_to_changes(
    desk: Desk, tmp_path: Path
) -> None:
    (desk.context.folders.home / "config.toml").symlink_to(tmp_path / "dotfiles.toml")
    desk.configure(BOTH)
    desk.files.refresh()
    assert desk.status.exists()
    desk.configure("")
    desk.files.refresh()
    assert not desk.status.exists()


def test_only_roots_are_listed_and_those_below_them_counted(desk: Desk) -> None:
    desk.configure(BOTH)
    desk.node.write_bytes(BLOCK)
    boss = desk.put("boss", role="manager", created_at=NOW - 7200, goal="lead")
    desk.put("a", parent=boss.uid, state=State.COMPLETE)
    desk.put("b", parent=boss.uid)
    desk.put("orphan", parent=Uid("gone"), state=State.PAUSED)
    desk.put("past", ended_at=NOW)
    desk.files.refresh()
    told = desk.read()
    assert told["root_agents"] == [
        {
            "id": "boss",
            "state": "running",
            "age": "2h",
            "prompt": "lead",
            "children": 2,
            "children_complete": 1,
        },
        {
            "id": "orphan",
            "state": "stopped",
            "age": "10m",
            "prompt": "g",
            "children": 0,
            "children_complete": 0,
        },
    ]


def test_messages_to_the_person_are_told_until_they_are_acknowledged(desk: Desk) -> None:
    desk.configure(BOTH + "max_messages = 2\n")
    desk.node.write_bytes(BLOCK)
    for number in range(4):
        desk.tell(number, f"body {number}")
    desk.tell(9, "to kit", recipient="uidkit", recipient_id="kit")
    desk.files.refresh()
    assert [one["content"] for one in desk.read()["messages"]] == ["body 2", "body 3"]
    text = desk.status.read_text()
    assert "body 3" in text
    assert "body 1" not in text

    def ack(writing: Writing) -> None:
        query = sa.update(tables.messages).where(tables.messages.c.id != "msg-0")
        writing.connection.execute(query.values(acked_at=NOW, state="acked"))

    desk.store.write(ack)
    desk.later(10)
    assert [one["content"] for one in desk.read()["messages"]] == ["body 0"]


def test_it_is_written_at_once_and_then_no_oftener_than_every_interval(desk: Desk) -> None:
    desk.configure(BOTH + "update_interval = 30\n")
    desk.node.write_bytes(BLOCK)
    desk.put("kit")
    desk.files.refresh()
    desk.put("kit", state=State.WAITING)
    desk.later(29)
    assert desk.states() == {"kit": "running"}
    desk.later(1)
    assert desk.states() == {"kit": "waiting"}
    desk.put("cat")
    desk.later(29)
    assert desk.states() == {"kit": "waiting"}
    desk.put("kit", ended_at=NOW)
    desk.later(0)
    assert desk.states() == {"cat": "running"}
    assert "kit" not in desk.status.read_text()
    desk.put("cat", ended_at=NOW)
    desk.later(0)
    assert desk.states() == {}
    assert "\nNo active agents\n" in desk.node.read_text()
    assert desk.status.read_text().endswith("\nNo active agents\n")


def test_a_clock_that_went_back_stops_nothing(desk: Desk) -> None:
    desk.configure(BOTH)
    desk.node.write_bytes(BLOCK)
    desk.put("kit")
    desk.files.refresh()
    desk.put("kit", state=State.COMPLETE)
    desk.later(-3600)
    assert desk.states() == {"kit": "complete"}


def test_a_file_is_not_touched_where_only_times_and_ages_have_changed(desk: Desk) -> None:
    desk.configure(BOTH)
    desk.node.write_bytes(BLOCK)
    desk.put("kit", created_at=NOW - 30)
    desk.files.refresh()
    for path in (desk.node, desk.status):
        os.utime(path, (1, 1))
    desk.later(47)
    desk.later(600)
    # A daemon that was started anew remembers nothing.
    desk.files = StatusFiles(desk.context)
    desk.files.refresh()
    assert [path.stat().st_mtime for path in (desk.node, desk.status)] == [1, 1]


def test_the_rest_of_the_file_and_its_mode_stay_as_a_person_has_them(desk: Desk) -> None:
    desk.configure(BOTH)
    text = b"\xef\xbb\xbf<windlass>\r\nwords\r\n</windlass>\r\n\xff\r\n" + BLOCK
    desk.node.write_bytes(text)
    desk.node.chmod(0o640)
    desk.put("kit")
    desk.files.refresh()
    made = desk.node.read_bytes()
    start, end = made.index(b"<windlass-status>"), made.index(b"</windlass-status>\r\n")
    assert made[:start] + made[end + len(b"</windlass-status>\r\n") :] == text
    assert stat.S_IMODE(desk.node.stat().st_mode) == 0o640
    edited = made.replace(b"words", b"other words", 1)
    desk.node.write_bytes(edited)
    desk.put("cat")
    desk.later(10)
    assert desk.states() == {"kit": "running", "cat": "running"}
    assert b"other words" in desk.node.read_bytes()
    assert sorted(path.name for path in desk.root.iterdir()) == [".git", ".windlass", "CLAUDE.md"]


def test_what_a_person_writes_while_we_do_is_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.configure(BOTH)
    desk.node.write_bytes(BLOCK)
    desk.put("kit")
    renew = status_node.renew
    edits = iter([BLOCK + b"\nnew", BLOCK + b"\nnewer"])

    def meanwhile(old: bytes, data: dict[str, Any]) -> Any:
        if edit := next(edits, None):
            desk.node.write_bytes(edit)
        return renew(old, data)

    monkeypatch.setattr(status_node, "renew", meanwhile)
    desk.files.refresh()
    assert desk.node.read_bytes().endswith(b"no line end\nnewer")
    assert desk.states() == {"kit": "running"}
    assert desk.skipped() == []


def test_a_file_without_a_block_is_skipped_and_that_is_said_once(desk: Desk) -> None:
    desk.configure(BOTH)
    desk.put("kit")
    for _ in range(3):
        desk.later(10)
    desk.node.write_text("# Ours\n")
    for _ in range(3):
        desk.later(10)
    desk.node.write_bytes(BLOCK)
    desk.later(1)
    assert desk.states() == {"kit": "running"}
    desk.node.write_text("# Ours\n")
    desk.later(10)
    told = desk.skipped()
    assert [event.kind for event in told] == ["status_node.skipped"] * 3
    assert {event.data["path"] for event in told} == {str(desk.node)}
    assert ["not there" in event.data["why"] for event in told] == [True, False, False]
    assert all("wl hooks install --instructions claude-md" in event.data["why"] for event in told)
    assert desk.node.read_text() == "# Ours\n"


def test_a_status_file_of_a_persons_own_is_neither_written_nor_removed(desk: Desk) -> None:
    mine = b"# How we are doing\n"
    desk.status.parent.mkdir()
    desk.status.write_bytes(mine)
    desk.configure("status_file = true\n")
    desk.put("kit")
    desk.files.refresh()
    desk.put("kit", state=State.WAITING)
    desk.later(10)
    assert desk.status.read_bytes() == mine
    desk.configure("")
    desk.files.refresh()
    assert desk.status.read_bytes() == mine
    (told,) = desk.skipped()
    assert (told.kind, told.data["path"]) == ("status_file.skipped", str(desk.status))
    assert status_node.MARK in told.data["why"]


def test_what_was_put_in_the_place_of_ours_stays(desk: Desk, tmp_path: Path) -> None:
    desk.configure("status_file = true\n")
    desk.put("kit")
    desk.files.refresh()
    ours = desk.status.read_bytes()
    desk.status.write_bytes(b"mine now\n")
    desk.later(10)
    desk.configure("")
    desk.files.refresh()
    assert desk.status.read_bytes() == b"mine now\n"
    desk.status.unlink()
    desk.configure("status_file = true\n")
    desk.files.refresh()
    shutil.rmtree(desk.status.parent)
    (tmp_path / "STATUS.md").write_bytes(ours)
    desk.status.parent.symlink_to(tmp_path)
    desk.configure("")
    desk.files.refresh()
    assert (tmp_path / "STATUS.md").read_bytes() == ours
    assert "is a link" in desk.skipped()[-1].data["why"]


def test_links_are_neither_followed_nor_replaced(desk: Desk, tmp_path: Path) -> None:
    desk.configure(BOTH)
    desk.put("kit")
    other = tmp_path / "other.md"
    other.write_bytes(BLOCK)
    desk.node.symlink_to(other)
    (tmp_path / "elsewhere").mkdir()
    desk.status.parent.symlink_to(tmp_path / "elsewhere")
    desk.files.refresh()
    desk.files.refresh()
    assert other.read_bytes() == BLOCK
    assert desk.node.is_symlink()
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert sorted(event.kind for event in desk.skipped()) == [
        "status_file.skipped",
        "status_node.skipped",
    ]
    desk.status.parent.unlink()
    desk.status.parent.mkdir()
    desk.status.symlink_to(other)
    desk.later(10)
    assert desk.status.is_symlink()
    assert other.read_bytes() == BLOCK


def test_what_is_no_file_is_skipped(desk: Desk) -> None:
    desk.configure(BOTH)
    desk.put("kit")
    os.mkfifo(desk.node)
    desk.status.mkdir(parents=True)
    desk.files.refresh()
    assert len(desk.skipped()) == 2


def test_a_repository_that_is_gone_is_nobodys_problem(desk: Desk) -> None:
    desk.configure(BOTH)
    shutil.rmtree(desk.root)
    desk.files.refresh()
    assert not desk.root.exists()
    assert desk.skipped() == []
