"""A lifecycle does what its transitions say in their order, and ours makes sense."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable
from importlib import resources
from typing import Any, get_args

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.errors import ConfigError, UserError
from windlass.core.landing import changes
from windlass.core.lifecycle import checks, drawings, machine, spec

DATA = resources.files("windlass.data")
OURS = json.loads((DATA / "lifecycle.json").read_text())
SCHEMA = json.loads((DATA / "lifecycle.schema.json").read_text())


def told(value: Any) -> list[str]:
    """What makes no sense about a lifecycle."""
    lifecycle, problems = spec.read(value)
    if any(problem.level == "error" for problem in problems):
        return [str(problem) for problem in problems]
    return [str(problem) for problem in (*problems, *checks.problems(lifecycle))]


def slow(value: Any, state: str, event: str, denied: set[str]) -> dict[str, Any]:
    """A second reading of what an event does, on the bare JSON."""
    for transition in value["transitions"]:
        if transition["event"] != event:
            continue
        if transition["from"] != "*" and transition["from"] != state:
            continue
        if "guard" in transition and transition["guard"] in denied:
            continue
        to = state if transition["to"] is None else transition["to"]
        return {
            "to": to,
            "chain": transition.get("chain", ""),
            "kanban": transition.get("kanban", ""),
            "effects": tuple(transition.get("effects", [])),
        }
    return {}


NAMES = st.sampled_from(["one", "two", "three"])


@st.composite
def machines(draw: st.DrawFn) -> dict[str, Any]:
    """Any machine of the right shape, whether it makes sense or not."""
    transitions = []
    for _ in range(draw(st.integers(0, 8))):
        made: dict[str, Any] = {
            "event": draw(st.sampled_from(["a", "b"])),
            "from": draw(NAMES | st.just("*")),
            "to": draw(NAMES | st.none()),
        }
        for name, values in (("guard", ["g", "h"]), ("chain", ["two"]), ("kanban", ["x"])):
            if draw(st.booleans()):
                made[name] = draw(st.sampled_from(values))
        if draw(st.booleans()):
            made["effects"] = draw(st.lists(st.sampled_from(["e", "f"]), max_size=2))
        transitions.append(made)
    states = {
        name: {"type": draw(st.sampled_from(machine.TYPES))} for name in ("one", "two", "three")
    }
    return {"version": 1, "states": states, "transitions": transitions}


@given(machines(), NAMES, st.sampled_from(["a", "b", "c"]), st.sets(st.sampled_from(["g", "h"])))
def test_an_event_does_what_a_second_reading_says(
    value: dict[str, Any], state: str, event: str, denied: set[str]
) -> None:
    lifecycle, problems = spec.read(value)
    assert not problems
    guards = machine.unless(dict.fromkeys(denied, False))
    done = machine.step(lifecycle, state, event, guards)
    found = (
        {name: getattr(done, name) for name in ("to", "chain", "kanban", "effects")} if done else {}
    )
    assert found == slow(value, state, event, denied)


@given(machines())
def test_any_machine_can_be_checked_drawn_and_written_as_it_was_read(value: dict[str, Any]) -> None:
    lifecycle, _ = spec.read(value)
    assert all("; " in str(problem) for problem in checks.problems(lifecycle))
    assert drawings.mermaid(lifecycle).startswith("stateDiagram-v2\n")
    assert spec.read(spec.data(lifecycle)) == (lifecycle, [])


def test_an_unknown_state_is_a_mistake_and_an_unknown_event_does_nothing() -> None:
    lifecycle, _ = spec.read(OURS)
    assert machine.step(lifecycle, "merging", "no.such", machine.unless({})) is None
    for state in ("nowhere", "*"):
        with pytest.raises(UserError, match="no state"):
            machine.step(lifecycle, state, "merge.start", machine.unless({}))


def test_ours_makes_sense_and_fits_its_schema() -> None:
    assert told(OURS) == []
    jsonschema.Draft202012Validator(SCHEMA).validate(OURS)


def test_what_people_are_shown_are_the_states_of_changes() -> None:
    assert {state["public"] for state in OURS["states"].values()} <= {*get_args(changes.State)}


def test_ours_has_every_state_type_and_event_family_of_the_ancestor() -> None:
    types = {name: state["type"] for name, state in OURS["states"].items()}
    ours = {name: types.pop(name) for name in ("landed", "requested", "nothing_left", "dropped")}
    assert ours == {"requested": "waiting"} | dict.fromkeys(
        ("landed", "nothing_left", "dropped"), "terminal_recoverable"
    )
    assert types == {
        "none": "initial",
        **dict.fromkeys(
            ("needs_fix", "needs_merge", "needs_resolve", "needs_multi_resolve"), "waiting"
        ),
        **dict.fromkeys(("fixing", "merging", "resolving"), "running"),
        **dict.fromkeys(("fix_completed", "merge_conflict", "resolved"), "transient"),
        "merged": "terminal",
        "failed": "terminal_recoverable",
    }
    families = {entry["event"].partition(".")[0] for entry in OURS["transitions"]}
    assert families == {
        *("worker", "fix", "merge", "conflict", "resolve", "pr", "recovery", "startup"),
        *("resume", "task", "change", "author"),
    }


@given(st.data())
def test_whatever_happens_to_a_change_of_ours_it_rests_in_no_transient_state(
    data: st.DataObject,
) -> None:
    lifecycle, _ = spec.read(OURS)
    state = "none"
    for _ in range(12):
        event = data.draw(st.sampled_from(sorted(lifecycle.by_event)))
        denied = data.draw(st.sets(st.sampled_from(sorted(lifecycle.guards))))
        guards = machine.unless(dict.fromkeys(denied, False))
        done = machine.step(lifecycle, state, event, guards)
        if state == "merged":
            assert done is None or done.to == "merged", "what has landed has landed"
        state = done.to if done else state
        assert lifecycle.states[state].type != "transient"
        if lifecycle.states[state].type == "running":
            reset = machine.step(lifecycle, state, "startup.reset", machine.unless({}))
            assert reset is not None
            assert lifecycle.states[reset.to].type == "waiting"


Mutation = Callable[[dict[str, Any]], object]


def of(value: dict[str, Any], event: str, start: str) -> list[dict[str, Any]]:
    """The transitions of an event in a state."""
    return [
        entry for entry in value["transitions"] if (entry["event"], entry["from"]) == (event, start)
    ]


def without(value: dict[str, Any], keep: Callable[[dict[str, Any]], bool]) -> None:
    value["transitions"] = [entry for entry in value["transitions"] if keep(entry)]


def turned(value: dict[str, Any]) -> None:
    """Puts a fallback before what is guarded."""
    guarded, fallback = of(value, "merge.conflict", "merging")
    places = [value["transitions"].index(one) for one in (guarded, fallback)]
    value["transitions"][places[0]], value["transitions"][places[1]] = fallback, guarded


def circled(value: dict[str, Any]) -> None:
    """Leaves nothing but a way to and fro between a conflict and its resolution."""
    circle = {"needs_resolve": "resolving", "resolving": "needs_resolve"}
    without(value, lambda entry: entry["to"] == circle.get(entry["from"], entry["to"]))


MUTANTS: dict[str, tuple[Mutation, str]] = {
    "a state nobody leads to": (
        lambda m: m["states"].update(lost={"type": "terminal"}),
        "$.states.lost: lost is never reached",
    ),
    "a waiting state that nothing leaves": (
        lambda m: without(m, lambda entry: entry["from"] != "needs_multi_resolve"),
        "$.states.needs_multi_resolve: needs_multi_resolve is a dead end",
    ),
    "a failed change that cannot recover": (
        lambda m: without(m, lambda entry: entry["from"] != "failed"),
        "$.states.failed: failed is a dead end",
    ),
    "no way in": (
        lambda m: without(m, lambda entry: entry["from"] != "none"),
        "$.states.none: none is a dead end",
    ),
    "a running state without a reset": (
        lambda m: without(m, lambda entry: entry not in of(m, "startup.reset", "merging")),
        "$.states.merging: merging is running and has no startup.reset",
    ),
    "a reset into work": (
        lambda m: of(m, "startup.reset", "fixing")[0].update(to="merging"),
        "$.states.fixing: startup.reset leaves fixing at merging",
    ),
    "a reset that keeps the state": (
        lambda m: of(m, "startup.reset", "fixing")[0].update(to=None),
        "$.states.fixing: startup.reset leaves fixing at fixing",
    ),
    "a fallback first": (turned, "merge.conflict in merging never gets here"),
    "a guard that is gone": (
        lambda m: of(m, "fix.started", "needs_fix")[0].pop("guard"),
        "fix.started in needs_fix never gets here",
    ),
    "every state before one": (
        lambda m: m["transitions"].insert(0, {"event": "fix.pass", "from": "*", "to": "failed"}),
        "fix.pass in fixing never gets here",
    ),
    "a chain through a state that is not transient": (
        lambda m: of(m, "fix.pass", "fixing")[0].update(chain="needs_fix"),
        ".chain: needs_fix is not transient",
    ),
    "a change that rests in a transient state": (
        lambda m: of(m, "resolve.succeeded", "resolving")[0].update(to="resolved"),
        ".to: resolved is transient",
    ),
    "a transient state that nothing passes": (
        lambda m: of(m, "resolve.succeeded", "resolving")[0].pop("chain"),
        "$.states.resolved: resolved is never reached",
    ),
    "a chain that leads nowhere": (
        lambda m: of(m, "resolve.succeeded", "resolving")[0].update(to=None),
        ".chain: a chain that leads nowhere",
    ),
    "a transient state that events lead out of": (
        lambda m: m["transitions"].append(
            {"event": "go.on", "from": "resolved", "to": "needs_merge"}
        ),
        ".from: resolved is transient: no event finds anything there",
    ),
    "work that counts as waiting": (
        lambda m: m["states"]["merging"].update(type="waiting"),
        ".from: merging is not running, and only running states hear startup.reset",
    ),
    "an unknown target": (
        lambda m: of(m, "merge.start", "needs_merge")[0].update(to="mergin"),
        ".to: unknown state 'mergin'; did you mean merging?",
    ),
    "an unknown beginning": (
        lambda m: of(m, "merge.start", "needs_merge")[0].update({"from": "waits"}),
        ".from: unknown state 'waits'",
    ),
    "an unknown guard": (
        lambda m: m["guards"].pop("fix_attempts_lt_max"),
        ".guard: unknown guard 'fix_attempts_lt_max'",
    ),
    "an unknown effect": (
        lambda m: of(m, "worker.spawned", "none")[0].update(effects=["sync_githup"]),
        ".effects[0]: unknown effect 'sync_githup'; did you mean sync_github?",
    ),
    "an unknown type": (
        lambda m: m["states"]["merging"].update(type="busy"),
        "$.states.merging.type: unknown type 'busy'",
    ),
    "two beginnings": (
        lambda m: m["states"]["needs_merge"].update(type="initial"),
        "$.states: 2 initial states",
    ),
    "an end that is left": (
        lambda m: m["states"]["failed"].update(type="terminal"),
        "$.states.failed: failed is terminal, and leads to",
    ),
    "an unknown marker": (
        lambda m: of(m, "worker.spawned", "none")[0].update(kanban="X"),
        ".kanban: unknown marker 'X'",
    ),
    "a guard without a function": (
        lambda m: m["guards"]["fix_attempts_lt_max"].pop("fn"),
        "$.guards.fix_attempts_lt_max.fn: missing",
    ),
    "every state leads out of an end": (
        lambda m: m["transitions"].append({"event": "any.how", "from": "*", "to": "failed"}),
        ".from: merged is terminal, and any.how leads out to failed; above it, let any.how keep",
    ),
    "what kept an end is guarded": (
        lambda m: of(m, "resume.abort", "merged")[0].update(guard="fix_attempts_lt_max"),
        ".from: merged is terminal, and resume.abort leads out to failed",
    ),
    "a reset that is guarded alone": (
        lambda m: of(m, "startup.reset", "fixing")[0].update(guard="fix_attempts_lt_max"),
        "$.states.fixing: every startup.reset of fixing is guarded",
    ),
    "a guarded reset into work": (
        lambda m: m["transitions"].insert(
            0,
            {
                "event": "startup.reset",
                "from": "*",
                "to": "merging",
                "guard": "fix_attempts_lt_max",
            },
        ),
        "$.states.fixing: startup.reset leaves fixing at merging",
    ),
    "a reset into an end": (
        lambda m: of(m, "startup.reset", "fixing")[0].update(to="merged"),
        "$.states.fixing: startup.reset leaves fixing at merged",
    ),
    "a key that is misspelt": (
        lambda m: of(m, "fix.detected", "failed")[0].update(gaurd="x"),
        "$.transitions[2].gaurd: warning: unknown key: it means nothing; did you mean guard?",
    ),
    "a key of a state that means nothing": (
        lambda m: m["states"]["merging"].update(colour="red"),
        "$.states.merging.colour: warning: unknown key",
    ),
    "a circle that nobody comes out of": (
        circled,
        "$.states.needs_resolve: no way leads from needs_resolve to an end",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_each_mutant_of_ours_is_found(name: str) -> None:
    mutation, words = MUTANTS[name]
    value = copy.deepcopy(OURS)
    mutation(value)
    assert value != OURS
    assert any(words in said for said in told(value)), told(value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "$: a lifecycle is an object, not a list"),
        ({"transitions": []}, "$.states: missing"),
        ({"states": []}, "$.states: not an object but a list"),
        ({"states": {"a": 1}}, "$.states.a: not an object but 1"),
        ({"states": {"a": {"type": 3}}}, "$.states.a.type: not a name but 3"),
        ({"states": {}}, "$.transitions: missing"),
        ({"states": {}, "transitions": {}}, "$.transitions: not a list but an object"),
        ({"states": {}, "transitions": ["a"]}, '$.transitions[0]: not an object but "a"'),
        ({"states": {}, "transitions": [{"from": "a", "to": "a"}]}, "$.transitions[0].event: "),
        ({"states": {}, "transitions": [{"event": "a", "from": "a"}]}, "$.transitions[0].to: "),
        (
            {"states": {}, "transitions": [{"event": "a", "from": "a", "to": 3}]},
            "$.transitions[0].to: not a name but 3",
        ),
        (
            {"states": {}, "transitions": [{"event": "e", "from": "a", "to": "a", "effects": "x"}]},
            "$.transitions[0].effects: not a list of names",
        ),
    ],
)
def test_what_has_not_the_shape_of_a_lifecycle_is_refused_with_a_path(
    value: Any, words: str
) -> None:
    assert any(said.startswith(words) for said in told(value)), told(value)
    with pytest.raises(ConfigError, match=r"x\.json"):
        spec.parse(json.dumps(value).encode(), "x.json")


def _many(count: int) -> dict[str, Any]:
    """Every name is unknown, and nearly that of another."""
    states = {f"a_long_name_of_state_{n}": {"type": "waiting"} for n in range(count)}
    ways = [{"event": "e", "from": name, "to": name.replace("state", "stare")} for name in states]
    return {"states": {**states, "begin": {"type": "initial"}}, "transitions": ways}


def _guarded(count: int) -> dict[str, Any]:
    ways = [{"event": "e", "from": "a", "to": "a", "guard": f"g{n}"} for n in range(count)]
    guards = {f"g{n}": {"fn": "f"} for n in range(count)}
    return {"states": {"a": {"type": "initial"}}, "guards": guards, "transitions": ways}


def _chain(count: int) -> dict[str, Any]:
    states = {f"s{n}": {"type": "waiting"} for n in range(count)}
    states |= {"s0": {"type": "initial"}, f"s{count}": {"type": "terminal"}}
    ways = [{"event": "e", "from": f"s{n}", "to": f"s{n + 1}"} for n in range(count)]
    return {"states": states, "transitions": ways[::-1]}


@pytest.mark.parametrize("value", [_many(3_000), _guarded(20_000), _chain(5_000)])
def test_the_largest_lifecycle_is_checked_in_a_moment(value: dict[str, Any]) -> None:
    lifecycle, problems = spec.read(value)
    assert not problems
    began = time.process_time()
    checks.problems(lifecycle)
    assert time.process_time() - began < 2
