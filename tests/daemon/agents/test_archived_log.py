"""What an archive has of its agent's log: the end of it, in order, as it is in the store."""

from __future__ import annotations

import json

import msgspec
import pytest
from tests.support.agents import an_agent
from tests.support.contexts import REPO

from windlass.core.events import Note
from windlass.daemon.agents import endings
from windlass.daemon.kernel.context import Context
from windlass.store import event_lines, rows

FOX = an_agent("fox", repo=REPO)


def say(context: Context, *texts: str) -> None:
    """Writes notes into the log of the agent, and one of somebody else between them."""
    for text in texts:
        event = Note(text=text, by="windlass")
        context.store.write(lambda w, e=event: w.emit(e, repo=REPO, agent=FOX.uid))  # type: ignore[misc]
        context.store.write(lambda w, e=event: w.emit(e, repo=REPO))  # type: ignore[misc]


def test_the_whole_log_of_an_agent_is_archived_as_the_store_has_it(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In parts that are shorter than it, and with text that is no ASCII."""
    monkeypatch.setattr(event_lines, "_AT_ONCE", 2)
    say(context, "one", 'two "quoted"\n', "drei über", "four", "five")
    folder = endings.archive(context, FOX, stamp="s", how="kill")
    lines = (folder / "events.jsonl").read_bytes().splitlines()
    kept = context.store.read(lambda c: rows.events(c, agent=FOX.uid))
    assert len(kept) == 5
    assert [json.loads(line) for line in lines] == msgspec.to_builtins(kept)
    assert json.loads((folder / "agent.json").read_bytes())["earlier_events"] == 0


def test_of_a_long_log_the_end_is_archived_and_it_is_said_how_much_is_before(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endings, "ARCHIVED_EVENTS", 3)
    say(context, *map(str, range(8)))
    folder = endings.archive(context, FOX, stamp="s", how="kill")
    lines = (folder / "events.jsonl").read_bytes().splitlines()
    assert [json.loads(line)["data"]["text"] for line in lines] == ["5", "6", "7"]
    assert json.loads((folder / "agent.json").read_bytes())["earlier_events"] == 5
