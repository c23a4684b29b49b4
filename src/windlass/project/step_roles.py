"""The roles of steps: which a pipeline may name, and what they say of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from windlass.core.config import Config
from windlass.core.errors import ConfigError
from windlass.core.json_text import Problem
from windlass.core.pipeline import spec, steps
from windlass.core.pipeline.step_roles import StepRole
from windlass.core.pipeline.steps import Pipeline
from windlass.project import role_files


def names(windlass: str, config: Config | None = None) -> list[str]:
    """The roles that steps may name: those that ship, then a repository's own."""
    return role_files.of_steps(config or Config(), _root(windlass))


def find(
    name: str,
    windlass: str,
    config: Config | None = None,
    *,
    at_step: Mapping[str, Any] = MappingProxyType({}),
) -> StepRole:
    """A role by its name, or by what the ancestors called it."""
    return role_files.find_of_steps(config or Config(), _root(windlass), name, at_step=at_step)


def is_own(name: str, windlass: str) -> bool:
    """Whether a repository has a file of its own for a role."""
    root = _root(windlass)
    return root is not None and role_files.added(root, name) is not None


def applied(pipeline: Pipeline, windlass: str) -> Pipeline:
    """A pipeline with what its roles say about results; roles that nobody knows say nothing."""
    known = {step.agent for step in pipeline.steps}.intersection(names(windlass))
    return steps.with_roles(pipeline, {name: find(name, windlass).mappings for name in known})


def problems(value: Any, windlass: str) -> list[Problem]:
    """What is wrong with the roles that a pipeline's steps name; who is unknown is not judged."""
    known, found = set(names(windlass)), []
    for path, name, at_step in spec.agents(value):
        if name in known:
            try:
                find(name, windlass, at_step=at_step)
            except ConfigError as error:
                found.append(Problem(path, error.message, error.hint))
    return found


def data(role: StepRole) -> dict[str, Any]:
    """A role for programs."""
    return {
        **msgspec.to_builtins(role),
        "mappings": {
            result: {
                "status": mapping.status,
                "exit_code": mapping.exit_code,
                "default_jump": mapping.jump,
            }
            for result, mapping in role.mappings.items()
        },
    }


def _root(windlass: str) -> str | None:
    """The repository of a `.windlass` folder; what ships has none."""
    return os.path.dirname(windlass) or None
