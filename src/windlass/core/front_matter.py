"""Front matter: the lines between two `---` at the beginning of a text, which are about it.

A small strict reader of `key: value` lines. It is no YAML: a value is `true`, `false`, a number or
the rest of its line. What cannot be read is an error that names the file and the line, because
whoever wrote it meant something by it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from windlass.core.errors import ConfigError

_FENCE = re.compile(r"---[ \t]*")
_ENTRY = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)[ \t]*:(?:[ \t]+(.*))?")
_NUMBER = re.compile(r"[0-9]{1,9}")
_FLAGS = {"true": True, "false": False}


Value: TypeAlias = str | bool | int


class Document(NamedTuple):
    """What a text says about itself, and the text below that."""

    about: Mapping[str, Value]
    body: str


def read(text: str, *, origin: str, keys: Mapping[str, type[Value]]) -> Document:
    """Reads a text of a file; only these keys may stand in its front matter, with such values."""
    lines = text.removeprefix("\ufeff").split("\n")
    if not _is_fence(lines[0]):
        return Document({}, text)
    end = next((n for n, line in enumerate(lines[1:], start=1) if _is_fence(line)), None)
    if end is None:
        raise ConfigError(
            f"{origin}:1: the lines that begin with --- here end nowhere",
            "close them with a line ---; a ruled line is also written ***",
        )
    return Document(_about(lines[1:end], origin, keys), "\n".join(lines[end + 1 :]))


def _about(lines: Sequence[str], origin: str, keys: Mapping[str, type[Value]]) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for number, line in enumerate(lines, start=2):
        if not line.strip():
            continue
        place = f"{origin}:{number}"
        entry = _ENTRY.fullmatch(line.rstrip())
        if entry is None:
            raise ConfigError(f"{place}: {line.strip()!r} is no `key: value`", _keys(keys))
        key, value = entry[1], (entry[2] or "").strip()
        if key not in keys:
            raise ConfigError(f"{place}: unknown key {key!r}", _keys(keys))
        if key in values:
            raise ConfigError(f"{place}: {key!r} stands there twice", "drop one of the two")
        if keys[key] is bool and value not in _FLAGS:
            raise ConfigError(f"{place}: {key} is {value!r}", "write true or false")
        if keys[key] is int and not _NUMBER.fullmatch(value):
            raise ConfigError(f"{place}: {key} is {value!r}", "write a whole number")
        values[key] = _typed(value, keys[key])
    return values


def _typed(value: str, kind: type[Value]) -> Value:
    return _FLAGS[value] if kind is bool else int(value) if kind is int else value


def _is_fence(line: str) -> bool:
    return _FENCE.fullmatch(line.removesuffix("\r")) is not None


def _keys(keys: Mapping[str, type[Value]]) -> str:
    return f"there are {', '.join(keys)}"
