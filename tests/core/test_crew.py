"""Who may start whom, and the tree that they form."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.agents import an_agent

from windlass.core import crew
from windlass.core.crew import Agent, Policy, Spawn
from windlass.core.errors import Conflict, Denied
from windlass.core.ids import Uid


def agent(name: str, *, role: str = "worker", parent: str | None = None, slot: int = 0) -> Agent:
    return an_agent(
        name,
        role=role,
        parent=Uid(parent) if parent else None,
        mode="live",
        branch=f"agent/{name}",
        workspace=f"/w/{name}",
        slot=slot,
    )


def spawn(**changes: object) -> Spawn:
    given = {
        "role": "worker",
        "parent": None,
        "caller": None,
        "policy": Policy(),
        "configured": Policy(),
        **changes,
    }
    return Spawn(**given)  # type: ignore[arg-type]


LEAD = agent("lead", role="manager")
HAND = agent("hand", parent="lead")


def test_a_worker_may_not_start_agents() -> None:
    with pytest.raises(Denied, match="hand is a worker"):
        crew.check_spawn(spawn(caller=HAND, parent=HAND), live=[], max_agents=None)


def test_who_may_start_agents_is_said_by_the_role_and_not_by_its_name() -> None:
    auditor = agent("ann", role="auditor")
    with pytest.raises(Denied, match="ann is an auditor, and auditors do not start agents"):
        crew.check_spawn(spawn(caller=auditor, parent=auditor), live=[], max_agents=None)
    lead = msgspec.structs.replace(auditor, spawns=True)
    crew.check_spawn(spawn(caller=lead, parent=lead), live=[], max_agents=None)
    crew.check_parent(HAND, lead, live=[HAND, lead])
    tied = msgspec.structs.replace(LEAD, spawns=False)
    with pytest.raises(Denied, match="lead is a manager and cannot be a parent"):
        crew.check_parent(HAND, tied, live=[HAND, tied])


def test_a_worker_cannot_be_a_parent() -> None:
    with pytest.raises(Denied, match="cannot be a parent"):
        crew.check_spawn(spawn(parent=HAND), live=[], max_agents=None)


def test_a_configured_limit_holds_for_a_person_too() -> None:
    with pytest.raises(Denied, match="max_agents is 2"):
        crew.check_spawn(spawn(), live=[LEAD, HAND], max_agents=2)
    crew.check_spawn(spawn(), live=[LEAD], max_agents=2)


def test_the_built_in_limit_holds_for_agents_and_not_for_people() -> None:
    many = [agent(f"a{n}") for n in range(crew.DEFAULT_MAX_AGENTS)]
    crew.check_spawn(spawn(), live=many, max_agents=None)
    with pytest.raises(Denied, match="max_agents is 10"):
        crew.check_spawn(spawn(caller=LEAD, parent=LEAD), live=many, max_agents=None)


@pytest.mark.parametrize(
    ("giver", "configured", "given_", "allowed"),
    [
        (Policy(), Policy(), Policy(), True),
        (Policy(), Policy(), Policy(yolo=True), False),
        (Policy(yolo=True), Policy(), Policy(yolo=True), True),
        (Policy(allow=("Read",)), Policy(), Policy(allow=("Read",)), True),
        (Policy(allow=("Read",)), Policy(), Policy(allow=("Bash",)), False),
        (Policy(), Policy(allow=("Bash",)), Policy(allow=("Bash",)), True),
    ],
)
def test_nobody_gives_what_neither_they_nor_the_role_were_given(
    giver: Policy, configured: Policy, given_: Policy, allowed: bool
) -> None:
    lead = msgspec.structs.replace(LEAD, policy=giver)
    wanted = spawn(caller=lead, parent=lead, policy=given_, configured=configured)
    if allowed:
        crew.check_spawn(wanted, live=[lead], max_agents=None)
    else:
        with pytest.raises(Denied, match="cannot give"):
            crew.check_spawn(wanted, live=[lead], max_agents=None)


def test_nobody_gives_below_another_what_that_one_was_not_given() -> None:
    lead = msgspec.structs.replace(LEAD, policy=Policy(yolo=True))
    tied = agent("tied", role="manager", parent="lead")
    wanted = spawn(caller=lead, parent=tied, policy=Policy(yolo=True))
    with pytest.raises(Denied, match="tied cannot give"):
        crew.check_spawn(wanted, live=[lead, tied], max_agents=None)


def test_who_reaches_further_than_a_boxed_manager_is_not_given_to_it() -> None:
    lead = msgspec.structs.replace(LEAD, isolation="box", network="none")
    hand = msgspec.structs.replace(HAND, isolation="box", network="proxy")
    with pytest.raises(Denied, match="lead has network none and hand proxy"):
        crew.check_parent(hand, lead, live=[lead, hand])
    crew.check_parent(msgspec.structs.replace(hand, network="none"), lead, live=[lead, hand])


def test_agents_in_a_ring_are_listed_and_not_hidden() -> None:
    one, two = agent("one", parent="two"), agent("two", parent="one")
    assert {a.id for _, a in crew.forest([one, two])} == {"one", "two"}


def test_what_is_below_is_found_even_if_something_made_a_cycle() -> None:
    one, two = agent("one", parent="two"), agent("two", parent="one")
    assert [a.id for a in crew.below(one, [one, two])] == ["two"]


def test_reassigning_below_oneself_would_make_a_cycle() -> None:
    top = agent("top", role="manager")
    mid = agent("mid", role="manager", parent="top")
    low = agent("low", role="manager", parent="mid")
    with pytest.raises(Conflict, match="cycle"):
        crew.check_parent(top, low, live=[top, mid, low])
    with pytest.raises(Conflict, match="cycle"):
        crew.check_parent(top, top, live=[top, mid, low])
    crew.check_parent(low, top, live=[top, mid, low])


@given(st.lists(st.integers(0, 20), max_size=20))
def test_a_free_slot_is_the_smallest_that_nobody_holds(slots: list[int]) -> None:
    live = [agent(f"a{n}", slot=slot) for n, slot in enumerate(slots)]
    free = crew.free_slot(live)
    assert free not in slots
    assert all(lower in slots for lower in range(free))


def test_blocks_of_ports_do_not_overlap_and_stay_below_the_ephemeral_range() -> None:
    blocks = [crew.port_base(slot) for slot in range(600)]
    assert all(b - a == crew.PORTS_PER_SLOT for a, b in pairwise(blocks))
    assert blocks[-1] + crew.PORTS_PER_SLOT <= 32768


def test_the_forest_lists_children_below_their_parents_and_orphans_as_roots() -> None:
    listed = [agent("c", parent="gone"), HAND, LEAD]
    walked = [(depth, one.id) for depth, one in crew.forest(listed)]
    assert walked == [(0, "c"), (0, "lead"), (1, "hand")]
