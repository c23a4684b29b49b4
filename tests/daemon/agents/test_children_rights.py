"""What agents give to those that they start: never more than they have, in any respect."""

from __future__ import annotations

from itertools import count
from typing import Any, get_type_hints

import msgspec
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.support import whole_rows
from tests.support.agents import an_agent
from tests.support.workshop import Workshop

from windlass.api.verbs import Caller
from windlass.api.wire.agents import SpawnRequest
from windlass.box import probes
from windlass.core.box_spec import LEVELS, NETWORKS
from windlass.core.config import Config
from windlass.core.crew import Agent, Limits, Policy
from windlass.core.errors import Denied, WindlassError
from windlass.core.ids import Uid
from windlass.core.usage import Usage
from windlass.daemon.kernel import repos
from windlass.daemon.policy import grants
from windlass.daemon.spend import allowances
from windlass.store import spending

_TOOLS = ("Bash", "WebFetch", "Bash(make:*)", "mcp__shop", "EnterPlanMode", "Read(/etc/**)")
_NUMBERS = count()
_PATTERNS = st.lists(st.sampled_from(_TOOLS), max_size=3)
_AMOUNT = st.none() | st.sampled_from([0.5, 3.0, 100_000.0])
_BOXES = st.sampled_from(LEVELS if probes.usable().full else LEVELS[:1])
GIVERS = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["manager", "worker"]),
        "spawns": st.sampled_from([True, True, True, False]),
        "policy": st.builds(
            Policy,
            allow=_PATTERNS.map(tuple),
            deny=_PATTERNS.map(tuple),
            yolo=st.booleans(),
        ),
        "isolation": _BOXES,
        "network": st.sampled_from(NETWORKS),
        "limits": st.builds(
            Limits, turns=st.sampled_from([None] * 9 + [3]), usd=_AMOUNT, seconds=_AMOUNT
        ),
    }
)
ASKED: dict[str, st.SearchStrategy[Any]] = {
    "role": st.sampled_from(["manager", "worker", "worker", "auditor"]),
    "mode": st.sampled_from(["live", "headless"]),
    "worktree": st.sampled_from([True, True, False]),
    "allow": _PATTERNS,
    "deny": _PATTERNS,
    "yolo": st.booleans(),
    "isolation": st.none() | st.sampled_from(["auto", "required", "box", "hooks"]),
    "network": st.none() | st.sampled_from(NETWORKS),
    "max_turns": st.none() | st.integers(1, 20),
    "max_usd": _AMOUNT,
    "max_seconds": _AMOUNT,
}
"""What a request may ask for, and values to try."""
_HARMLESS = {
    *("cwd", "key", "goal", "name", "parent"),
    *("model", "driver"),  # what is spent is limited, and both run under the same policy
    *("script", "script_text", "fork"),  # of what the caller reads, or is below it
    *("with_changes", "anyway"),  # refused to agents
    "land",  # what an agent proposes is gated, and looked at by whoever `landing.review` names
}
"""Parts of a request that give no right; of any other `ASKED` has examples."""


def test_every_part_of_a_request_is_tried_or_known_to_give_nothing() -> None:
    assert set(get_type_hints(SpawnRequest)) == {*ASKED, *_HARMLESS}


def put(workshop: Workshop, **traits: Any) -> Agent:
    """An agent that is there already, with a session that began a second ago."""
    repo = repos.require(workshop.context, str(workshop.repo))
    name = f"a{next(_NUMBERS)}"
    place = {"repo": repo.id, "branch": f"agent/{name}", "workspace": str(workshop.repo)}
    agent = an_agent(name, **place, **traits)
    workshop.context.store.write(lambda w: whole_rows.put_agent(w, agent))
    return agent


def spend(workshop: Workshop, agent: Agent, usd: float) -> None:
    """Lets an agent owe an amount."""
    workshop.context.store.write(
        lambda w: spending.add(
            w,
            agent.uid,
            1,
            day="2026-01-01",
            model="m",
            source="transcript",
            used=Usage(),
            cost=usd,
            notional=False,
        )
    )


def start(workshop: Workshop, caller: Agent, **request: Any) -> Agent:
    """Begins a spawn as the daemon does, up to the row of the agent."""
    whole = {"goal": "g", "driver": "standin", "cwd": caller.workspace, **request}
    draft = workshop.services.spawns.begin(Caller(caller.uid), whole)  # type: ignore[arg-type]
    uid = workshop.context.store.write(draft.prepare)["uid"]
    return workshop.agent(Uid(uid))


