"""What a step's role says about it: its results and what they mean, how it runs, and for how long.

Voices as about any role: the configuration goes before the repository's file, and that before the
file that ships. A step of a pipeline says more than files, and less than configuration. A role of
which nobody says it may give every result.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from windlass.core import roles
from windlass.core.config_roles import RoleSettings
from windlass.core.errors import ConfigError
from windlass.core.front_matter import Value
from windlass.core.ids import RoleName
from windlass.core.pipeline.steps import (
    ABORT,
    DEFAULT_JUMPS,
    FAIL,
    FIX,
    GIVEN,
    NEXT,
    PASS,
    PREV,
    RESULTS,
    SELF,
    SKIP,
    ResultMapping,
)
from windlass.core.roles import STEP_KEYS, RoleFile

Mode: TypeAlias = Literal["once", "loop", "live"]
"""One session; one after the other until the work is done; one that a person can join."""
MODES: tuple[Mode, ...] = get_args(Mode)
MAPPINGS = {
    PASS: ResultMapping(status="success", exit_code=0, jump=DEFAULT_JUMPS[PASS]),
    FAIL: ResultMapping(status="failure", exit_code=10, jump=DEFAULT_JUMPS[FAIL]),
    FIX: ResultMapping(status="partial", exit_code=0, jump=DEFAULT_JUMPS[FIX]),
    SKIP: ResultMapping(status="success", exit_code=0, jump=DEFAULT_JUMPS[SKIP]),
}
"""What results mean where no role says otherwise."""
_JUMPS = (SELF, PREV, NEXT, ABORT)
_MOST_EXIT_CODE = 255
_LONGEST_STATUS = 100
_AT_STEP = ("mode", "iterations", "turns", "timeout", "supervisor_interval", "model")
"""What the `config` of a step may say of its role."""


class StepRole(msgspec.Struct, frozen=True, kw_only=True):
    """A role, as far as it is about steps."""

    name: str
    about: str = ""
    results: tuple[str, ...] = GIVEN
    """Those that it may give; a step that gives none is UNKNOWN."""
    mode: Mode = "once"
    readonly: bool = False
    iterations: int = 1
    """How often a loop goes round at most."""
    turns: int = 0
    """How many turns a session may take; 0 is as many as it likes."""
    timeout: int = 3600
    """How many seconds a visit may take."""
    supervisor_interval: int = 0
    """After how many iterations somebody looks at a loop; 0 is never."""
    model: str = ""
    mappings: dict[str, ResultMapping] = {}
    """What its results mean: of every one that is not UNKNOWN."""


def define(
    name: RoleName,
    *,
    shipped: RoleFile | None,
    configured: RoleSettings,
    file: RoleFile | None,
    at_step: Mapping[str, Any] = MappingProxyType({}),
) -> StepRole:
    """What a role is to steps, by all that is said about it.

    What it may do is what that means of any of its agents. What the pipeline says `at_step` goes
    before the files, and after the configuration.
    """
    role, _ = roles.define(name, shipped=shipped, configured=configured, file=file)
    said: dict[str, Any] = {}
    for source in (shipped, file):
        if source is not None:
            said |= _said(name, source.step)
    said |= _said(name, _of_step(name, at_step))
    for key in ("mode", "iterations", "turns", "timeout", "supervisor_interval", "model"):
        if (value := getattr(configured, key)) not in ("", None):
            said[key] = value
    mappings = {**MAPPINGS, **{key: said.pop(key) for key in RESULTS if key in said}}
    return StepRole(name=name, about=role.about, readonly=role.readonly, mappings=mappings, **said)


def _of_step(name: str, config: Mapping[str, Any]) -> dict[str, Value]:
    """What the `config` of a step says of its role; whatever else stands there is not ours."""
    said = {key: config[key] for key in _AT_STEP if key in config}
    for key, value in said.items():
        kind = STEP_KEYS[key]
        if type(value) is not kind or (isinstance(value, int) and value < 0):
            wanted = "a number from 0 on" if kind is int else "text"
            raise ConfigError(
                f"role {name}: {key} is {value!r} at a step of the pipeline", f"write {wanted}"
            )
    return said


def _said(name: str, step: Mapping[str, Value]) -> dict[str, Any]:
    """What a file says, as it is meant."""
    said: dict[str, Any] = dict(step)
    if "results" in said:
        said["results"] = _results(name, said["results"])
    if "mode" in said and said["mode"] not in MODES:
        raise ConfigError(
            f"role {name}: mode is {said['mode']!r}", f"write one of {', '.join(MODES)}"
        )
    for key in ("iterations", "turns", "timeout"):
        if said.get(key) == 0:
            raise ConfigError(f"role {name}: {key} is 0", "write a number from 1 on")
    for result in RESULTS:
        if result in said:
            said[result] = _mapping(name, result, said[result])
    return said


def _results(name: str, text: str) -> tuple[str, ...]:
    found = tuple(word.strip() for word in text.split(","))
    if not all(word in GIVEN for word in found) or len(set(found)) < len(found):
        raise ConfigError(f"role {name}: results are {text!r}", f"write some of {', '.join(GIVEN)}")
    return found


def _mapping(name: str, result: str, text: str) -> ResultMapping:
    """Reads `partial 0 prev`."""
    words = text.split()
    if (
        len(words) != len(("status", "code", "jump"))
        or len(words[0]) > _LONGEST_STATUS
        or not (words[1].isascii() and words[1].isdigit() and int(words[1]) <= _MOST_EXIT_CODE)
        or words[2] not in _JUMPS
    ):
        raise ConfigError(
            f"role {name}: {result} means {text!r}",
            f"write its status, exit code and jump ({', '.join(_JUMPS)}), as in `partial 0 prev`",
        )
    return ResultMapping(status=words[0], exit_code=int(words[1]), jump=words[2])
