"""What sessions write of themselves: plain files that are read, or an agent that is paused."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.ground import until
from tests.support.leases import leased
from tests.support.workshop import Workshop

from windlass.core.crew import Agent
from windlass.core.sessions import OUTPUT
from windlass.core.states import State
from windlass.daemon.launch import session_request
from windlass.daemon.states import evidence
from windlass.store import rows

Make = Callable[[Path], None]


def a_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_folder(path: Path) -> None:
    path.mkdir()


def a_file_beyond_all_measure(path: Path) -> None:
    path.touch()
    os.truncate(path, evidence.LARGEST + 1)


def at_work(workshop: Workshop, mode: str = "headless") -> Agent:
    made = workshop.ask(
        "spawn", goal="g", name="fox", driver="standin", isolation="hooks", mode=mode
    )
    fox = workshop.agent(made["uid"])
    workshop.session(fox).hook("PreToolUse", tool_name="Write")
    assert workshop.state(fox) is State.RUNNING
    return fox


def hook_events(workshop: Workshop, fox: Agent) -> Path:
    return workshop.context.folders.events(fox.uid, 1)


def output(workshop: Workshop, fox: Agent) -> Path:
    return workshop.context.folders.session(fox.uid, 1) / OUTPUT


def conversation(workshop: Workshop, fox: Agent) -> Path:
    return Path(session_request.transcript(workshop.context, fox))


FILES = {"hook events": hook_events, "output": output, "conversation": conversation}


def look(workshop: Workshop, fox: Agent) -> None:
    """Looks, and waits for whatever pause that begins."""
    workshop.services.watcher.look(fox.uid)
    until(lambda: workshop.context.pools.under_way("budget") == 0, what="the pause")


def events(workshop: Workshop, kind: str) -> list[dict[str, Any]]:
    found = workshop.context.store.read(lambda c: rows.events(c, kind=kind, limit=99))
    return [event.data for event in found]


@pytest.mark.parametrize("make", [a_link, a_pipe, a_folder, a_file_beyond_all_measure])
@pytest.mark.parametrize("name", FILES)
def test_who_makes_something_else_of_its_evidence_is_paused_and_people_see_why(
    workshop: Workshop, name: str, make: Make
) -> None:
    fox = at_work(workshop)
    path = FILES[name](workshop, fox)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    make(path)
    look(workshop, fox)
    assert not workshop.session(fox).alive
    assert workshop.agent(fox.uid).state is State.PAUSED
    told = workshop.ask("why", agent="fox")["winner"]["evidence"]
    assert told.startswith(f"paused: its {name} is ")
    assert str(path) in told
    (listed,) = workshop.ask("agents")
    assert (listed["state"], listed["evidence"]) == ("paused", told)
    (posted,) = events(workshop, "notice.posted")
    assert posted["text"].startswith(f"Agent fox was paused: its {name} is ")
    look(workshop, fox)
    (unsound,) = events(workshop, "agent.unsound")
    assert (unsound["file"], unsound["path"]) == (name, str(path))


def test_a_folder_on_the_way_to_a_conversation_that_became_a_link_is_no_way(
    workshop: Workshop,
) -> None:
    fox = at_work(workshop)
    path = conversation(workshop, fox)
    workshop.converse(fox, "hello")
    look(workshop, fox)
    assert workshop.agent(fox.uid).state is State.RUNNING
    folder = path.parent
    folder.rename(folder.with_name("moved"))
    folder.symlink_to("moved")
    look(workshop, fox)
    assert workshop.agent(fox.uid).state is State.PAUSED


@pytest.mark.parametrize("name", FILES)
def test_who_holds_its_evidence_by_a_lease_is_paused_and_people_see_why(
    workshop: Workshop, name: str
) -> None:
    """Its conversation would seem to have nothing new in it, and what it spends would not count."""
    fox = at_work(workshop)
    workshop.converse(fox, "hello")
    with leased(FILES[name](workshop, fox)):
        look(workshop, fox)
    assert workshop.agent(fox.uid).state is State.PAUSED
    told = workshop.ask("why", agent="fox")["winner"]["evidence"]
    assert told.startswith(f"paused: its {name} is held by a lease: ")


def test_who_hides_the_conversation_of_a_subagent_is_paused_too(workshop: Workshop) -> None:
    """Nothing looks at it but what counts."""
    fox = at_work(workshop)
    path = conversation(workshop, fox).with_suffix("") / "subagents" / "agent-one.jsonl"
    path.parent.mkdir(parents=True)
    path.symlink_to("/etc/passwd")
    look(workshop, fox)
    assert workshop.agent(fox.uid).state is State.PAUSED
    told = workshop.ask("why", agent="fox")["winner"]["evidence"]
    assert told == f"paused: its conversation is a link: {path}"


def test_a_status_file_that_is_none_has_its_agent_paused(
    workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-in has none, so one is found for it."""
    fox = at_work(workshop, "live")
    status = tmp_path / "status.json"
    sources = workshop.services.watcher._sources  # noqa: SLF001 - nobody else asks for it
    monkeypatch.setattr(sources._screen_source, "status_file", lambda *_: str(status))  # noqa: SLF001 - as above
    look(workshop, fox)
    assert workshop.agent(fox.uid).state is State.RUNNING
    status.write_bytes(b" " * (1 << 17))
    look(workshop, fox)
    assert workshop.agent(fox.uid).state is State.PAUSED
    assert "status file is larger than 64 KiB" in events(workshop, "notice.posted")[0]["text"]


def test_the_end_of_a_session_is_seen_whatever_it_made_of_its_files(workshop: Workshop) -> None:
    fox = at_work(workshop)
    session = workshop.session(fox)
    path = hook_events(workshop, fox)
    path.unlink()
    a_pipe(path)
    session.unkillable = ("7 cat (disk-sleep)",)
    for _ in range(4):
        look(workshop, fox)
    assert workshop.agent(fox.uid).state is State.UNKNOWN, "its pause has failed, and is told"
    session.unkillable = ()
    session.end(0)
    look(workshop, fox)
    newest = workshop.context.store.read(lambda c: rows.newest_session(c, fox.uid))
    assert newest is not None
    assert newest.ended_at is not None


def test_a_pipe_or_a_link_in_place_of_what_was_printed_holds_up_nobody_who_looks(
    workshop: Workshop,
) -> None:
    fox = at_work(workshop)
    path = output(workshop, fox)
    for make in (a_pipe, a_link):
        path.unlink()
        make(path)
        shown = workshop.ask("look", agent="fox")["screen"]
        assert "root:" not in shown
