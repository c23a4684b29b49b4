"""What an import comes to: the files and settings that it makes, and a line about everything else.

Owns no rule of any ancestor: those are in the modules named after them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

import msgspec

from windlass.core import config_layers, config_roles, json_text
from windlass.core.errors import ConfigError
from windlass.core.roles import EVERYBODY

Files: TypeAlias = Mapping[str, bytes]
"""What an ancestor's files hold, by their paths from the project's folder."""


class Left(NamedTuple):
    """Something that was not carried over, and why; or that somebody has to know of."""

    what: str
    why: str


class Branch(NamedTuple):
    """Work of a task that waits on a branch: what to type to have it land."""

    task: str
    branch: str
    marker: str


class Findings(msgspec.Struct, kw_only=True):
    """What an import found, filled from file to file."""

    files: dict[str, bytes] = {}
    """What is to be written, by its path in the `.windlass` folder."""
    sources: dict[str, list[str]] = {}
    """Which files of the ancestor's each of those comes from."""
    settings: dict[str, Any] = {}
    """Configuration, by dotted keys."""
    setting_sources: dict[str, str] = {}
    left: list[Left] = []
    branches: list[Branch] = []

    def write(self, path: str, held: bytes, source: str) -> None:
        """Notes a file that is to be made."""
        self.files[path] = held
        self.sources.setdefault(path, []).append(source)

    def set(self, key: str, value: Any, source: str) -> None:
        """Notes a key of the configuration, where it can be one."""
        *tables, last = key.split(".")
        layer: dict[str, Any] = {last: value}
        for name in reversed(tables):
            layer = {name: layer}
        for problem in config_layers.problems(layer, source):
            self.leave(source, f"{problem.error.message}; {problem.error.hint}")
            return
        self.settings[key] = value
        self.setting_sources[key] = source

    def leave(self, what: str, why: str) -> None:
        """Notes what is not carried over."""
        if (left := Left(what, why)) not in self.left:
            self.left.append(left)


def table(files: Files, path: str, found: Findings) -> dict[str, Any]:
    """What a file of JSON says; nothing, and a line about it, where it cannot be read."""
    if path not in files:
        return {}
    try:
        value = json_text.read(files[path], path)
    except ConfigError as error:
        found.leave(path, f"{error.message}; {error.hint}")
        return {}
    if not isinstance(value, dict):
        found.leave(path, f"it is {json_text.kind(value)}, not an object of settings")
        return {}
    return value


def flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested objects by dotted keys; what is empty, or deeper than settings are, as it is."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict) and value and prefix.count(".") < _DEEPEST:
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = value
    return found


_DEEPEST = 8


def add_role(
    found: Findings, name: str, held: bytes, source: str, *, commands: re.Pattern[str]
) -> None:
    """Takes a prompt over as the file of a role, and names its lines that speak of old commands."""
    role = name.lower().replace("_", "-")
    if role != EVERYBODY and (why := config_roles.problem(role)):
        found.leave(source, f"{role!r} cannot be a role's name: {why}")
        return
    try:
        text = held.decode("utf-8-sig")
    except UnicodeDecodeError:
        found.leave(source, "it is no UTF-8 text")
        return
    if not text.strip():
        found.leave(source, "it is empty")
        return
    body = without_front_matter(text)
    if body != text:
        found.leave(
            f"{source}, its front matter", "roles here have other keys: see docs/prompts.md"
        )
    elif text.startswith("---"):
        body = f"\n{text}"  # a ruled line would be taken for front matter
    path = f"roles/{role}.md"
    if path in found.files:
        body = found.files[path].decode() + "\n" + body
    found.write(path, body.encode(), source)
    lines = [
        str(number) for number, line in enumerate(body.splitlines(), 1) if commands.search(line)
    ]
    if lines:
        more = "…" if len(lines) > _NAMED else ""
        found.leave(
            f".windlass/{path}, line {', '.join(lines[:_NAMED])}{more}",
            "it speaks of the old commands: the list below has the new ones",
        )


_NAMED = 8


def without_front_matter(text: str) -> str:
    """A text below its front matter, whatever that says."""
    first, _, rest = text.partition("\n")
    if first.strip() != "---":
        return text
    lines = rest.split("\n")
    end = next((n for n, line in enumerate(lines) if line.strip() == "---"), None)
    return text if end is None else "\n".join(lines[end + 1 :]).lstrip("\n")
