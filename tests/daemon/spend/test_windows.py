"""Usage windows: what a session shows of one keeps further agents from being started."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.support.contexts import Turned, lent
from tests.support.workshop import Workshop

from windlass.core.crew import Agent
from windlass.core.errors import Denied, Unavailable
from windlass.core.events import UsageWindowSeen
from windlass.core.states import State
from windlass.store import rows

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC).timestamp()
HOUR = 3600.0
RULE = "─" * 80


@pytest.fixture
def clock() -> Turned:
    return Turned(NOON, tick=0.001)


@pytest.fixture
def workshop(clock: Turned) -> Iterator[Workshop]:
    with lent(clock, {}) as context:
        made = Workshop(context)
        yield made
        made.close()


def spawned(workshop: Workshop, name: str, mode: str = "headless", **more: Any) -> Agent:
    made = workshop.ask(
        "spawn", goal="g", name=name, driver="standin", isolation="hooks", mode=mode, **more
    )
    agent = workshop.agent(made["uid"])
    workshop.session(agent).hook("SessionStart", source="startup", session_id=agent.conversation)
    workshop.session(agent).hook("UserPromptSubmit")
    assert workshop.state(agent) is State.RUNNING
    return agent


def shows(workshop: Workshop, agent: Agent, used: float, window: str = "five_hour") -> None:
    info = {
        "status": "allowed_warning",
        "rateLimitType": window,
        "utilization": used,
        "resetsAt": NOON + 3 * HOUR,
    }
    line = {"type": "rate_limit_event", "rate_limit_info": info, "uuid": "u", "session_id": "s"}
    workshop.session(agent).say(json.dumps(line) + "\n")
    workshop.services.watcher.look(agent.uid)


def seen(workshop: Workshop) -> int:
    return len(workshop.context.store.read(lambda c: rows.events(c, kind=UsageWindowSeen.kind)))


def test_no_further_agent_is_started_above_80_percent_until_the_window_begins_anew(
    workshop: Workshop, clock: Turned
) -> None:
    fox = spawned(workshop, "fox")
    shows(workshop, fox, 0.8)
    spawned(workshop, "owl")
    shows(workshop, fox, 0.81)
    with pytest.raises(Unavailable, match="5-hour window is used to 81 %") as refused:
        spawned(workshop, "elk")
    assert "--anyway" in refused.value.hint
    assert workshop.state(fox) is State.RUNNING
    clock.time = NOON + 3 * HOUR
    spawned(workshop, "elk")


def test_the_person_may_start_one_all_the_same_and_agents_may_not(workshop: Workshop) -> None:
    lead = spawned(workshop, "lead", role="manager")
    shows(workshop, lead, 0.95)
    with pytest.raises(Denied, match="only the person"):
        workshop.ask_as(lead, "spawn", goal="g", driver="standin", anyway=True)
    with pytest.raises(Unavailable, match="usage window") as refused:
        workshop.ask_as(lead, "spawn", goal="g", driver="standin")
    assert "--anyway" not in refused.value.hint
    spawned(workshop, "elk", anyway=True)


def test_the_percentage_is_configured(workshop: Workshop) -> None:
    fox = spawned(workshop, "fox")
    shows(workshop, fox, 0.95)
    (workshop.context.folders.home / "config.toml").write_text("[budget]\nwindow = 95\n")
    spawned(workshop, "owl")
    (workshop.context.folders.home / "config.toml").write_text("[budget]\nwindow = 50\n")
    with pytest.raises(Unavailable, match="above 50 %"):
        spawned(workshop, "elk")
    (workshop.context.folders.home / "config.toml").write_text("[budget]\nwindow = 0\n")
    spawned(workshop, "elk")


def test_a_window_that_is_less_used_again_holds_nobody(workshop: Workshop) -> None:
    fox = spawned(workshop, "fox")
    shows(workshop, fox, 0.95)
    shows(workshop, fox, 0.95)
    shows(workshop, fox, 0.2)
    assert seen(workshop) == 2
    spawned(workshop, "owl")


def test_what_one_agent_says_holds_for_an_hour_unless_it_is_shown_again(
    workshop: Workshop, clock: Turned
) -> None:
    """It may have made it up: whoever is refused is told who says it, and it does not last."""
    fox = spawned(workshop, "fox")
    shows(workshop, fox, 0.95)
    for _ in range(3):
        clock.time += 0.6 * HOUR
        shows(workshop, fox, 0.95)
    with pytest.raises(Unavailable, match="as fox was shown") as refused:
        spawned(workshop, "owl")
    assert "wl kill fox if" in refused.value.hint
    clock.time += HOUR
    spawned(workshop, "owl")


def test_what_stands_below_a_prompt_counts_too(workshop: Workshop, clock: Turned) -> None:
    fox = spawned(workshop, "fox", mode="live")
    said = "You've used 92% of your weekly limit · resets Nov 20, 12pm (UTC)"
    workshop.session(fox).show(f"\n{RULE}\n\u276f \n{RULE}\n  ? for shortcuts      {said}\n")
    for _ in range(3):
        clock.time += 6
        workshop.services.watcher.pulse()
    with pytest.raises(Unavailable, match="weekly window is used to 92 %, until Fri"):
        spawned(workshop, "owl")


def test_an_agent_at_a_limit_is_a_window_that_is_used_up(workshop: Workshop, clock: Turned) -> None:
    fox = spawned(workshop, "fox", mode="live")
    said = "You've hit your session limit · resets 3pm (UTC)"
    workshop.session(fox).hook("StopFailure", error="rate_limit", last_assistant_message=said)
    assert workshop.state(fox) is State.RATE_LIMITED
    with pytest.raises(Unavailable, match="used to 100 %"):
        spawned(workshop, "owl")
    clock.time = NOON + 3 * HOUR
    spawned(workshop, "owl")
