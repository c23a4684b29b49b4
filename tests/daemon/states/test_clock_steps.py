"""A clock that is set, forward or back, changes nothing of how long something lasts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.contexts import Turned
from tests.support.workshop import Workshop

from windlass.core import limit_reset
from windlass.core.crew import Agent
from windlass.core.events import ClockStepped
from windlass.core.mail import reminders as core_reminders
from windlass.core.sessions import SCREEN
from windlass.core.states import FADES_AFTER, State
from windlass.daemon.spend.budgets import time_taken
from windlass.daemon.states.reminders import Reminders
from windlass.store import mailbox, rows

HOUR = 3600.0
STEPS = [HOUR, -HOUR]
FIRST = 120.0


def spawned(workshop: Workshop, name: str = "fox", **more: Any) -> Agent:
    made = workshop.ask(
        "spawn", goal="g", name=name, driver="standin", isolation="hooks", mode="live", **more
    )
    agent = workshop.agent(made["uid"])
    workshop.session(agent).hook("SessionStart", source="startup", session_id=agent.conversation)
    workshop.session(agent).hook("UserPromptSubmit")
    assert workshop.state(agent) is State.RUNNING
    return agent


def printed(workshop: Workshop, agent: Agent, at: float) -> None:
    file: Path = workshop.session(agent).folder / SCREEN
    os.utime(file, (at, at))


def fades(workshop: Workshop, agent: Agent) -> bool:
    workshop.services.clock_steps.check()
    workshop.services.watcher.refold()
    return workshop.agent(agent.uid).state is State.UNKNOWN


@pytest.mark.parametrize("step", STEPS)
def test_who_is_at_work_fades_after_as_long_as_ever(
    workshop: Workshop, clock: Turned, step: float
) -> None:
    fox = spawned(workshop)
    printed(workshop, fox, 0.0)
    clock.time += FADES_AFTER / 2
    assert not fades(workshop, fox)
    clock.set(step)
    assert not fades(workshop, fox)
    clock.time += FADES_AFTER / 2 - 5
    assert not fades(workshop, fox)
    clock.time += 10
    assert fades(workshop, fox)


@pytest.mark.parametrize("step", STEPS)
def test_what_was_printed_lately_is_a_sign_of_life_for_as_long_as_ever(
    workshop: Workshop, clock: Turned, step: float
) -> None:
    fox = spawned(workshop)
    printed(workshop, fox, clock.now())
    assert not fades(workshop, fox)
    clock.set(step)
    clock.time += FADES_AFTER - 10
    assert not fades(workshop, fox), "it printed something a quarter of an hour ago"
    clock.time += FADES_AFTER
    clock.time += 10
    assert fades(workshop, fox)


@pytest.mark.parametrize("step", STEPS)
def test_reminders_come_after_as_long_as_ever(
    workshop: Workshop, clock: Turned, step: float
) -> None:
    lead = spawned(workshop, "lead", role="manager")
    fox = spawned(workshop, parent=lead.id)
    looks = Reminders(workshop.context)

    def reminded() -> int:
        workshop.services.clock_steps.check()
        looks.look()
        inbox = workshop.context.store.read(lambda c: mailbox.inbox(c, recipient=fox.uid))
        return sum(message.topic == core_reminders.TOPIC for message in inbox)

    workshop.session(fox).hook("Stop", last_assistant_message="hm")
    assert workshop.state(fox) is State.WAITING
    clock.time += FIRST / 2
    clock.set(step)
    assert reminded() == 0
    clock.time += FIRST / 2 - 5
    assert reminded() == 0
    clock.time += 10
    assert reminded() == 1


def test_the_order_of_reminders_and_of_what_woke_an_agent_is_not_read_from_the_clock() -> None:
    """The reminder came first; the clock was set back before the agent was woken."""
    reminder = core_reminders.Moment(1000.0, "reminder", 7)
    woken = core_reminders.Moment(100.0, "other", 8)
    assert core_reminders.streak([reminder, woken]) == []
    assert core_reminders.streak([woken, reminder._replace(number=9)]) != []


@pytest.mark.parametrize("step", STEPS)
def test_time_limits_count_what_passed(workshop: Workshop, clock: Turned, step: float) -> None:
    fox = spawned(workshop)
    clock.time += 100
    clock.set(step)
    workshop.services.clock_steps.check()
    taken = workshop.context.store.read(lambda c: time_taken(c, fox, clock.time))
    assert taken == pytest.approx(100, abs=1)


def test_who_is_at_a_limit_goes_on_at_the_hour_that_it_was_told(
    workshop: Workshop, clock: Turned
) -> None:
    """A machine that sleeps past it must not take the hour for that of the next day."""
    fox = spawned(workshop)
    said = "You've hit your session limit · resets in 2h"
    workshop.session(fox).hook("StopFailure", error="rate_limit", last_assistant_message=said)
    assert workshop.state(fox) is State.RATE_LIMITED
    clock.set(9 * HOUR)
    workshop.services.clock_steps.check()
    workshop.services.limit_waits.look()
    inbox = workshop.context.store.read(lambda c: mailbox.inbox(c, recipient=fox.uid))
    assert [message.topic for message in inbox] == [limit_reset.TOPIC]


def test_what_was_seen_since_the_clock_was_set_keeps_its_time(
    workshop: Workshop, clock: Turned
) -> None:
    fox = spawned(workshop)
    clock.set(HOUR)
    workshop.session(fox).hook("Stop", last_assistant_message="hm")
    assert workshop.state(fox) is State.WAITING
    workshop.services.clock_steps.check()
    assert workshop.state(fox) is State.WAITING
    assert workshop.ask("agents")[0]["state_age"] == pytest.approx(0, abs=1)


def test_a_step_is_on_record_once(workshop: Workshop, clock: Turned) -> None:
    clock.set(1.0)
    workshop.services.clock_steps.check()
    clock.set(HOUR)
    workshop.services.clock_steps.check()
    workshop.services.clock_steps.check()
    told = workshop.context.store.read(lambda c: rows.events(c, kind=ClockStepped.kind))
    assert [event.data["seconds"] for event in told] == [HOUR]
