"""A tree that is not green without the network is tried once more with it, in the same run."""

from __future__ import annotations

from typing import Any

from windlass.core import jobs, shapes
from windlass.core.gate import job
from windlass.core.gate.job import GateState
from windlass.core.gate.spec import Check, GateSpec
from windlass.core.jobs import Decision, News

GATE = GateSpec(checks=(Check(name="lint", run="l"), Check(name="tests", run="t")))


def begun(*, network_tree: str) -> dict[str, Any]:
    """A run whose layer is made."""
    state = GateState(tree="a", gate=GATE, todo=("lint", "tests"), network_tree=network_tree)
    return advance(job.begun(state), job.LAYER, 1, {"key": "k"}).state


def advance(state: dict[str, Any], what: str, number: int, result: Any) -> Decision:
    """What follows from the end of an effect; without a result it failed."""
    status = "done" if result is not None else "failed"
    error = {"message": "no box"} if result is None else None
    data = {"what": what, "number": number, "status": status, "result": result, "error": error}
    return job.advance(state, News(id=1, kind=jobs.EFFECT, data=data, at=0.0))


def ended(state: dict[str, Any], number: int, outcome: str | None, name: str) -> Decision:
    """What follows from the end of a check."""
    result = None if outcome is None else {"name": name, "outcome": outcome}
    return advance(state, job.CHECK, number, result)


def first_try(network_tree: str, outcome: str) -> Decision:
    """What follows when the first try is over."""
    state = ended(begun(network_tree=network_tree), 2, "passed", "lint").state
    return ended(state, 3, outcome, "tests")


def test_a_green_tree_is_not_tried_again() -> None:
    decision = first_try("b", "passed")
    assert decision.effects == ()
    assert decision.result is not None
    assert decision.result["outcome"] == "passed"


def test_without_another_tree_there_is_one_try() -> None:
    decision = first_try("", "failed")
    assert decision.result is not None
    assert decision.result["outcome"] == "failed"


def test_every_check_is_tried_with_the_network_on_the_other_tree() -> None:
    decision = first_try("b", "failed")
    assert decision.result is None
    assert [(e.data["check"], e.data["tree"]) for e in decision.effects] == [
        ("lint", "b"),
        ("tests", "b"),
    ]
    assert all(effect.data["gate"]["network"] for effect in decision.effects)


def test_the_second_try_counts_where_only_that_is_green() -> None:
    state = ended(first_try("b", "failed").state, 4, "passed", "lint").state
    decision = ended(state, 5, "passed", "tests")
    over = shapes.convert(decision.state, GateState)
    assert decision.result is not None
    assert decision.result["outcome"] == "passed"
    assert (over.tree, over.gate.network) == ("b", True)
    assert over.before is not None
    assert [end.outcome for end in over.before.ends] == ["passed", "failed"]


def test_else_the_first_one_counts_and_the_other_is_kept() -> None:
    state = ended(first_try("b", "failed").state, 4, None, "lint").state
    decision = ended(state, 5, "could-not-run", "tests")
    over = shapes.convert(decision.state, GateState)
    assert decision.result is not None
    assert decision.result["outcome"] == "failed"
    assert (over.tree, over.gate) == ("a", GATE)
    assert over.before is not None
    assert [(end.name, end.why) for end in over.before.ends] == [("lint", "no box"), ("tests", "")]
