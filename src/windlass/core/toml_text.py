"""TOML that anybody may have written, read in a time that its length bounds.

The parser of the standard library takes the square of a key's parts and more: 64 KiB of `a.a.a`
keep it for minutes, and nested lists end it by a RecursionError.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

MOST_PARTS = 64
"""Names in one key, with dots between them."""
_BETWEEN_KEYS = re.compile(r"[=,{}\[\]\r\n]")
_DOT = re.compile(r"\.(?=[ \t]*[\w\"'-])")


class NotToml(ValueError):
    """A text is no TOML, or none that is read; the message says why."""


class TooDeep(NotToml):
    """Lists or tables lie in one another too deep."""


def read(text: str) -> dict[str, Any]:
    """Reads a document; raises `NotToml`."""
    if any(len(_DOT.findall(part)) >= MOST_PARTS for part in _BETWEEN_KEYS.split(text)):
        raise NotToml(f"a key has more than {MOST_PARTS} parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotToml(str(error)) from None
    except RecursionError:
        raise TooDeep("it is nested too deeply") from None
