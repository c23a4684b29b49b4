"""Configuration files: read whole, written with their comments kept.

The person's own rules. Of a repository's counts what narrows it, and what the person has accepted
(`accepted_lines`); it is read once, judged, and used as it was judged.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import tomlkit
from tomlkit.exceptions import TOMLKitError

from windlass import whole_file
from windlass.core import config, config_layers, project_config, toml_text
from windlass.core.config import Config
from windlass.core.config_layers import Layer, Problem, Usable
from windlass.core.errors import ConfigError, NotFound, UserError
from windlass.core.toml_text import NotToml, TooDeep
from windlass.daemon.kernel import accepted_lines, project_file

PROJECT_FILE = project_file.PROJECT_FILE
USER_FILE = "config.toml"
MOST_KEYS = 500
"""All of them are looked at whenever a configuration is wanted, which is often."""
_DEEPEST = 16
Names: TypeAlias = tuple[str, ...]
Checked: TypeAlias = tuple[Layer, list[Problem]]
"""What of a file is right, and what is wrong with the rest."""
changing = threading.RLock()
"""Held from reading a file to replacing it, and until what was typed is accepted.

Two changes at once would lose one, or leave it waiting."""


class Sourced(NamedTuple):
    """A configuration, and which file each set key in force comes from; unset keys are missing."""

    usable: Usable
    origins: dict[str, str]


def load(home: Path, root: str | None) -> Config:
    """The configuration in force: the user's, then the project's on top; raises if it is wrong."""
    return usable(home, root).whole()


def usable(home: Path, root: str | None) -> Usable:
    """The configuration as far as it can be used: for what must go on whatever a file says."""
    return sourced(home, root).usable


def sourced(home: Path, root: str | None) -> Sourced:
    """The configuration as far as it can be used, and which file each set key comes from."""
    users = _users_layers(home, root)
    if root is None:
        ((layer, wrong),) = users
        return Sourced(Usable(config_layers.merged([layer.table]), wrong), _origins(layer))
    return _judged(home, root, users=users, projects=_projects_layer(root))


def at_target(home: Path, root: str, held: bytes | None, *, origin: str) -> tuple[Config, Usable]:
    """The person's own configuration, and what is in force where a repository's file holds this.

    For what is read from a commit, and not from the files in the checkout.
    """
    own = config_layers.merged(layer.table for layer, _ in _users_layers(home, root))
    return own, sourced_with(home, root, held, origin=origin).usable


def sourced_with(home: Path, root: str, held: bytes | None, *, origin: str) -> Sourced:
    """The configuration as it would be if a repository's file held this."""
    projects = _layer(Path(origin), lambda _: held)
    return _judged(home, root, users=_users_layers(home, root), projects=projects)


def _users_layers(home: Path, root: str | None) -> list[Checked]:
    """The person's own configuration: for everywhere, then for one repository alone."""
    layers = [_layer(home / USER_FILE, _held)]
    return layers if root is None else [*layers, _layer(private_file(home, root), _held)]


def _judged(home: Path, root: str, *, users: Sequence[Checked], projects: Checked) -> Sourced:
    """What is in force of the person's files and a repository's, and where each key is from."""
    own_tables = [own_layer.table for own_layer, _ in users]
    wrong = [problem for _, problems in users for problem in problems]
    layer, more = projects
    own = config_layers.merged(own_tables)
    lines = project_config.widening(layer.table, own)
    accepted = accepted_lines.digests(home, root) if lines else frozenset()
    judged = project_config.judge(layer.table, own, lines, accepted=accepted)
    in_force = Layer(layer.origin, judged.layer)
    known = Usable(
        config_layers.merged([*own_tables, judged.layer]),
        [*wrong, *more],
        in_box=config_layers.merged([*own_tables, judged.boxed]),
        waiting=tuple(judged.waiting),
    )
    origins: dict[str, str] = {}
    for read in (*(own_layer for own_layer, _ in users), in_force):
        origins |= _origins(read)
    return Sourced(known, origins)


def _projects_layer(root: str) -> tuple[Layer, list[Problem]]:
    """What a repository says: its file, and its list of files to bring along."""
    layer, wrong = _layer(Path(root) / PROJECT_FILE, lambda _: project_file.read(root))
    try:
        patterns = project_file.include_patterns(root)
    except ConfigError as error:
        path = str(Path(root) / project_file.INCLUDE_FILE)
        return layer, [*wrong, Problem(path, "workspace.include", error)]
    if not patterns:
        return layer, wrong
    workspace = layer.table.get("workspace", {})
    included = {**workspace, "include": [*workspace.get("include", []), *patterns]}
    return Layer(layer.origin, {**layer.table, "workspace": included}), wrong


def _origins(layer: Layer) -> dict[str, str]:
    return dict.fromkeys(config.flatten(layer.table), layer.origin)


def own_files(home: Path, root: str) -> tuple[Path, ...]:
    """The files of the person's that a configuration depends on, where they really lie."""
    users = Path(os.path.realpath(home / USER_FILE))
    return users, private_file(home, root), home / accepted_lines.FILE


def private_file(home: Path, root: str) -> Path:
    """The person's own configuration for one repository, wherever that is moved to."""
    return home / "own" / f"{accepted_lines.short_name(root)}.toml"


def file(home: Path, root: str | None, *, user: bool) -> Path:
    """The file that a change goes to."""
    if user:
        return home / USER_FILE
    if root is None:
        raise UserError("not in a git repository", "use --global for your own configuration")
    return project_file.to_be_written(root)


