"""Layers of configuration: each checked, and merged into one.

Pure: reading and writing the files is done by the daemon. Layers are plain mappings as TOML gives
them, weakest first: the user's, the project's. Which keys there are is `config`'s, what a project
may say at once `project_config`'s.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias, get_type_hints

from windlass.core import config, config_lists, config_roles, config_values, shapes
from windlass.core.box_spec import Level
from windlass.core.config import Config
from windlass.core.errors import ConfigError
from windlass.core.project_config import Line

Path: TypeAlias = tuple[str, ...]


class Layer(NamedTuple):
    """What one file says, and which file that is."""

    origin: str
    table: Mapping[str, Any]


class Problem(NamedTuple):
    """What is wrong with one key of a layer, or with the whole of it where no key is named."""

    origin: str
    key: str
    error: ConfigError


class Usable(NamedTuple):
    """The configuration as far as it can be used, and what of it cannot."""

    config: Config
    problems: list[Problem]
    in_box: Config | None = None
    """The configuration of agents in a box, where that is another one."""
    waiting: tuple[Line, ...] = ()
    """What a repository's file asks for, and what is not in force until the person accepts it."""

    def at(self, level: Level) -> Config:
        """Returns what agents of a level are to have."""
        return self.in_box if level == "box" and self.in_box is not None else self.config

    @property
    def acceptable(self) -> list[Line]:
        """What waits for the person's word: not what no word could put in force."""
        return [line for line in self.waiting if not line.personal]

    def waiting_at(self, level: Level) -> list[Line]:
        """What of that is not in force for agents of a level."""
        boxed = level == "box"
        return [line for line in self.acceptable if not (boxed and line.counts_in_boxes)]

    def whole(self) -> Config:
        """Returns it where nothing is wrong with it; raises what is."""
        for problem in self.problems:
            raise problem.error
        return self.config

    def require(self, *tables: str) -> Config:
        """Returns it to whom needs these keys, or all of these tables; raises if one is wrong."""
        for problem in self.problems:
            within = any(f"{problem.key}.".startswith(f"{table}.") for table in tables)
            if not problem.key or within:
                raise problem.error
        return self.config


def load(layers: Iterable[tuple[str, Mapping[str, Any]]]) -> Config:
    """Merges (origin, mapping) layers, later ones winning; raises if any has something wrong."""
    return usable(layers).whole()


def usable(layers: Iterable[tuple[str, Mapping[str, Any]]]) -> Usable:
    """Merges layers without what is wrong in them: the value below holds, or the default."""
    right: list[Mapping[str, Any]] = []
    wrong: list[Problem] = []
    for origin, layer in layers:
        found = problems(layer, origin)
        right.append(without(layer, {problem.key for problem in found}))
        wrong += found
    return Usable(merged(right), wrong)


def merged(tables: Iterable[Mapping[str, Any]]) -> Config:
    """Merges what is right of layers, later ones winning key by key."""
    whole: Mapping[str, Any] = {}
    for table in tables:
        whole = _merge(whole, table)
    return shapes.convert(whole, Config)


def problems(layer: Mapping[str, Any], origin: str) -> list[Problem]:
    """Everything that is wrong with one layer, each with its key."""
    wrong = []
    for table, name in config_roles.names(layer):
        if why := config_roles.problem(name):
            error = ConfigError(f"{origin}: [{table}.{name}]: {why}", "rename that table")
            wrong.append(Problem(origin, f"{table}.{name}", error))
    roles = tuple(problem.key for problem in wrong)
    for path, item in _leaves(layer):
        key = ".".join(path)
        if ".".join(path[:2]) not in roles and (error_of := _problem(path, item, origin)):
            wrong.append(Problem(origin, key, error_of))
    return wrong


def without(layer: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    """A layer without some keys, without tables of these names, and those that it empties.

    A table may stand where none belongs: what is left of it would not be valid either.
    """

    def cut(part: Mapping[str, Any], prefix: str) -> dict[str, Any]:
        left: dict[str, Any] = {}
        for key, item in part.items():
            if f"{prefix}{key}" in keys:
                continue
            kept = cut(item, f"{prefix}{key}.") if isinstance(item, Mapping) else item
            if kept != {} or item == {}:
                left[key] = kept
        return left

    return cut(layer, "")


def _leaves(layer: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[Path, Any]]:
    """Everything in nested tables that is none, and tables with nothing in them."""
    for key, item in layer.items():
        if isinstance(item, Mapping) and item:
            yield from _leaves(item, (*path, key))
        else:
            yield (*path, key), item


def _problem(path: Path, item: Any, origin: str) -> ConfigError | None:
    """What is wrong with what a layer has in one place."""
    key = ".".join(path)
    if item == {} and is_table(path):
        return None
    if config.about(key) is None or any("." in part for part in path):
        return ConfigError(f"{origin}: unknown key {key!r}", config.near(key))
    try:
        config_values.read(item, config.kind(key), strict=True)
    except ConfigError as error:
        return ConfigError(f"{origin}: {key}: {error.message}", config.about(key) or "")
    form = config_lists.form(key)
    for word in item if form else ():
        if form and (why := form.problem(word)):
            return ConfigError(f"{origin}: {key}: {word!r} {why}", form.hint)
    return None


def is_table(path: Path) -> bool:
    """Whether a table of that name may stand in a file."""
    if path[0] in config_roles.TABLES:
        return len(path) <= 2
    hints = get_type_hints(Config)
    return len(path) == 1 and path[0] in hints and config_values.is_table(hints[path[0]])


def _merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, item in above.items():
        under = merged.get(key)
        if isinstance(item, Mapping) and isinstance(under, Mapping):
            merged[key] = _merge(under, item)
        else:
            merged[key] = item
    return merged
