"""What the environment of whoever has a board worked off says of roles, before all else.

`WINDLASS_SECURITY_AUDIT_MAX_TURNS=30` is about the role `security-audit`. It is read by the command
that begins the work, and goes with its request: a daemon's own environment is another one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from windlass.core.config_roles import RoleSettings
from windlass.core.errors import UserError

Overrides: TypeAlias = dict[str, dict[str, int]]
"""By the role as a variable names it, what is said of it."""
_SETTINGS = {
    "MAX_TURNS": "turns",
    "MAX_ITERATIONS": "iterations",
    "SUPERVISOR_INTERVAL": "supervisor_interval",
}
_VARIABLE = re.compile(rf"WINDLASS_([A-Z0-9_]+)_({'|'.join(_SETTINGS)})")
_FROM_ZERO = "supervisor_interval"
_LARGEST = 1_000_000_000


def from_environment(env: Mapping[str, str]) -> Overrides:
    """Reads the variables that are about roles; raises UserError for one that is no number."""
    found: Overrides = {}
    for name in sorted(env):
        variable = _VARIABLE.fullmatch(name)
        if variable is None:
            continue
        setting = _SETTINGS[variable[2]]
        found.setdefault(variable[1], {})[setting] = _number(name, env[name], setting)
    return found


def checked(said: Mapping[str, Mapping[str, int]]) -> Overrides:
    """What a request says; raises UserError for what no variable could have said."""
    for role, settings in said.items():
        for setting, value in settings.items():
            least = 0 if setting == _FROM_ZERO else 1
            if setting not in _SETTINGS.values() or not least <= value <= _LARGEST:
                raise UserError(f"{role}: {setting} cannot be {value}", "upgrade Windlass")
    return {role: dict(settings) for role, settings in said.items()}


def applied(configured: RoleSettings, role: str, overrides: Overrides) -> RoleSettings:
    """The settings of a role with what the environment says of it."""
    said = overrides.get(role.upper().replace("-", "_"), {})
    return msgspec.structs.replace(configured, **said)


def _number(name: str, text: str, setting: str) -> int:
    least = 0 if setting == _FROM_ZERO else 1
    text = text.strip()
    if not (text.isascii() and text.isdigit() and least <= int(text[:12]) <= _LARGEST):
        raise UserError(f"{name} is {text!r}", f"write a number from {least} on, or unset it")
    return int(text)
