"""The keys of configuration that are per role: `roles.<name>.*` and `permissions.<name>.*`.

Any name makes a table. What a role of a person's own leaves unsaid is as for workers: a new name
must be no way around what the person said about those.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Annotated, Any, Literal

import msgspec

from windlass.core.box_spec import Isolation, Network
from windlass.core.errors import UserError
from windlass.core.ids import RoleName, role_name
from windlass.core.roles import LOOP_SUPERVISOR, SHIPPED, STEP_ALIASES, STEPS, USUAL, WIDER, Traits

Positive = Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]
Size = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]


class Tools(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tool patterns that a role may and may not use."""

    allow: list[str] = []
    deny: list[str] = []


class RoleSettings(Traits, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What agents of one role are started with, and may do; empty means what everybody is."""

    driver: str = ""
    model: str = ""
    isolation: Isolation | Literal[""] = ""
    network: Network | Literal[""] = ""
    mode: Literal["", "once", "loop", "live"] = ""
    iterations: Positive | None = None
    turns: Positive | None = None
    timeout: Positive | None = None
    supervisor_interval: Size | None = None


_ABOUT = {
    "roles": {
        "driver": "the agent CLI of {}s; empty means `driver`",
        "model": "the model of {}s; empty means `model`",
        "isolation": "the isolation of {}s; empty means `isolation`",
        "network": "the network of boxed {}s; empty means `network`",
        "spawns": "whether {}s may start agents; unset: as the file of the role says",
        "persistent": "whether {}s are to be there always; unset: as the file of the role says",
        "readonly": "whether {}s are to leave the tree alone; unset: as the file of the role says",
        "mode": "how steps in this role run: `once`, `loop` or `live`; empty: as its file says",
        "iterations": "how often a `loop` of {}s goes round; unset: as the file of the role says",
        "turns": "turns that one session of a step in this role may take; unset: as its file says",
        "timeout": "seconds that a step in this role may take; unset: as the file of the role says",
        "supervisor_interval": "iterations between two looks of a supervisor at {}s; 0: none",
    },
    "permissions": {
        "allow": "tool patterns that {}s may use",
        "deny": "tool patterns that {}s may not use",
    },
}
INHERITED = ("driver", "model", "isolation", "network")
"""What a role has from elsewhere where its own table leaves it empty."""
TABLES = tuple(_ABOUT)
"""The tables that have one table for each role."""


def about(table: str, name: RoleName) -> dict[str, str]:
    """Every key of one role in one of the tables, with what it is for."""
    text = {key: said.format(name) for key, said in _ABOUT[table].items()}
    if name not in SHIPPED:
        text = {
            key: said.replace("means `", f"means as for {USUAL}s, `") for key, said in text.items()
        }
    return {f"{table}.{name}.{key}": said for key, said in text.items()}


def about_key(key: str) -> str | None:
    """What a key of any role is for; None for a key that is none of these."""
    table, _, rest = key.partition(".")
    name = rest.rpartition(".")[0]
    if table not in _ABOUT or problem(name):
        return None
    return about(table, RoleName(name)).get(key)


def near(key: str) -> str:
    """What may have been meant by what looks like a key of a role; nothing for any other."""
    table, _, rest = key.partition(".")
    name, _, last = rest.rpartition(".")
    if table not in _ABOUT or not name:
        return ""
    if why := problem(name):
        lower = name.lower()
        meant = f"; did you mean {f'{table}.{lower}.{last}'!r}?" if not problem(lower) else ""
        return f"{why}{meant}"
    close = get_close_matches(last, _ABOUT[table], n=1)
    if close:
        return f"did you mean {f'{table}.{name}.{close[0]}'!r}?"
    return f"keys of {table}.{name}: {', '.join(_ABOUT[table])}"


def problem(name: str) -> str:
    """Why this cannot be a role's name; nothing if it can."""
    try:
        role_name(name)
    except UserError as error:
        return f"{error.message}: {error.hint}"
    return ""


def names(layer: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The tables of a layer of configuration that are for roles, and whose."""
    for table in TABLES:
        tables = layer.get(table)
        yield from ((table, name) for name in (tables if isinstance(tables, Mapping) else ()))


def unexplained(
    roles: Mapping[RoleName, RoleSettings],
    permissions: Mapping[RoleName, Tools],
    *,
    files: Collection[str],
) -> list[tuple[str, RoleName]]:
    """The tables, and whose, of names that nobody has made a role of: they may be misspelt.

    A role is shipped, or has one of the `files`, or its table says what its agents may do.
    """
    known = {*SHIPPED, *STEPS, *STEP_ALIASES, LOOP_SUPERVISOR, *files}
    known |= {name for name, table in roles.items() if any(_says(table, key) for key in WIDER)}
    return [
        (table, name)
        for table, names in (("roles", roles), ("permissions", permissions))
        for name in names
        if name not in known
    ]


def _says(table: Traits, key: str) -> bool:
    return getattr(table, key) is not None


def settings(tables: Mapping[RoleName, RoleSettings], name: RoleName) -> RoleSettings:
    """What agents of a role are started with; what is not said of a person's own is a worker's."""
    own = tables.get(name, RoleSettings())
    if name in SHIPPED:
        return own
    usual = tables.get(USUAL, RoleSettings())
    unsaid = [key for key in INHERITED if not getattr(own, key)]
    return msgspec.structs.replace(own, **{key: getattr(usual, key) for key in unsaid})


def tools(tables: Mapping[RoleName, Tools], name: RoleName) -> Tools:
    """The patterns of a role; one of a person's own has those of workers as well."""
    own = tables.get(name, Tools())
    if name in SHIPPED:
        return own
    usual = tables.get(USUAL, Tools())
    return Tools([*usual.allow, *own.allow], [*usual.deny, *own.deny])


def fallbacks(key: str) -> list[str]:
    """Where to look for what a key of a role means, the key itself first."""
    table, _, rest = key.partition(".")
    name, _, last = rest.rpartition(".")
    if table != "roles" or not name:
        return [key]
    usual = [] if name in SHIPPED else [f"{table}.{USUAL}.{last}"]
    return [key, *usual, *([] if last in WIDER else [last])]


def inherits(key: str) -> bool:
    """Whether a key of a role means what is said elsewhere where it is empty."""
    return key.startswith("roles.") and key.rpartition(".")[2] in INHERITED


def names_driver(key: str) -> bool:
    """Whether a key holds the agent CLI of a role."""
    table, _, rest = key.partition(".")
    return table == "roles" and rest.endswith(".driver")
