"""The roles of steps as files: those that ship, and a repository's own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import resources
from types import MappingProxyType
from typing import Any

import msgspec

from windlass.core import config_roles, roles
from windlass.core.config_roles import RoleSettings
from windlass.core.errors import ConfigError, NotFound
from windlass.core.json_text import Problem
from windlass.core.pipeline import spec, step_roles, steps
from windlass.core.pipeline.step_roles import StepRole
from windlass.core.pipeline.steps import Pipeline
from windlass.core.printable import printable_line
from windlass.core.roles import EVERYBODY, LOOP_SUPERVISOR, SHIPPED, STEP_ALIASES, STEPS, RoleFile
from windlass.project import folder


def names(windlass: str) -> list[str]:
    """The roles that steps may name: those that ship, then a repository's own."""
    shipped = [*STEPS, *STEP_ALIASES, *SHIPPED]
    return [*shipped, *sorted(_own(windlass).difference(shipped))]


def find(
    name: str,
    windlass: str,
    *,
    configured: RoleSettings | None = None,
    at_step: Mapping[str, Any] = MappingProxyType({}),
) -> StepRole:
    """A role by its name, or by what the ancestors called it."""
    if name not in (*names(windlass), LOOP_SUPERVISOR):
        raise NotFound(f"no role {printable_line(name)}", f"there are {', '.join(names(windlass))}")
    return step_roles.define(
        name,
        shipped=_shipped(STEP_ALIASES.get(name, name)),
        file=_file(name, windlass),
        configured=configured or RoleSettings(),
        at_step=at_step,
    )


def is_own(name: str, windlass: str) -> bool:
    """Whether a repository has a file of its own for a role."""
    return name in _own(windlass)


def applied(pipeline: Pipeline, windlass: str) -> Pipeline:
    """A pipeline with what its roles say about results; roles that nobody knows say nothing."""
    known = {step.agent for step in pipeline.steps}.intersection(names(windlass))
    return steps.with_roles(pipeline, {name: find(name, windlass).mappings for name in known})


def problems(value: Any, windlass: str) -> list[Problem]:
    """What is wrong with the roles that a pipeline's steps name; who is unknown is not judged."""
    known, found = set(names(windlass)), []
    for path, name in spec.agents(value):
        if name in known:
            try:
                find(name, windlass)
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


def _shipped(name: str) -> RoleFile | None:
    if name not in (*STEPS, *SHIPPED, LOOP_SUPERVISOR):
        return None
    where = ("steps", f"{name}.md") if name in STEPS else (f"{name}.md",)
    path = resources.files("windlass.data").joinpath("roles", *where)
    return roles.parse(path.read_text("utf-8"), origin=str(path))


def _file(name: str, windlass: str) -> RoleFile | None:
    if name not in _own(windlass):
        return None
    path = os.path.join(windlass, "roles", f"{name}.md")
    try:
        return roles.parse(folder.read(path).decode(), origin=path)
    except UnicodeDecodeError:
        raise ConfigError(f"{printable_line(path)} is no UTF-8 text", "save it as UTF-8") from None


def _own(windlass: str) -> set[str]:
    try:
        with os.scandir(os.path.join(windlass, "roles")) as entries:
            files = [entry.name for entry in entries if entry.is_file()]
    except OSError:  # there is none, or none that could be listed
        return set()
    found = {name.removesuffix(".md") for name in files if name.endswith(".md")}
    return {name for name in found if name != EVERYBODY and not config_roles.problem(name)}
