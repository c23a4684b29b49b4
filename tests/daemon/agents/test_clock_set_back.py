"""A clock that is set back changes neither what was last nor how much may be said."""

from __future__ import annotations

from tests.support.contexts import Turned
from tests.support.workshop import Workshop

from windlass.core.states import State
from windlass.daemon.spend.budgets import time_taken
from windlass.daemon.states.screen_source import ScreenSource
from windlass.store import rows

SPAWN = {"goal": "g", "driver": "standin", "isolation": "hooks"}
HOUR = 3600.0
ASKED = "Do you want to proceed?\n\u276f 1. Yes\n  2. No\n"


def test_undo_takes_back_what_was_ended_last_though_the_clock_was_set_back(
    workshop: Workshop, clock: Turned
) -> None:
    for name in ("fox", "owl"):
        workshop.ask("spawn", name=name, **SPAWN)
        workshop.ask("end", agents=[name])
        clock.time -= HOUR
    restored = workshop.ask("undo")["restored"]
    assert [agent["id"] for agent in restored] == ["owl"]


def test_an_agent_may_send_and_note_when_the_clock_was_set_back(
    workshop: Workshop, clock: Turned
) -> None:
    (workshop.context.folders.home / "config.toml").write_text("[mail]\nrate = 5\n")
    fox = workshop.agent(workshop.ask("spawn", name="fox", **SPAWN)["uid"])
    for number in range(5):
        workshop.ask_as(fox, "send", agent="user", text=f"before {number}")
        workshop.ask_as(fox, "note", text=f"before {number}")
    clock.time -= HOUR
    workshop.ask_as(fox, "send", agent="user", text="after")
    workshop.ask_as(fox, "note", text="after")


def test_the_ended_agent_that_a_name_means_is_the_last_though_the_clock_was_set_back(
    workshop: Workshop, clock: Turned
) -> None:
    uids = []
    for _ in range(2):
        uids.append(workshop.ask("spawn", name="fox", **SPAWN)["uid"])
        workshop.ask("end", agents=["fox"])
        clock.time -= HOUR
    assert workshop.ask("info", agent="fox")["uid"] == uids[1]


def test_a_screen_is_looked_at_and_time_is_counted_when_the_clock_was_set_back(
    workshop: Workshop, clock: Turned
) -> None:
    context = workshop.context
    fox = workshop.agent(workshop.ask("spawn", name="fox", **SPAWN)["uid"])
    session = context.store.read(lambda c: rows.newest_session(c, fox.uid))
    assert session is not None
    workshop.session(fox).screen = ASKED
    source = ScreenSource(context)
    assert source.glance(fox, session, status_file=lambda _: None) == []
    clock.time -= HOUR
    seen = source.glance(fox, session, status_file=lambda _: None)
    assert [observation.value for observation in seen] == [State.ASKING]
    assert context.store.read(lambda c: time_taken(c, fox, clock.now())) == 0.0
