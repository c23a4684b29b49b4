"""The text of a configuration file with keys that it did not have; what stood there stays.

Pure: reading and writing the file is for others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array

from windlass.core import config, toml_text
from windlass.core.errors import ConfigError

HEADER = "# Windlass: `wl config list` shows every key there is.\n"
_ON_A_LINE = 88


def with_keys(held: bytes | None, wanted: Mapping[str, Any], *, path: str) -> bytes:
    """The file with these keys set, which have dots between their tables' names."""
    if not wanted and held is not None:
        return held
    text = HEADER if held is None else held.decode()
    try:
        # First by the reader that takes its length in time: the file may be anybody's.
        before = config.flatten(toml_text.read(text))
        document = tomlkit.parse(text)
        for key, value in wanted.items():
            _set(document, key.split("."), value)
        written = tomlkit.dumps(document)
    except (TOMLKitError, toml_text.NotToml) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", "mend that line") from None
    said = config.flatten(toml_text.read(written))
    if said != {**before, **wanted}:
        raise ConfigError(
            f"{path} is written in a way that nothing can be added to", "write [gate] as a table"
        )
    return written.encode()


def values(held: bytes | None) -> dict[str, Any]:
    """The keys of a valid file, with dots between their tables' names."""
    return {} if held is None else config.flatten(toml_text.read(held.decode()))


def _set(document: tomlkit.TOMLDocument, names: list[str], value: Any) -> None:
    table: Any = document
    for place, name in enumerate(names[:-1]):
        if name not in table:
            # What only holds tables has no line of its own.
            table[name] = tomlkit.table(is_super_table=place < len(names) - 2)
        table = table[name]
    table[names[-1]] = _item(value)


def _item(value: Any) -> Any:
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return _tables(value)
    return _list(value) if isinstance(value, list) else value


def _tables(checks: list[Mapping[str, Any]]) -> AoT:
    tables = tomlkit.aot()
    for value in checks:
        table = tomlkit.table()
        for name, item in value.items():
            table[name] = item
        tables.append(table)
    return tables


def _list(words: list[Any]) -> Array:
    array = tomlkit.array()
    array.extend(words)
    return array.multiline(len(array.as_string()) > _ON_A_LINE)