def require_no_more(workshop: Workshop, child: Agent, giver: Agent) -> None:
    """Compares an agent with one that it has its rights from, in every respect."""
    configured = grants.configured_policy(Config(), child.role, child.isolation)
    assert set(giver.policy.deny) <= set(child.policy.deny)
    assert giver.policy.yolo or not child.policy.yolo
    if not giver.policy.yolo:
        assert set(child.policy.allow) <= {*configured.allow, *giver.policy.allow}
    assert LEVELS.index(child.isolation) >= LEVELS.index(giver.isolation)
    if giver.isolation == "box":
        assert NETWORKS.index(child.network) <= NETWORKS.index(giver.network)
    left = allowances.of(workshop.context, giver).left
    for name, most in msgspec.structs.asdict(left).items():
        assert most is None or getattr(child.limits, name) <= most
    common = Config().budget.agent
    assert giver.limits.usd is not None or (child.limits.usd or 0.0) <= common
    assert giver.spawns
    assert child.owns_workspace
    assert child.options == {}, "the configuration's, of which no request says anything"


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    giver=GIVERS,
    other=GIVERS,
    asked=st.fixed_dictionaries({}, optional=ASKED),
    below=st.booleans(),
    spent=st.sampled_from([0.0, 0.4, 2.0]),
)
def test_no_agent_is_more_permitted_than_those_that_started_it(
    *,
    workshop: Workshop,
    giver: dict[str, Any],
    other: dict[str, Any],
    asked: dict[str, Any],
    below: bool,
    spent: float,
) -> None:
    workshop.ask("config.set", config_key="max_agents", value="100000", user=True)
    lead = put(workshop, **giver)
    parent = put(workshop, **other, parent=lead.uid)
    spend(workshop, lead, spent)
    try:
        child = start(workshop, lead, **asked, **({"parent": parent.id} if below else {}))
    except WindlassError as error:
        event(f"refused: {type(error).__name__}")
        return
    event("started")
    require_no_more(workshop, child, lead)
    if below:
        require_no_more(workshop, child, parent)


def test_a_manager_with_little_money_gives_little(workshop: Workshop) -> None:
    lead = put(workshop, role="manager", spawns=True, limits=Limits(usd=1.0))
    with pytest.raises(Denied, match="cannot give 100000 USD: it has 1 itself") as told:
        start(workshop, lead, isolation="hooks", max_usd=100_000.0)
    assert told.value.exit_code == 7
    first = start(workshop, lead, isolation="hooks")
    assert first.limits.usd == 1.0
    spend(workshop, lead, 0.25)
    spend(workshop, first, 0.5)
    assert start(workshop, lead, isolation="hooks").limits.usd == pytest.approx(0.25)
    workshop.context.store.write(
        lambda w: whole_rows.put_agent(w, msgspec.structs.replace(first, ended_at=1.0))
    )
    with pytest.raises(Denied, match=r"it has 0\.25 itself"):
        start(workshop, lead, isolation="hooks", max_usd=0.5)


def test_a_manager_raises_the_limits_of_those_below_it_no_further_than_its_own(
    workshop: Workshop,
) -> None:
    lead = put(workshop, role="manager", spawns=True, limits=Limits(usd=1.0))
    hand = put(workshop, parent=lead.uid, limits=Limits(usd=0.5), session=1)
    spend(workshop, lead, 0.25)
    spend(workshop, hand, 0.5)
    with pytest.raises(Denied, match=r"cannot give 100000 USD: it has 0\.75 itself"):
        workshop.ask_as(lead, "resume", agent=hand.id, max_usd=100_000.0)
    with pytest.raises(Denied, match=r"cannot give 0\.8 USD"):
        workshop.ask_as(lead, "resume", agent=hand.id, max_usd=0.8)
    with pytest.raises(Denied, match="cannot raise its own limits"):
        workshop.ask_as(hand, "resume", agent=hand.id, max_usd=0.6)
    lead_of_all = put(workshop, role="manager", spawns=True)
    other = put(workshop, parent=lead_of_all.uid)
    with pytest.raises(Denied, match="cannot give 11 USD: it has 10 itself"):
        workshop.ask_as(lead_of_all, "resume", agent=other.id, max_usd=11.0)


def test_what_all_below_a_manager_ever_spent_is_taken_from_what_it_can_give(
    workshop: Workshop,
) -> None:
    lead = put(workshop, role="manager", spawns=True, limits=Limits(usd=1.0))
    gone = put(workshop, parent=lead.uid, ended_at=5.0)
    below = put(workshop, parent=gone.uid)
    elsewhere = put(workshop)
    for agent, usd in ((lead, 0.25), (gone, 0.125), (below, 0.0625), (elsewhere, 0.5)):
        spend(workshop, agent, usd)
    assert allowances.of(workshop.context, lead).left.usd == 0.5625
    assert allowances.of(workshop.context, lead, beside=below).left.usd == 0.625


def test_what_a_manager_is_denied_those_below_it_are_denied_too(workshop: Workshop) -> None:
    denied = Policy(deny=("WebFetch", "Bash(curl:*)"), yolo=True)
    lead = put(workshop, role="manager", spawns=True, policy=denied)
    child = start(workshop, lead, isolation="hooks", yolo=True, allow=["WebFetch"])
    assert {"WebFetch", "Bash(curl:*)"} <= set(child.policy.deny)
    made = workshop.ask("spawn", goal="g", driver="standin", isolation="hooks", parent=lead.id)
    assert {"WebFetch", "Bash(curl:*)"} <= set(workshop.agent(made["uid"]).policy.deny)


def test_who_cannot_be_limited_in_turns_is_not_started_by_an_agent_that_is(
    workshop: Workshop,
) -> None:
    lead = put(workshop, role="manager", spawns=True, limits=Limits(turns=3))
    with pytest.raises(Denied, match="limited to 3 turns"):
        start(workshop, lead, isolation="hooks", mode="live")
    with pytest.raises(Denied, match="of some drivers"):
        start(workshop, lead, isolation="hooks", mode="headless")
