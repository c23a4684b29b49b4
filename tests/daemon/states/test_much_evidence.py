"""However much an agent writes of itself: a look reads some of it, and the others are looked at."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.workshop import Workshop

from windlass.core.crew import Agent
from windlass.core.sessions import OUTPUT
from windlass.core.states import State
from windlass.daemon.launch import session_request
from windlass.daemon.states import watcher
from windlass.store import rows, spending_groups
from windlass.store.store import Event

PARTS = 2
AT_ONCE = PARTS * 50
"""Lines of one file that a look reads here."""
MUCH = 3 * AT_ONCE
CALL = json.dumps({"at": 1.0, "event": {"hook_event_name": "PreToolUse"}}) + "\n"
RESULT = json.dumps({"type": "result", "subtype": "success", "result": "done"}) + "\n"
REQUEST = {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}}
ASKS = json.dumps({"type": "control_request", "request_id": "r1", "request": REQUEST}) + "\n"


@pytest.fixture(autouse=True)
def _few_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look reads less than it does elsewhere: it takes a millisecond for each line."""
    monkeypatch.setattr(watcher, "_PARTS", PARTS)


def at_work(workshop: Workshop, name: str, mode: str = "headless") -> Agent:
    made = workshop.ask(
        "spawn",
        goal="g",
        name=name,
        driver="standin",
        isolation="hooks",
        mode=mode,
        worktree=False,
    )
    return workshop.agent(made["uid"])


def hooks(workshop: Workshop, agent: Agent) -> Path:
    return workshop.context.folders.events(agent.uid, 1)


def output(workshop: Workshop, agent: Agent) -> Path:
    return workshop.context.folders.session(agent.uid, 1) / OUTPUT


def told(workshop: Workshop, agent: Agent, kind: str) -> int:
    found = workshop.context.store.read(
        lambda c: rows.events(c, agent=agent.uid, kind=kind, limit=99_999)
    )
    return len(found)


def test_a_look_reads_so_much_and_the_next_ones_the_rest(workshop: Workshop) -> None:
    fox = at_work(workshop, "fox")
    hooks(workshop, fox).write_text(CALL * MUCH)
    output(workshop, fox).write_text(RESULT * MUCH)
    for number in (1, 2, 3):
        workshop.services.watcher.look(fox.uid)
        assert told(workshop, fox, "hook.PreToolUse") == number * AT_ONCE
        assert told(workshop, fox, "turn.ended") == number * AT_ONCE


def test_who_left_more_is_gone_on_with_at_the_pulse_and_wakes_nobody_until_then(
    workshop: Workshop,
) -> None:
    fox = at_work(workshop, "fox", "live")
    services = workshop.services
    hooks(workshop, fox).write_text(CALL * MUCH)
    for _ in range(5):
        services.watcher.heed(fox.uid)
    assert told(workshop, fox, "hook.PreToolUse") == AT_ONCE
    while told(workshop, fox, "hook.PreToolUse") < MUCH:
        services.watcher.pulse()
    hooks(workshop, fox).write_text(CALL * (MUCH + 1))
    services.watcher.pulse()  # what was read to its end is looked at once more
    services.watcher.heed(fox.uid)
    assert told(workshop, fox, "hook.PreToolUse") == MUCH + 1


