"""The step that plans a task: before anything of it is done, or alone."""

from __future__ import annotations

import msgspec

from windlass.core.pipeline.steps import Pipeline, Step

ROLE = "plan-mode"
_STEP = Step(id="planning", agent=ROLE, readonly=True)


def with_plan(pipeline: Pipeline) -> Pipeline:
    """The pipeline with planning before it, unless it plans by itself."""
    if _STEP.id in pipeline.places or any(step.agent == ROLE for step in pipeline.steps):
        return pipeline
    return msgspec.structs.replace(pipeline, steps=(_STEP, *pipeline.steps))


def alone() -> Pipeline:
    """The pipeline of a run that plans its task, and does nothing of it."""
    return Pipeline(name="plan", steps=(_STEP,))


def first_work(pipeline: Pipeline) -> str:
    """The role of the first step that does something of the task: planning does not."""
    roles = [step.agent for step in pipeline.steps]
    return next((role for role in roles if role != ROLE), roles[0])
