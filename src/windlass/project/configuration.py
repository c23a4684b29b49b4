"""What of the configuration commands need that ask no daemon: of pipelines and roles of steps.

Everything else of it is the daemon's, which judges what a repository says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from windlass.core import toml_text
from windlass.core.errors import ConfigError, WindlassError
from windlass.core.printable import printable_line
from windlass.core.toml_text import NotToml
from windlass.project import folder

_FILE = "config.toml"
_OF_STEPS = ("mode", "iterations", "turns", "timeout", "supervisor_interval", "model", "readonly")


def pipeline(windlass: str, home: str) -> str:
    """The pipeline that a repository's configuration names, else the person's own; or nothing."""
    for path, table in _tables(windlass, home):
        named = table.get("pipeline", "")
        if not isinstance(named, str):
            raise ConfigError(
                f"{printable_line(path)}: pipeline is no text", 'write pipeline = "fast"'
            )
        if named:
            return named
    return ""


def roles(windlass: str, home: str) -> set[str]:
    """The roles of which configuration says anything; a file that cannot be read says nothing."""
    try:
        said = [table.get("roles") for _, table in _tables(windlass, home)]
    except WindlassError:
        return set()
    return {name for roles in said if isinstance(roles, Mapping) for name in roles}


class Said(NamedTuple):
    """What a file of configuration says of a role's steps."""

    file: str
    key: str
    value: str | int


def of_role(name: str, windlass: str, home: str) -> list[Said]:
    """What configuration says of a role's steps: the repository's file, then the person's own.

    Whether a repository's word counts is not judged here.
    """
    found = []
    for path, table in _tables(windlass, home):
        roles = table.get("roles")
        said = roles.get(name) if isinstance(roles, Mapping) else None
        if isinstance(said, Mapping):
            found += [Said(path, key, _plain(said[key])) for key in _OF_STEPS if key in said]
    return found


def _plain(value: Any) -> str | int:
    """A value as it can be shown: no such key holds anything but texts and numbers."""
    return value if isinstance(value, str | int) else str(value)


def _tables(windlass: str, home: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The files that there are, the first of which goes before the second."""
    for place in (windlass, home):
        path = os.path.join(place, _FILE)
        if not os.path.isfile(path):
            continue
        try:
            yield path, toml_text.read(folder.read(path).decode())
        except (NotToml, UnicodeDecodeError) as error:
            raise ConfigError(
                f"{printable_line(path)} is not valid TOML: {error}", "mend that line"
            ) from None
