"""What Wiggum's `defaults` say that results mean where no agent says so: carried into pipelines.

Here a pipeline's own mappings go before those of roles, and there the agent's went before these:
a step whose agent says something itself gets that as its own jump.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from windlass.core import json_text
from windlass.core.migration.findings import Findings
from windlass.core.pipeline import built_in, spec, step_roles
from windlass.core.pipeline.steps import ABORT, RESULTS, ResultMapping
from windlass.core.roles import STEP_ALIASES

_KEY = "result_mappings"
_UNKNOWN = ResultMapping(status="unknown", exit_code=1)


class Fallbacks(msgspec.Struct, kw_only=True):
    """What results mean where no agent says so, and what agents say."""

    source: str = ""
    mappings: dict[str, dict[str, Any]] = {}
    own: dict[str, dict[str, str]] = {}
    """The jumps that an agent gives itself, by its role here."""

    def carry(self, found: Findings, pipeline: dict[str, Any], target: str) -> dict[str, Any]:
        """A pipeline with those that it says nothing of, and a line about each."""
        for result, mapping in self.mappings.items():
            said = pipeline.get(_KEY) or {}
            if not isinstance(said, dict) or result in said:
                continue
            more = {**self._with_own(pipeline, result), _KEY: {**said, result: mapping}}
            where = f"{self.source}.{_KEY}.{result}"
            before = set(_errors(pipeline))
            if wrong := [error for error in _errors(more) if error not in before]:
                found.leave(where, f"not carried into .windlass/{target}: {wrong[0]}")
                continue
            pipeline = more
            found.leave(where, f"goes into {_KEY} of .windlass/{target}")
        return pipeline

    def _with_own(self, pipeline: dict[str, Any], result: str) -> dict[str, Any]:
        steps = pipeline.get("steps")
        if not isinstance(steps, list):
            return pipeline
        return {**pipeline, "steps": [self._step(step, result) for step in steps]}

    def _step(self, step: Any, result: str) -> Any:
        if not isinstance(step, dict):
            return step
        agent, handlers = str(step.get("agent")), step.get("on_result") or {}
        jump = self.own.get(STEP_ALIASES.get(agent, agent), {}).get(result)
        if jump is None or not isinstance(handlers, dict) or result in handlers:
            return step
        return {**step, "on_result": {**handlers, result: {"jump": jump}}}

    def leave(self, found: Findings, why: str) -> None:
        """Says of each that it is not carried over."""
        for result in self.mappings:
            found.leave(f"{self.source}.{_KEY}.{result}", why)


def _errors(pipeline: dict[str, Any]) -> list[str]:
    problems = spec.check(pipeline, roles=built_in.ROLES)[1]
    return [str(problem) for problem in problems if problem.level == "error"]


def _parts(result: str, said: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """The status, exit code and jump of a mapping, what it does not say as it is usual here."""
    usual = step_roles.MAPPINGS.get(result, _UNKNOWN)
    jump = said.get("default_jump", said.get("jump", usual.jump)) or ABORT
    return said.get("status", usual.status), said.get("exit_code", usual.exit_code), jump


def meant(result: str, said: Mapping[str, Any]) -> tuple[Any, Any, Any] | None:
    """What a mapping says; nothing where that is what is usual here."""
    found = _parts(result, said)
    return None if found == _parts(result, {}) else found


def read(found: Findings, said: Any, source: str, agents: Mapping[str, Any]) -> Fallbacks:
    """Reads `defaults`; whatever else they say is named, since nothing here is of all roles."""
    if not isinstance(said, dict):
        found.leave(source, f"it is {json_text.kind(said)}, not an object")
        said = {}
    kept = Fallbacks(source=source, own=_own(agents))
    for key, value in said.items():
        if key != _KEY:
            why = "nothing here is of all roles: give it to those that need it, [roles.NAME]"
            found.leave(f"{source}.{key}", why)
        elif not isinstance(value, dict):
            found.leave(f"{source}.{key}", f"it is {json_text.kind(value)}, not an object")
        else:
            kept.mappings |= _mappings(found, value, f"{source}.{key}")
    return kept


def _mappings(found: Findings, value: Mapping[str, Any], where: str) -> dict[str, dict[str, Any]]:
    mappings = {}
    for result, said in value.items():
        if result not in RESULTS or not isinstance(said, dict):
            found.leave(f"{where}.{result}", "no such result, or no object")
        elif meant(result, said):
            mappings[result] = said
    return mappings


def _own(agents: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Where agents that say something of results jump."""
    own: dict[str, dict[str, str]] = {}
    for role, said in agents.items():
        mappings = said.get(_KEY) if isinstance(said, dict) else None
        for result, mapping in mappings.items() if isinstance(mappings, dict) else ():
            if isinstance(mapping, dict) and isinstance(jump := _parts(result, mapping)[2], str):
                own.setdefault(role, {})[result] = jump
    return own
