"""A change goes from state to state as the lifecycle in data says, and no other way."""

from __future__ import annotations

import copy
import json
from importlib import resources
from typing import Any, get_args

import pytest

from windlass.core.errors import ConfigError, Internal
from windlass.core.ids import RepoId
from windlass.core.landing.changes import Change, ChangeId, State
from windlass.core.landing.moves import GUARDS, ChangeLife, Event, Facts
from windlass.core.lifecycle import spec

OURS: dict[str, Any] = json.loads((resources.files("windlass.data") / "lifecycle.json").read_text())
EFFECTS = {call["fn"] for call in OURS["effects"].values()}
STATES: tuple[State, ...] = get_args(State)
EVENTS: tuple[Event, ...] = get_args(Event)
FACTS = (Facts(), Facts(in_its_way="it needs c0, which is held"))
RESTING = {
    "draft": "none",
    "queued": "needs_merge",
    "gating": "merging",
    "proposed": "requested",
    "landed": "landed",
    "rejected": "needs_fix",
    "conflict": "needs_resolve",
    "held": "failed",
    "dropped": "dropped",
    "nothing-to-land": "nothing_left",
}


def life(value: dict[str, Any] = OURS) -> ChangeLife:
    lifecycle, problems = spec.read(value)
    assert problems == []
    return ChangeLife(lifecycle, EFFECTS)


def change(state: State, *, orphaned: bool = False) -> Change:
    return Change(
        repo=RepoId("0" * 8),
        id=ChangeId("c1"),
        target="main",
        branch="b",
        head="h",
        title="t",
        state=state,
        orphaned=orphaned,
    )


def ways() -> dict[tuple[State, Event], set[State]]:
    """Wherever each event of landing leads from each state."""
    found: dict[tuple[State, Event], set[State]] = {}
    for state in STATES:
        for event in EVENTS:
            for facts in FACTS:
                for known in (change(state), change(state, orphaned=True)):
                    if life().hears(known, event, facts):
                        led = life().move(known, event, facts).state
                        found.setdefault((state, event), set()).add(led)
    return found


def test_each_event_of_landing_leads_where_a_second_reading_of_the_file_says() -> None:
    """From the state in which a change rests that is shown so; `*` is every state."""
    for (state, event), led in ways().items():
        own = [
            entry["to"] or RESTING[state]
            for entry in OURS["transitions"]
            if entry["event"] == event and entry["from"] in (RESTING[state], "*")
        ]
        assert led <= {OURS["states"][name]["public"] for name in own}, (state, event)


def test_every_event_of_landing_is_in_the_data_and_leads_somewhere() -> None:
    assert {event for _, event in ways()} == {*EVENTS}


def test_every_state_is_reached_from_a_draft_by_events_of_landing_and_left_again() -> None:
    reached, ways_on = {"draft"}, ways()
    for _ in STATES:
        reached |= {to for (state, _), led in ways_on.items() if state in reached for to in led}
    assert reached == {*STATES}
    for state in STATES:
        assert any(led - {state} for (start, _), led in ways_on.items() if start == state), state


def test_what_is_in_the_gate_is_the_only_thing_that_a_restart_may_end() -> None:
    assert life().running == {"gating"}
    assert life().move(change("gating"), "startup.reset", Facts()).state == "queued"


def test_a_move_that_the_data_does_not_know_is_refused_by_its_names() -> None:
    with pytest.raises(Internal, match=r"c1 is landed, and no change .* by change\.dropped"):
        life().move(change("landed"), "change.dropped", Facts())


@pytest.mark.parametrize(
    ("where", "name", "fn"), [("guards", "odd", "is_odd"), ("effects", "sing", "sing")]
)
def test_a_function_that_nobody_has_is_refused_as_the_file_is_read(
    where: str, name: str, fn: str
) -> None:
    value = copy.deepcopy(OURS)
    value[where][name] = {"fn": fn}
    with pytest.raises(ConfigError, match=f"{name}, of the function '{fn}'"):
        life(value)


def test_a_state_that_no_row_could_keep_is_refused_and_one_that_is_not_there() -> None:
    for public in ("lost", None):
        value = copy.deepcopy(OURS)
        value["states"]["requested"]["public"] = public
        with pytest.raises(ConfigError, match="proposed"):
            life(value)


def test_every_guard_that_there_is_stands_in_the_data() -> None:
    assert {call["fn"] for call in OURS["guards"].values()} == GUARDS.keys()