def test_a_pulse_and_a_start_have_an_end_whoever_left_how_much(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left of the time that they have: one at a time is looked at, in turn."""
    crew = [at_work(workshop, name) for name in ("ann", "bob", "eve")]
    for agent in crew:
        hooks(workshop, agent).write_text(CALL * MUCH)
    monkeypatch.setattr(watcher, "_FIRST_LOOKS", 0.0)
    monkeypatch.setattr(watcher, "_CATCHING_UP", 1e-9)
    workshop.services.watcher.look_at_all()
    read = [told(workshop, agent, "hook.PreToolUse") for agent in crew]
    assert read == [0, 0, 0]
    monkeypatch.setattr(watcher, "_CATCHING_UP", 60.0)
    workshop.services.watcher.pulse()
    read = [told(workshop, agent, "hook.PreToolUse") for agent in crew]
    assert read == [MUCH, MUCH, MUCH]


def test_an_agent_that_left_far_too_much_is_ended_and_not_read_to_the_end(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "_LAST_LOOKS", 2)
    fox = at_work(workshop, "fox")
    hooks(workshop, fox).write_text(CALL * MUCH)
    workshop.ask("end", agents=["fox"], force=True)
    assert workshop.ask("agents") == []
    assert told(workshop, fox, "hook.PreToolUse") == 2 * AT_ONCE


def test_the_end_of_a_session_is_known_though_not_all_of_it_was_read(workshop: Workshop) -> None:
    fox = at_work(workshop, "fox")
    hooks(workshop, fox).write_text(CALL * MUCH)
    workshop.session(fox).end(0)
    assert workshop.state(fox) is State.STOPPED
    while told(workshop, fox, "hook.PreToolUse") < MUCH:
        workshop.services.watcher.pulse()
    assert workshop.state(fox) is State.STOPPED


def test_output_that_seems_to_be_of_tomorrow_is_read_once(workshop: Workshop) -> None:
    """The clock of this test is behind that of the files, and each look at it is another moment."""
    fox = at_work(workshop, "fox")
    workshop.session(fox).say(ASKS)
    assert workshop.state(fox) is State.ASKING
    workshop.session(fox).say("{}\n")
    assert workshop.state(fox) is State.ASKING


def test_output_lines_are_kept_a_few_at_a_time_so_that_others_write_in_between(
    workshop: Workshop,
) -> None:
    fox = at_work(workshop, "fox")
    output(workshop, fox).write_text(RESULT * 120 + "garbage\n" * 70 + RESULT * 20)
    commits: list[int] = []

    def committed(events: list[Event]) -> None:
        commits.append(sum(event.kind == "turn.ended" for event in events))

    workshop.context.store.listen(committed)
    for _ in range(2):
        workshop.services.watcher.look(fox.uid)
    assert [ended for ended in commits if ended] == [50, 50, 40]
    assert told(workshop, fox, "output.garbage") == 1


def test_a_session_that_does_not_take_an_answer_has_it_when_it_reads_again(
    workshop: Workshop,
) -> None:
    fox = at_work(workshop, "fox")
    session = workshop.session(fox)
    session.deaf = True
    session.say(ASKS + RESULT)
    workshop.services.watcher.look(fox.uid)
    assert told(workshop, fox, "turn.ended") == 0, "nothing is read beyond what has no answer"
    session.deaf = False
    before = len(session.received)
    workshop.services.watcher.look(fox.uid)
    assert session.received[before:].count(b"r1") == 1
    assert told(workshop, fox, "turn.ended") == 1


def test_models_beyond_number_are_counted_as_one(workshop: Workshop) -> None:
    fox = at_work(workshop, "fox")
    path = Path(session_request.transcript(workshop.context, fox))
    path.parent.mkdir(parents=True)
    used = {"input_tokens": 1000, "output_tokens": 0}
    answers = [{"id": f"m{n}", "model": f"model-{n}", "usage": used} for n in range(500)]
    said = [{"type": "assistant", "message": answer} for answer in answers]
    path.write_text("".join(json.dumps(line) + "\n" for line in said))
    workshop.services.watcher.look(fox.uid)
    spent = workshop.context.store.read(
        lambda c: spending_groups.grouped(c, "model", repo=None, since=None)
    )
    assert (len(spent), sum(row.input_tokens for row in spent)) == (33, 500_000)
    assert [row.input_tokens for row in spent if row.name == "unknown"] == [468_000]


def test_of_what_an_agent_calls_its_tools_and_tasks_a_listing_shows_the_beginning(
    workshop: Workshop,
) -> None:
    fox = at_work(workshop, "fox", "live")
    task = {"status": "running", "description": "t" * 100_000}
    session = workshop.session(fox)
    session.hook("PreToolUse", tool_name="n" * 1_000_000)
    workshop.services.watcher.look(fox.uid)
    (listed,) = workshop.ask("agents")
    assert len(json.dumps(listed)) < 10_000
    session.hook("Stop", background_tasks=[task] * 50)
    workshop.services.watcher.look(fox.uid)
    (listed,) = workshop.ask("agents")
    assert len(json.dumps(listed)) < 10_000
    assert "in the background: ttt" in listed["evidence"]
