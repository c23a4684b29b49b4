"""A daemon dies at any point of what it does with agents; the next one's services go on.

As in `tests/chaos`, but within the test's own process, and so at every point: after a step is done
and before that is recorded, which is where something could happen twice.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.contexts import NoSockets
from tests.support.workshop import Workshop, git

from windlass.core.crew import Agent
from windlass.core.errors import NotFound, Unavailable
from windlass.core.ids import Uid
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.services import Services
from windlass.git import trash
from windlass.store import rows
from windlass.store.rows import Intent

TOLD_ONCE = ("agent.created", "agent.merged", "agent.salvaged", "agent.ended", "workspace.command")
FOX = {"goal": "say hello", "name": "fox", "driver": "standin", "isolation": "hooks"}
ENDING = ("stop", "salvage", "remove", "archive", "close", "finish")


class Killed(BaseException):
    """The daemon ends here."""


def die(workshop: Workshop, point: str, verb: str, **request: Any) -> None:
    """Asks a daemon that dies at a point of what it is asked for."""

    def reached(name: str) -> None:
        if name == point:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workshop.context.failpoints, "reached", reached)
        with pytest.raises(Killed):
            workshop.ask(verb, key="k", **request)


def go_on(workshop: Workshop) -> Intent:
    """Has the next daemon take up what the last one left; returns what became of it."""
    context = workshop.context
    after = Services(context, NoSockets())
    for left in context.store.read(rows.open_intents):
        after.intents.resume(left)
    intent = context.store.read(partial(rows.intent, key="person:k"))
    assert intent is not None
    return intent


def new(workshop: Workshop) -> Agent:
    """An agent that has committed a file."""
    made = workshop.ask("spawn", **FOX)
    agent = workshop.agent(made["uid"])
    folder = Path(agent.workspace)
    (folder / "hello.txt").write_text("hello\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "says hello")
    return agent


def told(workshop: Workshop, uid: str) -> Counter[str]:
    """How often was told what is to be told once at most."""
    events = workshop.context.store.read(lambda c: rows.events(c, agent=Uid(uid)))
    return Counter(event.kind for event in events if event.kind in TOLD_ONCE)


def configure(workshop: Workshop, *lines: str) -> None:
    """Writes the person's own configuration of workspaces."""
    text = "\n".join(("[workspace]", *lines, ""))
    (workshop.context.folders.home / "config.toml").write_text(text)


@pytest.mark.parametrize("step", ENDING)
def test_an_ending_is_told_once(workshop: Workshop, step: str) -> None:
    configure(workshop, 'teardown = "true"')
    fox = new(workshop)
    (Path(fox.workspace) / "draft.txt").write_text("not yet\n")
    die(workshop, f"end.{step}.after", "end", agents=["fox"])
    assert go_on(workshop).status == "done"
    assert told(workshop, fox.uid) == {
        "agent.created": 1,
        "workspace.command": 1,
        "agent.salvaged": 1,
        "agent.ended": 1,
    }


def test_what_is_salvaged_and_not_recorded_yet_is_told_once(workshop: Workshop) -> None:
    configure(workshop, 'teardown = "true"')
    fox = new(workshop)

    def dies(_work: RunningIntent, _more: object) -> None:
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunningIntent, "amend", dies)
        with pytest.raises(Killed):
            workshop.ask("end", key="k", agents=["fox"])
    assert go_on(workshop).status == "done"
    assert len(workshop.ask("trash")) == 1
    counted = told(workshop, fox.uid)
    assert (counted["workspace.command"], counted["agent.salvaged"]) == (1, 1)


@pytest.mark.parametrize("step", ["check", "plan", "apply", *ENDING])
def test_a_merge_is_told_once(workshop: Workshop, step: str) -> None:
    fox = new(workshop)
    die(workshop, f"merge.{step}.after", "merge", agent="fox")
    assert go_on(workshop).status == "done"
    assert told(workshop, fox.uid) == {
        "agent.created": 1,
        "agent.merged": 1,
        "agent.salvaged": 1,
        "agent.ended": 1,
    }


@pytest.mark.parametrize("step", ["workspace", "setup", "session", "finish"])
def test_a_spawn_is_told_once(workshop: Workshop, step: str) -> None:
    configure(workshop, 'setup = "true"')
    die(workshop, f"spawn.{step}.after", "spawn", **FOX)
    made = go_on(workshop)
    assert made.status == "done"
    assert told(workshop, made.data["uid"]) == {"agent.created": 1, "workspace.command": 1}


