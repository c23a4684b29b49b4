"""The roles of a run: what each says about the steps of its pipeline, as that is when it begins."""

from __future__ import annotations

from typing import NamedTuple

from windlass.core.config import Config
from windlass.core.pipeline import engine
from windlass.core.pipeline.step_roles import StepRole
from windlass.core.pipeline.steps import Inline, Pipeline
from windlass.core.runs import overrides, planning
from windlass.core.runs.loop import ROLES
from windlass.core.runs.overrides import Overrides
from windlass.project import step_roles


class RunRoles(NamedTuple):
    """What a run keeps of roles."""

    roles: dict[str, StepRole]
    """By name; one that nobody knows says what is usual, and is not here."""
    at_steps: dict[str, StepRole]
    """Those of steps of which the pipeline itself says more, by the step's id."""
    sums_up: bool
    """Whether the repository has a role of its own that sums up iterations."""
    decides: bool
    """And one that says what becomes of a run that stopped without a result."""

    @property
    def any_live(self) -> bool:
        """Whether some session is to be one that can be joined."""
        return any(role.mode == "live" for role in (*self.roles.values(), *self.at_steps.values()))


def of_run(
    pipeline: Pipeline, of_task: str, place: str, config: Config, limits: Overrides
) -> RunRoles:
    """The roles that a run of a task comes to; raises what is wrong with one."""
    known = {*step_roles.names(place, config), *ROLES.values()}
    first = planning.first_work(pipeline)
    wanted = {of_task, engine.GENERIC_FIX.agent, *ROLES.values()}
    at_steps = {}
    for step in pipeline.steps:
        name = of_task if of_task and step.agent == first else step.agent
        wanted |= {step.agent}
        wanted |= {each.agent for each in step.on_result.values() if isinstance(each, Inline)}
        if step.config and name in known:
            said = overrides.applied(config, name, limits)
            at_steps[step.id] = step_roles.find(name, place, said, at_step=step.config)
    roles = {
        name: step_roles.find(name, place, overrides.applied(config, name, limits))
        for name in wanted & known
    }
    sums_up, decides = (step_roles.is_own(ROLES[duty], place) for duty in ("summary", "resume"))
    return RunRoles(roles, at_steps, sums_up, decides)
