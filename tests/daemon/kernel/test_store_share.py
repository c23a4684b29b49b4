"""What an agent has Windlass keep has an end, by whatever way it says it: the store's file does."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from tests.support.contexts import NOW, Turned
from tests.support.ground import until
from tests.support.workshop import Workshop

from windlass.core.crew import Agent
from windlass.core.errors import Conflict, UserError
from windlass.core.states import State
from windlass.core.texts import LONGEST
from windlass.daemon.kernel import store_share
from windlass.store import kept, rows
from windlass.store.rows import Session

MIB = 1 << 20
LIMIT = 2
SPARE = 256 << 10
MOST_AT_ONCE = 512 << 10
"""What is read of hook events before anybody counts."""
Way = tuple[str, str, str, dict[str, str]]
"""Who says something, by which verb, how long a text, and what else that is told."""
LONG = "\x01" * (LONGEST - 10)
"""As long as a text may be, of what takes most room as JSON: six bytes a character."""


@pytest.fixture
def crew(workshop: Workshop) -> tuple[Agent, Agent]:
    """A manager and a worker, who may fill so much each."""
    limits = f"[box]\nstore_mb = {LIMIT}\n[mail]\ninbox = 100000\n"
    (workshop.context.folders.home / "config.toml").write_text(limits)
    told = {"goal": "g", "driver": "standin", "isolation": "hooks"}
    lead = workshop.ask("spawn", name="lead", role="manager", **told)
    fox = workshop.ask("spawn", name="fox", parent="lead", **told)
    return workshop.agent(lead["uid"]), workshop.agent(fox["uid"])


def size(workshop: Workshop) -> int:
    """Bytes of the store's file, with all that was written in it."""
    path = workshop.context.folders.home / "windlass.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path.stat().st_size


def until_refused(clock: Turned, say: Callable[[int], Any]) -> None:
    """Says something again and again, never too fast, until that is refused."""
    said = []

    def say_on() -> None:
        for number in range(500):
            clock.time += 61
            say(number)
            said.append(number)

    with pytest.raises(Conflict, match=store_share.KEY) as refused:
        say_on()
    assert f"wl config set {store_share.KEY} {2 * LIMIT}" in refused.value.hint
    assert said


@pytest.mark.parametrize(
    "way",
    [
        ("fox", "note", LONG, {}),
        ("fox", "send", LONG, {"agent": "lead"}),
        ("lead", "send", LONG, {"agent": "user"}),
        ("fox", "ask", LONG, {}),
        ("lead", "ask", LONG, {}),
        ("lead", "notify", LONG[:30_000], {}),
    ],
    ids=lambda way: " ".join(way[:2]),
)
def test_what_one_agent_has_kept_by_any_verb_ends_at_its_share(
    workshop: Workshop, clock: Turned, crew: tuple[Agent, Agent], way: Way
) -> None:
    by, verb, text, more = way
    caller = crew[by == "fox"]
    before = size(workshop)

    def say(number: int) -> None:
        workshop.ask_as(caller, verb, text=f"{text}{number}", **more)

    until_refused(clock, say)
    assert size(workshop) - before < 2 * LIMIT * MIB
    workshop.ask("note", agent=caller.id, text="the person's own words are not the agent's")
    other = crew[by != "fox"]
    workshop.ask_as(other, "note", text="nor are those of others")


def test_goals_of_agents_that_it_starts_are_part_of_that(
    workshop: Workshop, clock: Turned, crew: tuple[Agent, Agent]
) -> None:
    before = size(workshop)

    def say(number: int) -> None:
        told = {"driver": "standin", "isolation": "hooks", "goal": LONG + str(number)}
        workshop.ask_as(crew[0], "spawn", name=f"owl{number}", **told)
        workshop.ask("end", agents=[f"owl{number}"])

    until_refused(clock, say)
    assert size(workshop) - before < 4 * LIMIT * MIB, "with the endings of the person's"


def test_twenty_notes_of_fifteen_mebibytes_are_twenty_refusals(
    workshop: Workshop, crew: tuple[Agent, Agent]
) -> None:
    before = size(workshop)
    for _ in range(20):
        with pytest.raises(UserError, match="100000 is the most"):
            workshop.ask_as(crew[1], "note", text="x" * (15 * MIB))
    assert size(workshop) == before


def look(workshop: Workshop, agent: Agent) -> Session:
    """Looks at an agent until nothing more of its hooks is read: a look reads a part."""
    before = -1
    while True:
        workshop.services.watcher.look(agent.uid)
        session = workshop.context.store.read(lambda c: rows.session(c, agent.uid, 1))
        if session.events_offset == before:
            return session
        before = session.events_offset


def line(**event: Any) -> str:
    return json.dumps({"at": NOW, "event": event}) + "\n"


@pytest.mark.parametrize(
    "lines",
    [
        [line(hook_event_name="x")],
        [
            line(hook_event_name="UserPromptSubmit"),
            line(hook_event_name="Stop", last_assistant_message="WAITING"),
        ],
        [line(hook_event_name="PreToolUse", tool_name="Bash", tool_input={"c": "x" * 4000})],
        [line(hook_event_name="PolicyDecision", asked={"tool_input": {"c": "x" * 60_000}})],
    ],
    ids=["bare", "turns", "calls", "denials"],
)
def test_who_forges_hook_events_is_paused_when_its_share_is_full_and_they_are_read_no_further(
    workshop: Workshop, crew: tuple[Agent, Agent], lines: list[str]
) -> None:
    fox = crew[1]
    before = size(workshop)
    workshop.context.store.write(lambda w: kept.add_store(w, fox.uid, LIMIT * MIB - SPARE))
    path = workshop.context.folders.events(fox.uid, 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(lines)
    path.write_text(text * (4 * SPARE // (300 * len(lines) + len(text))))
    session = look(workshop, fox)
    assert 0 < session.events_offset < path.stat().st_size
    assert size(workshop) - before < 2 * SPARE + MOST_AT_ONCE
    workshop.services.watcher.look(fox.uid)
    until(lambda: workshop.agent(fox.uid).state is State.PAUSED, what="the pause")
    until(lambda: not workshop.session(fox).alive, what="the end of its session")
    (told,) = workshop.context.store.read(lambda c: rows.events(c, kind="agent.overgrown"))
    assert told.data["why"].endswith(
        f"it has filled {LIMIT} MiB of Windlass's store, and box.store_mb is {LIMIT}"
    )
    listed = {agent["id"]: agent["evidence"] for agent in workshop.ask("agents")}
    assert listed["fox"] == told.data["why"]


def test_with_a_larger_share_they_are_read_on(
    workshop: Workshop, crew: tuple[Agent, Agent]
) -> None:
    fox = crew[1]
    path = workshop.context.folders.events(fox.uid, 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(line(hook_event_name="x", message="m" * 4000) * 500)
    half = look(workshop, fox)
    assert half.events_offset < path.stat().st_size
    (workshop.context.folders.home / "config.toml").write_text("[box]\nstore_mb = 30\n")
    session = look(workshop, fox)
    assert session.events_offset == path.stat().st_size
