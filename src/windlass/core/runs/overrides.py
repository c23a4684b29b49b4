"""What the environment of whoever has a board worked off says of roles, before all else.

`WINDLASS_SECURITY_AUDIT_MAX_TURNS=30` is about the role `security-audit`. It is read by the command
that begins the work, and goes with its request: a daemon's own environment is another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias

import msgspec

from windlass.core.config import Config
from windlass.core.config_roles import RoleSettings
from windlass.core.errors import UserError
from windlass.core.ids import RoleName
from windlass.core.printable import printable_line

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


def in_environment(env: Mapping[str, str]) -> list[str]:
    """The variables that are about roles, as a request has them."""
    return [f"{name}={env[name]}" for name in sorted(env) if _VARIABLE.fullmatch(name)]


def read(variables: Iterable[str]) -> Overrides:
    """What they say; raises UserError for one that is no number, or about nothing of a role."""
    found: Overrides = {}
    for line in variables:
        name, _, text = line.partition("=")
        variable = _VARIABLE.fullmatch(name)
        if variable is None:
            raise UserError(f"{printable_line(name)} is about no role", "upgrade Windlass")
        setting = _SETTINGS[variable[2]]
        found.setdefault(variable[1], {})[setting] = _number(name, text, setting)
    return found


def applied(config: Config, role: str, overrides: Overrides) -> Config:
    """The configuration with what the environment says of a role."""
    said = overrides.get(role.upper().replace("-", "_"))
    if not said:
        return config
    name = RoleName(role)
    own = msgspec.structs.replace(config.roles.get(name, RoleSettings()), **said)
    return msgspec.structs.replace(config, roles={**config.roles, name: own})


def _number(name: str, text: str, setting: str) -> int:
    least = 0 if setting == _FROM_ZERO else 1
    text = text.strip()
    if not (text.isascii() and text.isdigit() and least <= int(text[:12]) <= _LARGEST):
        raise UserError(
            f"{name} is {printable_line(text)!r}", f"write a number from {least} on, or unset it"
        )
    return int(text)
