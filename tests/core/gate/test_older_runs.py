"""Runs that an older release has begun go on: their state is made one of now."""

from __future__ import annotations

from typing import Any

from windlass.core import jobs
from windlass.core.gate import job
from windlass.core.gate.spec import Check, GateSpec
from windlass.core.ids import RepoId
from windlass.core.jobs import Job, JobId, News


def older(**state: Any) -> dict[str, Any]:
    """A run as it was kept before it knew authors, made one of now."""
    spec = GateSpec(checks=(Check(name="unit", run="true"),))
    begun = job.begun(job.GateState(tree="t", gate=spec, todo=("unit",)))
    kept = {name: begun[name] for name in ("tree", "gate", "todo", "ends", "layer")}
    row = Job(
        id=JobId("job-1"), kind="gate", subject="t", repo=RepoId("r"), state={**kept, **state},
        version=1, created_at=0.0, updated_at=0.0,
    )  # fmt: skip
    return job.KIND.upgraded(row)


def test_one_that_was_just_begun_makes_its_layer() -> None:
    """The order for that has what is asked for now."""
    decision = job.advance(older(), News(id=1, kind=jobs.BEGUN, data={}, at=0.0))
    (effect,) = decision.effects
    assert (effect.what, effect.data["authors"], effect.data["approved"]) == (job.LAYER, (), False)


def test_one_that_had_its_layer_knows_what_the_tools_were_by_that() -> None:
    """It stood beside the layer then."""
    state = older(layer={"key": "k", "why": "", "log": ""}, versions="v")
    assert state["layer"] == {"key": "k", "why": "", "log": "", "versions": "v"}
