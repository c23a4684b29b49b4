"""Data into typed values, from any thread.

What msgspec knows of a type it finds out at the first use, and two threads that find it out at once
end the whole process: measured with 0.22.0, in a daemon that had just started. So the first use of
a type is done by one thread, here.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}
_lock = threading.Lock()


def convert(data: Any, kind: type[T], *, strict: bool = True) -> T:
    """Makes a value of this type from plain data, or raises msgspec.ValidationError."""
    _decoder(kind)  # learns the type
    return msgspec.convert(data, kind, strict=strict)  # noqa: TID251 - learned before


def decode(text: bytes, kind: type[T]) -> T:
    """Reads a value of this type from JSON, or raises msgspec.DecodeError."""
    return _decoder(kind).decode(text)


def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    decoder = _decoders.get(kind)
    if decoder is None:
        with _lock:
            decoder = _decoders[kind] = msgspec.json.Decoder(kind)
    return decoder
