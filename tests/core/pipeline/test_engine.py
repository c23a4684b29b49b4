"""A run goes where the rules say, always ends, and counts what it must count."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.pipeline import slow
from tests.core.pipeline.generated import RESULTS, pipelines, results

from windlass.core.errors import ConfigError, Internal, UserError
from windlass.core.pipeline import engine, spec
from windlass.core.pipeline.simulation import simulate
from windlass.core.pipeline.steps import Inline, Pipeline, ResultMapping, with_roles


def made(*steps: dict[str, Any], **more: Any) -> Pipeline:
    """A pipeline of steps by `a`, `b`, …, or by the ids that they have."""
    whole = [
        {"id": chr(97 + number), "agent": "worker", **step} for number, step in enumerate(steps)
    ]
    pipeline, problems = spec.check({"name": "made", "steps": whole, **more})
    assert pipeline is not None, problems
    return pipeline


def path(pipeline: Pipeline, said: str = "", *enabled: str) -> str:
    """The path that results lead to, and how it ends."""
    pairs = [part.partition("=")[::2] for part in said.split()]
    done = simulate(pipeline, pairs, frozenset(enabled))
    return f"{' '.join(done.visited)} {done.outcome}"


def to(jump: str) -> dict[str, str]:
    return {"jump": jump}


FIX: dict[str, Any] = {"id": "fix", "agent": "worker"}


@settings(max_examples=400, deadline=None)
@given(st.data(), st.sets(st.sampled_from(["ONE", "TWO"])))
def test_it_equals_a_second_reading_of_the_rules(data: st.DataObject, enabled: set[str]) -> None:
    value = data.draw(pipelines())
    given_ = data.draw(results(value))
    pipeline, problems = spec.check(value)
    assert pipeline is not None, problems
    pairs = [(name, result) for name, listed in given_.items() for result in listed]
    done = simulate(pipeline, pairs, frozenset(enabled))
    assert (done.visited, done.outcome) == slow.simulate(value, given_, enabled)


@settings(max_examples=200, deadline=None)
@given(pipelines(), st.randoms(use_true_random=False))
def test_whatever_steps_give_a_run_ends_within_its_bounds(value: Any, random: Any) -> None:
    pipeline, _ = spec.check(value)
    assert pipeline is not None
    bound = 0
    for step in pipeline.steps:
        inlines = [one for one in step.on_result.values() if isinstance(one, Inline)]
        bound += step.max + sum(inline.max for inline in inlines)
    state = engine.start(pipeline)
    for _ in range(bound):
        if state.outcome:
            break
        state = engine.advance(pipeline, state, random.choice(RESULTS))
    assert state.outcome
    with pytest.raises(Internal, match="is over"):
        engine.advance(pipeline, state, "PASS")


def test_results_go_where_nobody_says_otherwise() -> None:
    assert path(made({}, {}, {})) == "a b c success"
    assert path(made({}, {}), "b=FIX") == "a b a b success"
    assert path(made({}, {}), "a=SKIP b=FAIL") == "a b abort"
    assert path(made({}), "a=FIX a=FIX") == "a a a success", "prev at the first step is self"
    assert path(made({}), "a=UNKNOWN") == "a abort", "no handler and no mapping"


def test_mappings_of_the_pipeline_go_before_those_of_the_role() -> None:
    role = {"worker": {"SKIP": ResultMapping(jump="abort"), "FAIL": ResultMapping(jump="next")}}
    pipeline = with_roles(made({}, {}, result_mappings={"SKIP": {"default_jump": "self"}}), role)
    assert path(pipeline, "a=SKIP b=FAIL") == "a a b success"
    own = made({"on_result": {"SKIP": to("next")}}, result_mappings={"SKIP": {"jump": "abort"}})
    assert path(own, "a=SKIP") == "a success"
    silent = with_roles(made({}, result_mappings={"FAIL": {"status": "failure"}}), role)
    assert path(silent, "a=FAIL") == "a success", "a mapping without a jump says nothing of it"


def test_visits_are_never_reset_and_lead_to_on_max() -> None:
    assert path(made({}, {"max": 2}), "b=FIX b=FIX b=FIX") == "a b a b a success"
    assert path(made({}, {"max": 1, "on_max": "abort"}), "b=FIX") == "a b a abort"
    looped = made({"max": 1, "on_max": "b"}, {"max": 1, "on_max": "prev"})
    assert path(looped, "b=FIX") == "a b abort", "back through on_max alone"
    assert path(made({"max": 1, "on_max": "self"}), "a=FIX") == "a abort"
    assert path(made({"max": 1, "on_max": "c"}, {}, {}), "b=FIX") == "a b c success"


def test_a_step_that_is_not_enabled_is_passed_over_from_wherever() -> None:
    pipeline = made({}, {"enabled_by": "PLAN"}, {"max": 2})
    assert path(pipeline) == "a c success"
    assert path(pipeline, "", "PLAN") == "a b c success"
    assert path(pipeline, "c=FIX c=FIX") == "a c c success", "prev is b, which leads to c"
    assert path(made({"enabled_by": "NO"})) == " success"


def test_an_inline_step_returns_to_its_parent_and_is_counted_by_handler() -> None:
    pipeline = made({}, {"max": 9, "on_result": {"FIX": {**FIX, "max": 2}, "FAIL": FIX}}, {})
    assert path(pipeline, "b=FIX") == "a b b:fix b c success"
    assert path(pipeline, "b=FIX fix=FAIL") == "a b b:fix b c success", "no handler: parent again"
    assert path(pipeline, "b=FIX b=FIX b=FIX") == "a b b:fix b b:fix b c success", "on_max: next"
    mixed = "a b b:fix b b:fix b b:fix b c success"
    assert path(pipeline, "b=FIX b=FIX b=FAIL") == mixed, "handlers are counted apart"
    jumps = {
        **FIX,
        "max": 1,
        "on_max": "prev",
        "on_result": {"FAIL": to("abort"), "SKIP": to("prev")},
    }
    other = made({}, {"max": 9, "on_result": {"FIX": jumps}}, {})
    assert path(other, "b=FIX fix=FAIL") == "a b b:fix abort"
    assert path(other, "b=FIX fix=SKIP") == "a b b:fix a b c success", "seen from the parent"
    assert path(other, "b=FIX b=FIX") == "a b b:fix b a b c success", "on_max from the parent"
    assert path(made({"max": 1, "on_result": {"FIX": FIX}}, {}), "a=FIX") == "a a:fix b success"


def test_the_third_of_the_same_result_that_is_not_final_is_a_failure() -> None:
    again: dict[str, Any] = {"max": 9, "on_result": {"FIX": to("self"), "UNKNOWN": to("self")}}
    assert path(made(again), "a=FIX a=FIX a=FIX") == "a a a abort"
    assert path(made(again), "a=FIX a=FIX a=UNKNOWN a=FIX a=FIX") == "a a a a a a success"
    goes_on = {**again, "on_result": {**again["on_result"], "FAIL": to("self")}}
    assert path(made(goes_on), "a=FIX a=FIX a=FIX a=FIX a=PASS") == "a a a a a success"
    between = made({"max": 9}, {"max": 9})
    assert path(between, "b=FIX b=FIX b=FIX") == "a b a b a b abort", "of one step, whoever ran"
    mended = made({"max": 9, "on_result": {"FIX": {**FIX, "max": 2}}})
    four = "a=FIX a=FIX a=FIX"
    assert path(mended, four) == "a a:fix a a:fix a success", "an inline step begins it anew"


def test_a_rejected_change_goes_back_without_asking_for_max() -> None:
    pipeline = made({}, {"max": 1, "readonly": True}, {"max": 1})
    state = engine.start(pipeline)
    for _ in range(3):
        state = engine.advance(pipeline, state, "PASS")
    for _ in range(4):
        state = engine.reject(pipeline, state)
        assert engine.label(pipeline, state) == "b:generic-fix"
        state = engine.advance(pipeline, state, "PASS")
        assert engine.label(pipeline, state) == "b"
        state = engine.advance(pipeline, state, "PASS")
        assert state.outcome == "success", "c has had its visits, and leads on"
    named = made({"max": 1}, {}, on_reject="a")
    over = engine.advance(named, engine.advance(named, engine.start(named), "PASS"), "PASS")
    assert engine.label(named, engine.reject(named, over)) == "a"
    with pytest.raises(Internal, match="rejected yet"):
        engine.reject(named, engine.start(named))


def test_results_for_nobody_and_of_no_kind_are_refused() -> None:
    pipeline = made({"on_result": {"FIX": FIX}})
    assert path(pipeline, "a=FIX a:fix=FAIL") == "a a:fix a success"
    for said, words in (("z=PASS", "no step 'z'"), ("a=MAYBE", "'MAYBE' is no result")):
        with pytest.raises(UserError, match=words):
            path(pipeline, said)


def test_a_round_without_end_in_sight_is_refused_and_many_steps_are_not() -> None:
    endless = made({"max": 10**12, "on_result": {"PASS": to("self")}})
    with pytest.raises(ConfigError, match="more than 1000000 steps"):
        path(endless)
    many = made(*({"id": f"s{number}", "max": 1} for number in range(spec.MOST_STEPS)))
    assert path(many).count(" ") == spec.MOST_STEPS
