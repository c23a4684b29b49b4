"""Roles: what agents are for, by name, and what a role lets its agents do.

Three voices speak about a role: the file that is shipped, the configuration, and the file of a
repository. The first two are the person's; a repository comes from anywhere, so that its file may
take away and never give. Pure: somebody else reads the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from windlass.core import front_matter
from windlass.core.front_matter import Value
from windlass.core.ids import RoleName

EVERYBODY = "all"
"""Whose file is told to agents of every role; no role has this name."""
MANAGER, WORKER = RoleName("manager"), RoleName("worker")
SHIPPED = (MANAGER, WORKER)
"""The roles that come with Windlass, each a file in `data/roles`."""
STEPS = (
    *("plan-mode", "software-engineer", "task-summarizer", "security-audit", "security-fix"),
    *("generic-fix", "test-coverage", "documentation-writer", "validation-review"),
    *("test-runner", "conflict-resolver", "resume-decide"),
)
"""The roles of a pipeline's steps that come with Windlass, each a file in `data/roles/steps`."""
LOOP_SUPERVISOR = "loop-supervisor"
"""Who looks at the loop of a step every so often: no step has this role."""
STEP_ALIASES = {"task-worker": "software-engineer"}
"""What the ancestors called some of them."""
USUAL = WORKER
"""The role of an agent that is given none, and the one that roles of a person's own start from."""
WIDER = {"spawns": True, "persistent": True, "readonly": False}
"""What a role may say about its agents, with the value that lets them do more."""

STEP_KEYS: dict[str, type[Value]] = {
    "results": str,
    "mode": str,
    "iterations": int,
    "turns": int,
    "timeout": int,
    "supervisor_interval": int,
    "model": str,
    **dict.fromkeys(("PASS", "FAIL", "FIX", "SKIP", "UNKNOWN"), str),
}
"""What a role says about steps that run in it; what that means is `pipeline.step_roles`'."""
_KEYS: dict[str, type[Value]] = {
    "description": str,
    "spawns": bool,
    "persistent": bool,
    "readonly": bool,
    "replace": bool,
    **STEP_KEYS,
}
_KEYS_OF_EVERYBODY: dict[str, type[Value]] = {"description": str}


class Role(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent is for, and what it may do by that."""

    name: RoleName
    spawns: bool = False
    """Whether its agents may start agents, and be the parents of some."""
    persistent: bool = False
    """Whether its agents are to be there always."""
    readonly: bool = False
    """Whether its agents are to leave the tree as they found it."""
    about: str = ""


class Traits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What somebody says about a role; None where nothing is said."""

    spawns: bool | None = None
    persistent: bool | None = None
    readonly: bool | None = None


class RoleFile(Traits, frozen=True, kw_only=True):
    """A file of a role: what its agents are told, and what its front matter says."""

    prompt: str
    description: str = ""
    replace: bool = False
    """Whether the prompt stands in the place of the shipped one, instead of following it."""
    step: Mapping[str, Value] = {}
    """What it says about steps, as it is written there."""


class Definition(NamedTuple):
    """A role, and what a repository's file asks for and cannot give."""

    role: Role
    withheld: tuple[str, ...] = ()


def parse(text: str, *, origin: str) -> RoleFile:
    """Reads the file of a role; `origin` is what errors call it."""
    about, body = front_matter.read(text, origin=origin, keys=_KEYS)
    step = {key: value for key, value in about.items() if key in STEP_KEYS}
    traits = {key: value for key, value in about.items() if key not in STEP_KEYS}
    return msgspec.structs.replace(RoleFile(prompt=body, step=step), **traits)


def parse_for_everybody(text: str, *, origin: str) -> RoleFile:
    """Reads the file that agents of every role are told; it says nothing about any role."""
    about, body = front_matter.read(text, origin=origin, keys=_KEYS_OF_EVERYBODY)
    return msgspec.structs.replace(RoleFile(prompt=body), **about)


def define(
    name: RoleName, *, shipped: RoleFile | None, configured: Traits, file: RoleFile | None
) -> Definition:
    """What a role is, by all that is said about it.

    The configuration goes before the shipped file. A repository's file takes away at once; what it
    would add is withheld, for the person to configure.
    """
    traits: dict[str, bool] = {}
    withheld: list[str] = []
    for trait, wider in WIDER.items():
        said = (getattr(configured, trait), getattr(shipped, trait, None), False)
        traits[trait] = next(value for value in said if value is not None)
        asked = getattr(file, trait, None)
        if asked is None or asked == traits[trait]:
            continue
        if asked == wider:
            withheld.append(trait)
        else:
            traits[trait] = asked
    about = next(
        (source.description for source in (file, shipped) if source and source.description), ""
    )
    return Definition(Role(name=name, about=about, **traits), tuple(withheld))
