"""Configuration files: read whole, written with their comments kept."""

from __future__ import annotations

import threading
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import tomlkit
from tomlkit.exceptions import TOMLKitError

from windlass import whole_file
from windlass.core import config, config_layers
from windlass.core.config import Config
from windlass.core.config_layers import Layer, Problem, Usable
from windlass.core.errors import ConfigError, NotFound, UserError

PROJECT_FILE = ".windlass/config.toml"
Names: TypeAlias = tuple[str, ...]
changing = threading.RLock()
"""Held from reading a file to replacing it: two changes at once would lose one."""


def load(home: Path, root: str | None) -> Config:
    """The configuration in force: the user's, then the project's on top; raises if it is wrong."""
    return usable(home, root).whole()


def usable(home: Path, root: str | None) -> Usable:
    """The configuration as far as it can be used: for what must go on whatever a file says."""
    layers, unread = _read(home, root)
    known = config_layers.usable(layers)
    return Usable(known.config, [*unread, *known.problems])


def origins(home: Path, root: str | None) -> dict[str, str]:
    """Which file each set key in force comes from; unset keys are missing."""
    origin_of: dict[str, str] = {}
    for origin, layer in _read(home, root)[0]:
        for key in config.flatten(_valid(layer, origin)):
            origin_of[key] = origin
    return origin_of


def file(home: Path, root: str | None, *, user: bool) -> Path:
    """The file that a change goes to."""
    if user:
        return home / "config.toml"
    if root is None:
        raise UserError("not in a git repository", "use --global for your own configuration")
    return Path(root) / PROJECT_FILE


def add(path: Path, key: str, value: str) -> None:
    """Adds to a list, unless it is there."""
    with changing:
        listed = _listed(path, key)
        if value not in listed:
            put(path, key, [*listed, value])


def take(path: Path, key: str, value: str) -> None:
    """Takes a value from a list."""
    with changing:
        listed = _listed(path, key)
        if value not in listed:
            raise NotFound(f"{value!r} is not in {key} of {path}", f"wl config get {key}")
        put(path, key, [other for other in listed if other != value])


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
    listed = config.flatten(_document(path).unwrap()).get(key)
    return listed if isinstance(listed, list) else []


def _read(home: Path, root: str | None) -> tuple[list[Layer], list[Problem]]:
    """The layers that there are, and what is wrong with files that cannot be read as such."""
    layers: list[Layer] = []
    unread: list[Problem] = []
    users = home / "config.toml"
    for path in (users, *((Path(root) / PROJECT_FILE,) if root else ())):
        if not _is_plain(path):
            continue
        try:
            table = _parsed(path)
        except ConfigError as error:
            unread.append(Problem(str(path), "", error))
            continue
        than = _valid(layers[0].table, layers[0].origin) if layers else {}
        kept = table if path is users else config_layers.no_weaker(table, than)
        layers.append(Layer(str(path), kept))
    return layers, unread


def _valid(layer: Mapping[str, Any], origin: str) -> dict[str, Any]:
    wrong = {problem.key for problem in config_layers.problems(layer, origin)}
    return config_layers.without(layer, wrong)


def _is_plain(path: Path) -> bool:
    """Whether it is a file itself, in a folder itself: links come with merges of agents' work."""
    return path.is_file() and not path.is_symlink() and not path.parent.is_symlink()


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", "mend that") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", "mend that line") from None
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply", "write it more plainly") from None


def _document(path: Path) -> tomlkit.TOMLDocument:
    if not path.is_file():
        return tomlkit.document()
    _parsed(path)
    try:
        return tomlkit.parse(path.read_text())
    except TOMLKitError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", "mend that line") from None


def _replace(path: Path, document: tomlkit.TOMLDocument) -> None:
    """Replaces a file, unless more would be wrong with it than was."""
    was = {problem.error.message for problem in _problems(path, _document(path))}
    for problem in _problems(path, document):
        if problem.error.message not in was:
            raise problem.error
    path.parent.mkdir(parents=True, exist_ok=True)
    whole_file.replace_durably(path, tomlkit.dumps(document).encode(), mode=0o666)


def _problems(path: Path, document: tomlkit.TOMLDocument) -> list[Problem]:
    return config_layers.problems(document.unwrap(), str(path))
