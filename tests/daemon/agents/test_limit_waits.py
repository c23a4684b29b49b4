"""Agents at a limit: parked until it is over, then set going one after the other, once each."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support.contexts import NoSockets, Turned, lent, opened
from tests.support.fake_sessions import FakeSession
from tests.support.workshop import Workshop

from windlass.api.daemon_record import EMERGENCY
from windlass.core import events, limit_reset
from windlass.core.crew import Agent
from windlass.core.events import NoticePosted, PolicyDecision
from windlass.core.mail.messages import Message
from windlass.core.states import State
from windlass.daemon.services import Services
from windlass.store import mailbox, rows

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC).timestamp()
HOUR = 3600.0
BOX = f"\n\n{'─' * 80}\n\u276f \n{'─' * 80}\n  ? for shortcuts\n"
LIMIT = "You've hit your session limit · resets 3pm (UTC)"
DIALOG = (
    f"  ⎿  {LIMIT}\n\n{'─' * 80}\n What do you want to do?\n\n \u276f 1. Wait for limit reset\n"
    "   2. Upgrade your plan\n\n Enter to confirm · Esc to cancel\n"
)


@pytest.fixture
def clock() -> Turned:
    return Turned(NOON, tick=0.001)


@pytest.fixture
def workshop(clock: Turned) -> Iterator[Workshop]:
    with lent(clock, {}) as context:
        made = Workshop(context)
        yield made
        made.close()


def spawned(workshop: Workshop, name: str = "fox", mode: str = "live") -> Agent:
    made = workshop.ask(
        "spawn", goal="g", name=name, driver="standin", isolation="hooks", mode=mode
    )
    agent = workshop.agent(made["uid"])
    workshop.session(agent).hook("SessionStart", source="startup", session_id=agent.conversation)
    workshop.session(agent).hook("UserPromptSubmit")
    return agent


def fails(workshop: Workshop, agent: Agent, said: str = LIMIT) -> None:
    """Has a limit end the turn of an agent, as a hook tells it."""
    workshop.session(agent).hook("StopFailure", error="rate_limit", last_assistant_message=said)
    assert workshop.state(agent) is State.RATE_LIMITED


def told(workshop: Workshop, agent: Agent) -> list[Message]:
    inbox = workshop.context.store.read(lambda c: mailbox.inbox(c, recipient=agent.uid))
    return [message for message in inbox if message.topic == limit_reset.TOPIC]


def shown(workshop: Workshop, agent: Agent) -> dict[str, Any]:
    listed = workshop.ask("agents")
    return next(dict(view) for view in listed if view["uid"] == agent.uid)


def test_who_is_at_a_limit_goes_on_when_it_is_over_and_not_before(
    workshop: Workshop, clock: Turned
) -> None:
    fox = spawned(workshop)
    fails(workshop, fox)
    assert shown(workshop, fox)["goes_on_at"] == NOON + 3 * HOUR
    clock.time = NOON + 3 * HOUR - 1
    workshop.services.limit_waits.look()
    assert told(workshop, fox) == []
    clock.time = NOON + 3 * HOUR
    workshop.services.limit_waits.look()
    (message,) = told(workshop, fox)
    assert "Go on" in message.body
    workshop.session(fox).hook("UserPromptSubmit")
    assert workshop.state(fox) is State.RUNNING
    assert "goes_on_at" not in shown(workshop, fox)


def test_agents_go_on_one_after_the_other(workshop: Workshop, clock: Turned) -> None:
    crew = [spawned(workshop, name) for name in ("ant", "bee", "cat")]
    for agent in crew:
        fails(workshop, agent)
    clock.time = NOON + 3 * HOUR
    for count in (1, 2, 3, 3):
        workshop.services.limit_waits.look()
        assert sum(len(told(workshop, agent)) for agent in crew) == count


def test_who_is_at_a_limit_again_and_again_holds_back_nobody(
    workshop: Workshop, clock: Turned
) -> None:
    """Though it always says that the limit is over, and ends turns in between."""
    ant, bee, cat = (spawned(workshop, name) for name in ("ant", "bee", "cat"))
    fails(workshop, bee)
    fails(workshop, cat)
    clock.time = NOON + 3 * HOUR - 60
    fails(workshop, ant, "You've hit your session limit · resets 2:30pm (UTC)")
    workshop.services.limit_waits.look()
    assert len(told(workshop, ant)) == 1
    for time in (NOON + 3 * HOUR - 30, NOON + 3 * HOUR):
        clock.time = time
        workshop.session(ant).hook("UserPromptSubmit")
        workshop.session(ant).hook("Stop", last_assistant_message="well")
        assert workshop.state(ant) is State.WAITING
        fails(workshop, ant, "You've hit your session limit · resets 2:30pm (UTC)")
        clock.time = NOON + 3 * HOUR
        workshop.services.limit_waits.look()
    assert [len(told(workshop, agent)) for agent in (ant, bee, cat)] == [1, 1, 1]


def test_a_time_that_nobody_tells_is_tried_ever_later(workshop: Workshop, clock: Turned) -> None:
    fox = spawned(workshop)
    pauses = []
    for _ in range(4):
        fails(workshop, fox, "429 Too Many Requests")
        pauses.append(round((shown(workshop, fox)["goes_on_at"] - clock.time) / 60))
        clock.time += pauses[-1] * 60
        workshop.services.limit_waits.look()
        workshop.session(fox).hook("UserPromptSubmit")
        assert workshop.state(fox) is State.RUNNING
    assert pauses == [5, 10, 20, 40]
    workshop.session(fox).hook("Stop", last_assistant_message="well")
    assert workshop.state(fox) is State.WAITING
    fails(workshop, fox, "429 Too Many Requests")
    assert round((shown(workshop, fox)["goes_on_at"] - clock.time) / 60) == 5


def test_who_does_not_move_is_not_told_at_every_look(workshop: Workshop, clock: Turned) -> None:
    fox = spawned(workshop)
    fails(workshop, fox)
    clock.time = NOON + 3 * HOUR
    for _ in range(5):
        workshop.services.limit_waits.look()
        clock.time += 15
    assert len(told(workshop, fox)) == 1


def test_a_later_daemon_keeps_what_a_screen_said_first(workshop: Workshop, clock: Turned) -> None:
    """It sees "resets 3pm" after three, and knows that this was today."""
    fox = spawned(workshop)
    workshop.session(fox).hook("Stop", last_assistant_message="")
    assert workshop.state(fox) is State.WAITING
    clock.time += 5
    _see(workshop.services, workshop.session(fox), f"\u276f go\n  ⎿  {LIMIT}{BOX}", clock)
    assert workshop.agent(fox.uid).state is State.RATE_LIMITED
    clock.time = NOON + 5 * HOUR
    again = opened(workshop.context.folders.home, clock, workshop.context.sessions)
    with closing(again.store):
        services = Services(again, NoSockets())
        _see(services, workshop.session(fox), f"\u276f go\n  ⎿  {LIMIT}{BOX}", clock)
        assert shown(workshop, fox)["goes_on_at"] == NOON + 3 * HOUR
        services.limit_waits.look()
        assert len(told(workshop, fox)) == 1
        services.delivery.close()
        again.pools.close()
        again.pools.join()


def _see(services: Services, session: FakeSession, screen: str, clock: Turned) -> None:
    """Has a screen be looked at until it is believed."""
    for _ in range(4):
        session.show(screen)
        services.watcher.pulse()
        clock.time += 5


def test_the_dialog_of_a_limit_is_closed_and_what_it_hides_is_read(
    workshop: Workshop, clock: Turned
) -> None:
    fox = spawned(workshop)
    assert workshop.state(fox) is State.RUNNING
    clock.time += 5
    _see(workshop.services, workshop.session(fox), DIALOG, clock)
    assert shown(workshop, fox)["goes_on_at"] == NOON + 3 * HOUR
    assert workshop.session(fox).pressed == []
    clock.time = NOON + 3 * HOUR
    workshop.services.limit_waits.look()
    assert workshop.session(fox).pressed == ["Escape"]


def test_a_session_that_gave_up_at_a_limit_is_resumed(workshop: Workshop, clock: Turned) -> None:
    fox = spawned(workshop, mode="headless")
    workshop.converse(fox, "g")
    first = workshop.session(fox)
    result = {"type": "result", "subtype": "success", "is_error": True, "api_error_status": 429}
    first.say(json.dumps({**result, "result": f"API Error: 429 {LIMIT}"}) + "\n")
    first.end(1)
    assert workshop.state(fox) is State.RATE_LIMITED
    clock.time = NOON + 3 * HOUR
    workshop.services.limit_waits.look()
    second = workshop.session(fox)
    assert second is not first
    assert second.alive
    assert workshop.agent(fox.uid).session == 2


def test_who_was_paused_or_ended_by_a_signal_does_not_go_on(
    workshop: Workshop, clock: Turned
) -> None:
    fox, owl = spawned(workshop), spawned(workshop, "owl")
    fails(workshop, fox)
    fails(workshop, owl)
    workshop.ask("pause", agent="fox")
    workshop.session(owl).end(143)
    assert workshop.state(owl) is State.STOPPED
    clock.time = NOON + 3 * HOUR
    workshop.services.limit_waits.look()
    assert told(workshop, fox) == told(workshop, owl) == []


def test_the_person_is_told_of_a_limit_once_and_not_at_every_try(
    workshop: Workshop, clock: Turned
) -> None:
    fox = spawned(workshop)
    for _ in range(3):
        fails(workshop, fox, "429 Too Many Requests")
        clock.time += HOUR
        workshop.services.limit_waits.look()
        workshop.session(fox).hook("UserPromptSubmit")
        assert workshop.state(fox) is State.RUNNING
    posted = workshop.context.store.read(lambda c: rows.events(c, kind=NoticePosted.kind))
    (notice,) = [events.read(NoticePosted, event).text for event in posted]
    assert "fox is at a limit" in notice
    assert "wl why fox" in notice


def test_who_waits_after_a_denial_says_what_was_denied(workshop: Workshop) -> None:
    fox = spawned(workshop)
    assert workshop.state(fox) is State.RUNNING
    denial = PolicyDecision(by="daemon", hook="PreToolUse", reason="git push is not allowed")
    workshop.context.store.write(lambda w: w.emit(denial, repo=fox.repo, agent=fox.uid))
    assert "denied" not in shown(workshop, fox)
    workshop.session(fox).hook("Stop", last_assistant_message="I may not push.")
    assert workshop.state(fox) is State.WAITING
    assert shown(workshop, fox)["denied"] == "git push is not allowed"
    workshop.session(fox).hook("UserPromptSubmit")
    assert workshop.state(fox) is State.RUNNING
    workshop.session(fox).hook("Stop", last_assistant_message="well")
    assert workshop.state(fox) is State.WAITING
    assert "denied" not in shown(workshop, fox)


def test_who_was_parked_at_an_emergency_stop_waits_for_the_person(
    workshop: Workshop, clock: Turned
) -> None:
    fox = spawned(workshop)
    fails(workshop, fox)
    mark = workshop.context.folders.home / EMERGENCY
    mark.touch()
    os.utime(mark, (NOON + HOUR, NOON + HOUR))
    clock.time = NOON + 3 * HOUR
    workshop.services.limit_waits.look()
    assert told(workshop, fox) == []
    workshop.session(fox).hook("UserPromptSubmit")
    assert workshop.state(fox) is State.RUNNING
    fails(workshop, fox, "429 Too Many Requests")
    clock.time += HOUR
    workshop.services.limit_waits.look()
    assert len(told(workshop, fox)) == 1
