"""A pipeline read from JSON: each thing that is wrong with it is a sentence with a path."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from windlass.core import json_text
from windlass.core.json_text import Problem, key, kind
from windlass.core.pipeline.steps import (
    DEFAULT_MAX,
    NEXT,
    RESULTS,
    WORDS,
    Inline,
    Pipeline,
    ResultMapping,
    Step,
)

MOST_STEPS = 200
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_ID_REMEDY = "use letters, digits, '.', '_' and '-', at most 100"
_KEYS = {
    "name": "",
    "steps": "",
    **dict.fromkeys(("result_mappings", "on_reject", "description", "version", "$schema"), ""),
}
_STEP_KEYS = (
    *("id", "agent", "max", "on_max", "readonly", "commit_after", "enabled_by"),
    *("config", "hooks", "on_result", "description"),
)
_INLINE_KEYS = ("id", "agent", "max", "on_max", "on_result", "description")
_MAPPING_KEYS = ("status", "exit_code", "default_jump", "jump", "description")


def parse(data: bytes, name: str, *, roles: Collection[str] | None = None) -> Pipeline:
    """Reads a pipeline, or raises what is wrong with it."""
    pipeline, problems = check(json_text.read(data, name), roles=roles)
    json_text.require(problems, name)
    if pipeline is None:
        raise ValueError(name)
    return pipeline


def check(
    value: Any, *, roles: Collection[str] | None = None
) -> tuple[Pipeline | None, list[Problem]]:
    """A pipeline, if nothing is wrong with it, and its problems.

    Roles are judged only where they are known.
    """
    reader = _Reader(roles)
    pipeline = reader.pipeline(value)
    bad = any(problem.level == "error" for problem in reader.problems)
    return (None if bad else pipeline), reader.problems


class NamedRole(NamedTuple):
    """A role that a step of a pipeline names, and where."""

    path: str
    name: str
    at_step: Mapping[str, Any]
    """What the step itself says of it."""


def agents(value: Any) -> Iterator[NamedRole]:
    """The roles that a pipeline's steps and their inline steps name."""
    steps = value.get("steps") if isinstance(value, dict) else None
    for number, step in enumerate(steps if isinstance(steps, list) else ()):
        path = f"$.steps[{number}]"
        handlers = step.get("on_result") if isinstance(step, dict) else None
        inside = handlers.items() if isinstance(handlers, dict) else ()
        named = [(path, step), *((f"{path}.on_result.{name}", held) for name, held in inside)]
        for at, held in named:
            if isinstance(held, dict) and isinstance(held.get("agent"), str):
                config = held.get("config")
                said = config if isinstance(config, dict) else {}
                yield NamedRole(key(at, "agent"), held["agent"], said)


def data(pipeline: Pipeline) -> dict[str, Any]:
    """A pipeline for programs, in the format that it is written in."""
    return {
        "name": pipeline.name,
        "description": pipeline.description,
        "steps": [_step_data(step) for step in pipeline.steps],
        "result_mappings": {
            name: {
                "status": mapping.status,
                "exit_code": mapping.exit_code,
                "default_jump": mapping.jump or None,
            }
            for name, mapping in pipeline.result_mappings.items()
        },
        "on_reject": pipeline.on_reject or None,
    }


def _step_data(step: Step) -> dict[str, Any]:
    return {
        "id": step.id,
        "agent": step.agent,
        "max": step.max,
        "on_max": step.on_max,
        "readonly": step.readonly,
        "commit_after": step.commit_after,
        "enabled_by": step.enabled_by or None,
        "config": step.config,
        "on_result": {
            result: _inline_data(handler) if isinstance(handler, Inline) else {"jump": handler}
            for result, handler in step.on_result.items()
        },
    }


def _inline_data(inline: Inline) -> dict[str, Any]:
    return {
        "id": inline.id,
        "agent": inline.agent,
        "max": inline.max,
        "on_max": inline.on_max,
        "on_result": {result: {"jump": jump} for result, jump in inline.on_result.items()},
    }


