"""Configuration files: read whole, written with their comments kept."""

from __future__ import annotations

import threading
import tomllib
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from windlass import whole_file
from windlass.core import config
from windlass.core.config import Config
from windlass.core.errors import ConfigError, NotFound, UserError

PROJECT_FILE = ".windlass/config.toml"
changing = threading.RLock()
"""Held from reading a file to replacing it: two changes at once would lose one."""


def load(home: Path, root: str | None) -> Config:
    """The configuration in force: the user's, then the project's on top."""
    return config.load(_layers(home, root))


def origins(home: Path, root: str | None) -> dict[str, str]:
    """Which file each set key comes from; unset keys are missing."""
    origin_of: dict[str, str] = {}
    for origin, layer in _layers(home, root):
        for key in config.flatten(layer):
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
    table[last] = value
    _replace(path, document)


def remove(path: Path, key: str) -> None:
    """Unsets one key, so that its default holds again."""
    with changing:
        _remove(path, key)


def _remove(path: Path, key: str) -> None:
    document = _document(path)
    table: Any = document
    *parents, last = config.require_key(key).split(".")
    for part in parents:
        table = table.get(part, {})
    if last not in table:
        raise NotFound(f"{key} is not set in {path}", "`wl config list` says where a value is from")
    del table[last]
    _replace(path, document)


def _listed(path: Path, key: str) -> list[str]:
    return list(config.flatten(_document(path).unwrap()).get(key, []))


def _layers(home: Path, root: str | None) -> list[tuple[str, dict[str, Any]]]:
    users = _layer(home / "config.toml")
    if root is None:
        return users
    projects = _layer(Path(root) / PROJECT_FILE)
    than = users[0][1] if users else {}
    return [*users, *((origin, config.no_weaker(layer, than)) for origin, layer in projects)]


def _layer(path: Path) -> list[tuple[str, dict[str, Any]]]:
    return [(str(path), _parsed(path))] if _is_plain(path) else []


def _is_plain(path: Path) -> bool:
    """Whether it is a file itself, in a folder itself: links come with merges of agents' work."""
    return path.is_file() and not path.is_symlink() and not path.parent.is_symlink()


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", "mend that line") from None
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply", "write it more plainly") from None


def _document(path: Path) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(path.read_text()) if path.is_file() else tomlkit.document()
    except TOMLKitError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", "mend that line") from None


def _replace(path: Path, document: tomlkit.TOMLDocument) -> None:
    config.check(document.unwrap(), str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    whole_file.replace_durably(path, tomlkit.dumps(document).encode(), mode=0o666)