def add(path: Path, key: str, value: str) -> list[str]:
    """Adds to a list, unless it is there; returns the list."""
    with changing:
        listed = _listed(path, key)
        if value in listed:
            return listed
        put(path, key, [*listed, value])
        return [*listed, value]


def take(path: Path, key: str, value: str) -> list[str]:
    """Takes a value from a list; returns what is left."""
    with changing:
        listed = _listed(path, key)
        if value not in listed:
            raise NotFound(f"{value!r} is not in {key} of {path}", f"wl config get {key}")
        left = [other for other in listed if other != value]
        put(path, key, left)
        return left


def put(path: Path, key: str, value: Any) -> None:
    """Sets one key; the file is checked as it would be before it is replaced."""
    with changing:
        _put(path, key, value)


def _put(path: Path, key: str, value: Any) -> None:
    document = _document(path)
    table: Any = document
    *parents, last = config.require_key(key).split(".")
    for part in parents:
        table = table.setdefault(part, tomlkit.table())
        if not isinstance(table, dict):
            raise ConfigError(f"{path}: {part} is no table", f"wl config remove {part}")
    table[last] = value
    _replace(path, document)


def remove(path: Path, key: str) -> None:
    """Unsets one key, so that its default holds again; also one that means nothing."""
    with changing:
        _remove(path, key)


def _remove(path: Path, key: str) -> None:
    document = _document(path)
    place = _place(document, key)
    if place is None or not _may_go(path, document, key):
        config.require_key(key)
        raise NotFound(f"{key} is not set in {path}", "`wl config list` says where a value is from")
    _delete(document, place)
    _replace(path, document)


def _place(table: Mapping[str, Any], key: str) -> Names | None:
    """Where a key stands, name by name; a name in quotes may have dots of its own."""
    if key in table:
        return (key,)
    for name, item in table.items():
        below = key.removeprefix(f"{name}.")
        if below != key and isinstance(item, dict) and (rest := _place(item, below)):
            return (name, *rest)
    return None


def _may_go(path: Path, document: tomlkit.TOMLDocument, key: str) -> bool:
    """Whether a key is one of ours, or all that stands there is wrong: no table goes by mistake."""
    if config.about(key) is not None:
        return True
    wrong = tuple(f"{problem.key}." for problem in _problems(path, document))
    held = [leaf for leaf in config.flatten(document.unwrap()) if f"{leaf}.".startswith(f"{key}.")]
    return all(f"{leaf}.".startswith(wrong) for leaf in held)


def _delete(table: Any, place: Names) -> None:
    """Takes out what stands in a place, and the tables around it that are none of ours if empty."""
    holders = [table]
    for name in place[:-1]:
        holders.append(holders[-1][name])
    del holders[-1][place[-1]]
    for depth in range(len(place) - 1, 0, -1):
        if holders[depth] or config_layers.is_table(place[:depth]):
            return
        del holders[depth - 1][place[depth - 1]]


def _listed(path: Path, key: str) -> list[str]:
    listed = config.flatten(_document(path).unwrap()).get(key, config.value(Config(), key))
    return listed if isinstance(listed, list) else []


def _layer(path: Path, read: Callable[[Path], bytes | None]) -> tuple[Layer, list[Problem]]:
    """What of a file is right, and what is wrong with the rest."""
    try:
        held = read(path)
        table = {} if held is None else _parsed(path, held)
        if len(config.flatten(table)) > MOST_KEYS:
            raise ConfigError(f"{path} has more than {MOST_KEYS} keys", "write less into it")
    except ConfigError as error:
        return Layer(str(path), {}), [Problem(str(path), "", error)]
    wrong = config_layers.problems(table, str(path))
    right = config_layers.without(table, {problem.key for problem in wrong})
    return Layer(str(path), right), wrong


def _held(path: Path) -> bytes | None:
    """What the person's own file holds, which may be a link to where they keep such files."""
    if not os.path.lexists(path):
        return None
    if not path.is_file():
        raise ConfigError(f"{path} is no file, or leads to none", "put a file in its place")
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", "mend that") from None


def _parsed(path: Path, held: bytes) -> dict[str, Any]:
    try:
        table = toml_text.read(held.decode())
    except TooDeep:
        table = None
    except (NotToml, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", "mend that line") from None
    if table is None or _is_deep(table):
        raise ConfigError(f"{path} is nested too deeply", "write it more plainly")
    return table


def _is_deep(table: Mapping[str, Any]) -> bool:
    """Whether tables lie in tables so deep that walking through them could end us."""
    level: list[Any] = [table]
    for _ in range(_DEEPEST):
        level = [item for held in level for item in _within(held)]
    return bool(level)


def _within(held: Any) -> list[Any]:
    if isinstance(held, Mapping):
        return list(held.values())
    return held if isinstance(held, list) else []


def _document(path: Path) -> tomlkit.TOMLDocument:
    if not path.is_file():
        return tomlkit.document()
    try:
        held = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", "mend that") from None
    _parsed(path, held)
    try:
        return tomlkit.parse(held.decode())
    except TOMLKitError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", "mend that line") from None


def _replace(path: Path, document: tomlkit.TOMLDocument) -> None:
    """Replaces a file, unless more would be wrong with it than was."""
    was = {problem.error.message for problem in _problems(path, _document(path))}
    for problem in _problems(path, document):
        if problem.error.message not in was:
            raise problem.error
    path.parent.mkdir(parents=True, exist_ok=True)
    whole_file.replace_durably(path.resolve(), tomlkit.dumps(document).encode(), mode=0o666)


def _problems(path: Path, document: tomlkit.TOMLDocument) -> list[Problem]:
    return config_layers.problems(document.unwrap(), str(path))
