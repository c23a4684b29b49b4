"""The files of roles: those that are shipped, and those of a repository, read as untrusted ones.

A repository's are in `.windlass/roles/` of a person's checkout; an agent's own branch has no say in
what agents are and are told. What a role means is `core.roles`', and what that means to steps
`core.pipeline.step_roles`'.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypedDict

from windlass.core import config_roles, ids, roles
from windlass.core.config import Config, role_settings
from windlass.core.config_roles import RoleSettings, problem
from windlass.core.errors import ConfigError, NotFound
from windlass.core.ids import RoleName
from windlass.core.pipeline import step_roles
from windlass.core.pipeline.step_roles import StepRole
from windlass.core.printable import few
from windlass.core.roles import (
    EVERYBODY,
    LOOP_SUPERVISOR,
    SHIPPED,
    STEP_ALIASES,
    STEPS,
    Definition,
    RoleFile,
)
from windlass.project import folder

FOLDER = f"{folder.NAME}/roles"
LARGEST = 64 << 10
"""More than anybody writes for every agent to read at every start."""
_PLAINLY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _NotPlain(OSError):
    """What is there is no plain file of the repository's."""


@cache
def shipped(name: str) -> RoleFile | None:
    """The file of ours for a role, or for everybody."""
    name = STEP_ALIASES.get(name, name)
    if name not in (EVERYBODY, *SHIPPED, *STEPS, LOOP_SUPERVISOR):
        return None
    where = ("steps", f"{name}.md") if name in STEPS else (f"{name}.md",)
    path = resources.files("windlass.data").joinpath("roles", *where)
    return _parsed(name, path.read_text("utf-8"), origin=str(path))


def added(root: str, name: str) -> RoleFile | None:
    """A repository's file for a role, or for everybody; raises ConfigError for what is no such."""
    path = Path(root) / FOLDER / f"{name}.md"
    try:
        text = _read(path)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror or str(error) if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(
            f"{path} cannot be told to agents: {said}",
            f"make it a plain text file of at most {LARGEST} bytes, or remove it",
        ) from None
    return _parsed(name, text, origin=str(path))


def known(config: Config, root: str | None) -> list[RoleName]:
    """The names of all roles: shipped, configured, or with a file in a repository."""
    files = _files(root) if root else []
    more = {RoleName(name) for name in (*config.roles, *files) if name != EVERYBODY}
    return [*SHIPPED, *sorted(more.difference(SHIPPED))]


def of_steps(config: Config, root: str | None) -> list[str]:
    """The names of all roles that steps may have, those that are made for steps first."""
    return list(dict.fromkeys((*STEPS, *STEP_ALIASES, *known(config, root))))


def find(config: Config, root: str | None, wanted: str) -> Definition:
    """The role of that name, or an error that lists those that there are."""
    return roles.define(**_voices(config, root, wanted))


def find_of_steps(
    config: Config,
    root: str | None,
    wanted: str,
    *,
    at_step: Mapping[str, Any] = MappingProxyType({}),
) -> StepRole:
    """The same role, as far as it is about steps, and what a pipeline says of it at one."""
    return step_roles.define(**_voices(config, root, wanted), at_step=at_step)


class _Voices(TypedDict):
    """Who says what about a role."""

    name: RoleName
    shipped: RoleFile | None
    configured: RoleSettings
    file: RoleFile | None


def _voices(config: Config, root: str | None, wanted: str) -> _Voices:
    if wanted not in (*of_steps(config, root), LOOP_SUPERVISOR):
        every = ", ".join((*known(config, root), *STEPS))
        raise NotFound(f"no role {wanted!r}: there are {every}", _how_to_make(wanted))
    name = ids.role_name(wanted)
    return {
        "name": name,
        "shipped": shipped(name),
        "configured": role_settings(config, name),
        "file": added(root, name) if root else None,
    }


def unexplained(config: Config, root: str) -> list[tuple[str, RoleName]]:
    """The tables of a configuration that name no role which anybody has made, and the names."""
    return config_roles.unexplained(config.roles, config.permissions, files=_files(root))


def told_to_nobody(root: str) -> list[str]:
    """What is to be said of files that stand beside those of the roles, and can be no role's."""
    place = Path(root) / FOLDER
    try:
        others = sorted(name for name in _names(place) if not _is_role_file(name))
    except OSError as error:
        return [f"{place} cannot be listed: {error.strerror}"]
    others = [name for name in others if not _is_another_spelling(place / name)]
    if not others:
        return []
    read = f"{EVERYBODY}.md and <role>.md, in small letters"
    return [f"told to no agent: {few(others)}; only {read}, are read in {place}"]


def _how_to_make(name: str) -> str:
    if why := problem(name):
        return why
    return f"to make one, write what it is told to {FOLDER}/{name}.md, or add [roles.{name}]"


def _parsed(name: str, text: str, *, origin: str) -> RoleFile:
    read = roles.parse_for_everybody if name == EVERYBODY else roles.parse
    return read(text, origin=origin)


def _files(root: str) -> list[str]:
    """The names for which a repository has a file."""
    return [Path(name).stem for name in _listed(root) if _is_role_file(name)]


def _listed(root: str) -> list[str]:
    try:
        return _names(Path(root) / FOLDER)
    except OSError:  # said at each start of an agent, by told_to_nobody
        return []


def _names(place: Path) -> list[str]:
    """What lies in a folder, but for what is hidden; nothing if a link leads there."""
    if place.is_symlink() or place.parent.is_symlink() or not place.is_dir():
        return []
    return [path.name for path in place.iterdir() if not path.name.startswith(".")]


def _is_role_file(name: str) -> bool:
    """Whether the file of that name is told to anybody."""
    stem, dot, ending = name.rpartition(".")
    return f"{dot}{ending}" == ".md" and (stem == EVERYBODY or not problem(stem))


def _is_another_spelling(path: Path) -> bool:
    """Whether it is read by its name in small letters: on some machines `Worker.md` is."""
    plain = path.with_name(path.name.lower())
    return _is_role_file(plain.name) and plain.exists() and plain.samefile(path)


def _read(path: Path) -> str:
    """Reads a file that a merge of an agent's work may have brought: no links, no end of it."""
    path.lstat()  # what is not there is no problem, wherever its folder leads
    for above in (path.parent, path.parent.parent):
        if above.is_symlink():
            raise _NotPlain(f"{above} is a link")
    if path.is_symlink():
        raise _NotPlain("it is a link")
    with os.fdopen(os.open(path, _PLAINLY), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise _NotPlain(f"{path} is no plain file")
        text = file.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise _NotPlain(f"it is larger than {LARGEST} bytes")
    return text.decode()