class _Reader:
    """Goes through the value once for its shape, and then for what names what."""

    def __init__(self, roles: Collection[str] | None) -> None:
        self.problems: list[Problem] = []
        self._roles = roles
        self._roles_said = False
        self._jumps: list[tuple[str, str]] = []
        """Every jump with its path: where they lead is known in the end."""

    def _error(self, path: str, what: str, remedy: str) -> None:
        self.problems.append(Problem(path, what, remedy))

    def pipeline(self, value: Any) -> Pipeline | None:
        """Reads the whole."""
        if not isinstance(value, dict):
            self._error("$", f"a pipeline is an object, not {kind(value)}", _SHAPE)
            return None
        self._unknown("$", value, tuple(_KEYS))
        name = self._text("$", value, "name", required=True)
        numbered = self._steps(value)
        self._unique(numbered)
        steps = list(numbered.values())
        mappings = self._mappings("$.result_mappings", value.get("result_mappings"))
        on_reject = self._text("$", value, "on_reject")
        ids = {step.id for step in steps}
        if on_reject and on_reject not in ids:
            self._error("$.on_reject", f"no step {on_reject!r}", "name one of the steps")
        for path, jump in self._jumps:
            if jump not in WORDS and jump not in ids:
                self._error(
                    path, f"no step {jump!r}", "jump to self, prev, next, abort or a step's id"
                )
        return Pipeline(
            name=name,
            steps=tuple(steps),
            result_mappings=mappings,
            on_reject=on_reject,
            description=self._text("$", value, "description"),
        )

    def _steps(self, value: dict[str, Any]) -> dict[int, Step]:
        steps = value.get("steps")
        if not isinstance(steps, list) or not steps:
            what = "there are no steps"
            if "steps" in value and steps != []:
                what = f"steps are a list, not {kind(steps)}"
            self._error("$.steps", what, 'write a list of {"id": …, "agent": …}')
            return {}
        if len(steps) > MOST_STEPS:
            what = f"there are {len(steps)} steps, and {MOST_STEPS} is the most"
            self._error("$.steps", what, "give tasks pipelines of their own")
            return {}
        found = {n: self._step(f"$.steps[{n}]", step) for n, step in enumerate(steps)}
        return {number: step for number, step in found.items() if step is not None}

    def _step(self, path: str, value: Any) -> Step | None:
        if not isinstance(value, dict):
            self._error(path, f"a step is an object, not {kind(value)}", _SHAPE)
            return None
        self._unknown(path, value, _STEP_KEYS)
        config = value.get("config")
        if config is not None and not isinstance(config, dict):
            self._error(key(path, "config"), f"not an object but {kind(config)}", "write {…}")
            config = None
        if value.get("hooks") not in (None, {}, []):
            remedy = "take them out: what has to run belongs into the gate, or into a role's words"
            self._error(key(path, "hooks"), "a step runs no hooks", remedy)
        return Step(
            id=self._id(path, value),
            agent=self._agent(path, value),
            max=self._max(path, value),
            on_max=self._jump(path, value, "on_max", NEXT),
            readonly=self._flag(path, value, "readonly"),
            commit_after=self._flag(path, value, "commit_after"),
            enabled_by=self._text(path, value, "enabled_by"),
            config=config or {},
            on_result=self._handlers(key(path, "on_result"), value.get("on_result")),
        )

    def _handlers(self, path: str, value: Any) -> dict[str, str | Inline]:
        found: dict[str, str | Inline] = {}
        for result, handler, at in self._results(path, value):
            if set(handler) == {"jump"} and handler["jump"] is not None:
                found[result] = self._jump(at, handler, "jump", NEXT)
            elif "jump" in handler:
                self._error(
                    at, "a jump and something else", 'write {"jump": …}, or an inline step alone'
                )
            elif not handler:
                self._error(at, "nothing that follows", 'write {"jump": …}, or an inline step')
            else:
                found[result] = self._inline(at, handler)
        return found

    def _inline(self, path: str, value: dict[str, Any]) -> Inline:
        self._unknown(path, value, _INLINE_KEYS)
        jumps: dict[str, str] = {}
        for result, handler, at in self._results(key(path, "on_result"), value.get("on_result")):
            if set(handler) == {"jump"} and handler["jump"] is not None:
                jumps[result] = self._jump(at, handler, "jump", NEXT)
            else:
                self._error(at, "not a jump", 'inside an inline step only {"jump": …} may follow')
        return Inline(
            id=self._id(path, value),
            agent=self._agent(path, value),
            max=self._max(path, value),
            on_max=self._jump(path, value, "on_max", NEXT),
            on_result=jumps,
        )

    def _results(self, path: str, value: Any) -> list[tuple[str, dict[str, Any], str]]:
        """The members of an object by results, each an object itself, with their paths."""
        if value is None:
            return []
        if not isinstance(value, dict):
            self._error(path, f"not an object but {kind(value)}", 'write {"FIX": {"jump": …}}')
            return []
        found = []
        for result, member in value.items():
            at = key(path, result)
            if result not in RESULTS:
                self._error(at, f"{result!r} is no result", f"one of {', '.join(RESULTS)}")
            elif not isinstance(member, dict):
                self._error(at, f"not an object but {kind(member)}", 'write {"jump": …}')
            else:
                found.append((result, member, at))
        return found

    def _mappings(self, path: str, value: Any) -> dict[str, ResultMapping]:
        found = {}
        for result, member, at in self._results(path, value):
            self._unknown(at, member, _MAPPING_KEYS)
            code = member.get("exit_code")
            if code is not None and (isinstance(code, bool) or not isinstance(code, int)):
                self._error(key(at, "exit_code"), f"{kind(code)} is no exit code", "write 0 to 255")
                code = None
            name = "jump" if "jump" in member else "default_jump"
            found[result] = ResultMapping(
                status=self._text(at, member, "status"),
                exit_code=code,
                jump=self._jump(at, member, name, ""),
            )
        return found

    def _unknown(self, path: str, value: dict[str, Any], known: tuple[str, ...]) -> None:
        for name in value:
            if name not in known:
                remedy = f"it means nothing; known are {', '.join(known)}"
                self.problems.append(Problem(key(path, name), "unknown key", remedy, "warning"))

    def _text(self, path: str, value: dict[str, Any], name: str, *, required: bool = False) -> str:
        text = value.get(name)
        if isinstance(text, str) and (text.strip() or not required):
            return text
        if text is None and not required:
            return ""
        what = "missing" if text is None else f"not a text but {kind(text)}"
        self._error(key(path, name), "is empty" if text == "" else what, f"give a {name}")
        return ""

    def _id(self, path: str, value: dict[str, Any]) -> str:
        text = self._text(path, value, "id", required=True)
        if text and not _ID.fullmatch(text):
            self._error(key(path, "id"), f"{kind(text)} cannot be a step's id", _ID_REMEDY)
        if text in WORDS:
            self._error(key(path, "id"), f"{text!r} is a jump, not an id", "use another id")
        return text

    def _agent(self, path: str, value: dict[str, Any]) -> str:
        text = self._text(path, value, "agent", required=True)
        if text and self._roles is not None and text not in self._roles:
            listed = "one that `wl pipeline roles` lists"
            if not self._roles_said:
                listed, self._roles_said = ", ".join(sorted(self._roles)), True
            remedy = f"write .windlass/roles/{text}.md, or use {listed}"
            self._error(key(path, "agent"), f"no role {kind(text)}", remedy)
        return text

    def _max(self, path: str, value: dict[str, Any]) -> int:
        given = value.get("max", DEFAULT_MAX)
        if isinstance(given, float) and given.is_integer():
            given = int(given)
        if isinstance(given, bool) or not isinstance(given, int) or given < 1:
            self._error(
                key(path, "max"),
                f"{kind(given)} is no bound: a step needs a finite max",
                "write a whole number from 1 on",
            )
            return DEFAULT_MAX
        return given

    def _jump(self, path: str, value: dict[str, Any], name: str, usual: str) -> str:
        jump = value.get(name)
        if jump is None:
            return usual
        if not isinstance(jump, str) or not jump:
            self._error(key(path, name), f"{kind(jump)} is no jump", "write a word or a step's id")
            return usual
        self._jumps.append((key(path, name), jump))
        return jump

    def _flag(self, path: str, value: dict[str, Any], name: str) -> bool:
        flag = value.get(name, False)
        if not isinstance(flag, bool):
            self._error(key(path, name), f"{kind(flag)} is neither true nor false", "write one")
            return False
        return flag

    def _unique(self, steps: dict[int, Step]) -> None:
        first: dict[str, int] = {}
        for number, step in steps.items():
            if step.id and step.id in first:
                path = f"$.steps[{number}].id"
                what = f"{step.id!r} is the id of $.steps[{first[step.id]}] too"
                self._error(path, what, "give one of them another id")
            first.setdefault(step.id, number)
        for number, step in steps.items():
            for result, handler in step.on_result.items():
                if isinstance(handler, Inline) and handler.id and handler.id in first:
                    path = f"$.steps[{number}].on_result.{result}.id"
                    what = f"{handler.id!r} is the id of $.steps[{first[handler.id]}] too"
                    self._error(path, what, "give the inline step another id")


_SHAPE = 'write {"name": …, "steps": [{"id": …, "agent": …}]}'