@pytest.mark.parametrize(
    "point", ["workspace.undo.before", "workspace.undo.after", "fail.before", "fail.after"]
)
def test_a_spawn_that_failed_stays_taken_back(workshop: Workshop, point: str) -> None:
    configure(workshop, 'setup = "echo half > half.txt; false"')
    die(workshop, f"spawn.{point}", "spawn", **FOX)
    configure(workshop)  # now it would succeed
    failed = go_on(workshop)
    assert failed.status == "failed"
    assert "[workspace] setup of fox" in (failed.error or {})["message"]
    fox = workshop.agent(failed.data["uid"])
    assert (fox.ended_by, fox.session) == ("spawn failed", 0)
    assert not Path(fox.workspace).exists()
    assert workshop.ask("agents") == []
    assert git(workshop.repo, "branch", "--list", "agent/*") == ""
    assert len(workshop.ask("trash")) == 1
    assert told(workshop, fox.uid) == {
        "agent.created": 1,
        "workspace.command": 1,
        "agent.salvaged": 1,
        "agent.ended": 1,
    }


def test_nothing_more_is_made_for_an_agent_that_ended_while_it_was_spawned(
    workshop: Workshop,
) -> None:
    """Two open intents of one agent: whichever daemon comes next may take up the ending first."""
    die(workshop, "spawn.session.before", "spawn", **FOX)
    workshop.ask("end", agents=["fox"])
    spawn = go_on(workshop)
    assert spawn.status == "failed"
    fox = workshop.agent(spawn.data["uid"])
    assert (fox.ended_by, fox.session) == ("kill", 0)
    assert not Path(fox.workspace).exists()


@pytest.mark.parametrize("point", ["files.undo.before", "files.undo.after", "fail.before"])
def test_an_undo_that_failed_stays_taken_back_and_can_be_tried_again(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    fox = new(workshop)
    workshop.ask("end", agents=["fox"])

    def is_full(*_words: Any, **_named: Any) -> None:
        raise Unavailable("the disk is full", "free some space")

    with monkeypatch.context() as patch:
        patch.setattr(trash, "restore", is_full)
        die(workshop, f"restore.{point}", "undo")
    assert go_on(workshop).status == "failed"
    assert workshop.agent(fox.uid).ended_at is not None
    assert not Path(fox.workspace).exists()
    assert git(workshop.repo, "branch", "--list", "agent/*") == ""
    (again,) = workshop.ask("undo")["restored"]
    assert again["uid"] == fox.uid
    assert (Path(fox.workspace) / "hello.txt").read_text() == "hello\n"


@pytest.mark.parametrize("point", ["delete.after", "finish.after"])
def test_trash_is_emptied_once_and_of_what_there_was_when_it_was_asked(
    workshop: Workshop, point: str
) -> None:
    new(workshop)
    workshop.ask("end", agents=["fox"])
    (entry,) = workshop.ask("trash")
    die(workshop, f"empty-trash.{point}", "trash.empty")
    workshop.ask("spawn", **{**FOX, "name": "owl"})
    workshop.ask("end", agents=["owl"])
    assert go_on(workshop).result == {"emptied": [entry["id"]]}
    assert workshop.ask("trash.empty", key="k") == {"emptied": [entry["id"]]}
    assert [kept["agent"] for kept in workshop.ask("trash")] == ["owl"]
    events = workshop.context.store.read(rows.events)
    assert [event.kind for event in events].count("trash.emptied") == 1


@pytest.mark.parametrize(("point", "user"), [("write.after", False), ("finish.after", True)])
def test_what_a_dead_daemon_changed_in_the_configuration_is_told_as_done(
    workshop: Workshop, point: str, *, user: bool
) -> None:
    """A value that is taken away a second time is not there, which is what was asked for."""
    key = "permissions.worker.allow"
    said = {"config_key": key, "user": user}
    for word in ("Bash(make:*)", "Bash(npm:*)"):
        workshop.ask("config.add", value=word, **said)
    die(workshop, f"config.{point}", "config.remove", value="Bash(make:*)", **said)
    assert go_on(workshop).status == "done"
    again = workshop.ask("config.remove", key="k", value="Bash(make:*)", **said)
    assert again["settings"][key]["value"] == ["Bash(npm:*)"]
    assert again["waiting"] == []
    with pytest.raises(NotFound, match="is not in"):
        workshop.ask("config.remove", value="Bash(make:*)", **said)


def test_the_persons_own_configuration_is_changed_outside_of_any_repository(
    workshop: Workshop,
) -> None:
    said = {"cwd": "/", "config_key": "max_agents", "user": True}
    assert workshop.ask("config.set", value="7", **said)["settings"]["max_agents"]["value"] == 7
    assert workshop.ask("config.remove", **said)["settings"]["max_agents"]["origin"] == "default"
    changes = [e for e in workshop.context.store.read(rows.events) if e.kind == "intent.done"]
    assert [event.repo for event in changes] == [None, None]
