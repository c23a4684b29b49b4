"""JSON that an agent may have made: read only where that cannot take long.

Nothing else of this process runs while a text becomes objects. That takes some ten milliseconds for
each megabyte that people and programs write, which is strings above all, and more than a hundred
times that for one of brackets alone. So the values in a text are counted before any is made.
"""

from __future__ import annotations

from typing import Any

import msgspec

MOST_VALUES = 250_000
"""A tenth of a second, at worst. A large file that was edited has a value for each of its lines."""
_MARKS = b"[{,:"
_ALL_BUT_MARKS = bytes(set(range(256)) - set(_MARKS + b'"\\'))


class TooManyValues(msgspec.DecodeError):
    """There are more values in a text than any program has a reason to write."""


def decode(text: bytes | str) -> Any:
    """Reads a text; raises msgspec.DecodeError, or RecursionError, for one that is not read."""
    require_few_values(text.encode(errors="replace") if isinstance(text, str) else text)
    return msgspec.json.decode(text)


def require_few_values(text: bytes) -> None:
    """Refuses a text that would take long; what its strings hold does not count."""
    if len(text) > MOST_VALUES and _marks(text) > MOST_VALUES and _values(text) > MOST_VALUES:
        raise TooManyValues(f"there are more than {MOST_VALUES} values in it")


def _marks(text: bytes) -> int:
    return sum(text.count(mark) for mark in _MARKS)


def _values(text: bytes) -> int:
    """How many marks stand outside of strings; or the strings, where those alone are too many."""
    bare = text.translate(None, _ALL_BUT_MARKS)
    if b"\\" in bare:
        # In this order: of two backslashes the second escapes nothing.
        bare = text.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _ALL_BUT_MARKS)
    strings = bare.count(b'"') // 2
    if strings > MOST_VALUES:
        return strings
    return sum(_marks(part) for part in bare.split(b'"')[::2])
