"""Takes lists apart that an agent can make as long as it likes, so that others run between.

What Python splits or sorts in one call is done without a pause, and no other thread of the daemon
runs meanwhile: seconds, for millions of names.
"""

from __future__ import annotations

import heapq
import itertools
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

T = TypeVar("T")

_BYTES = 1 << 18
_AT_ONCE = 10_000


def records(answer: bytes) -> Iterator[bytes]:
    """Yields what ends with NUL, in an answer of git's that was asked for with `-z`."""
    start, end = 0, len(answer) - answer.endswith(b"\0")
    while start < end:
        stop = answer.find(b"\0", min(start + _BYTES, end), end)
        stop = end if stop < 0 else stop
        yield from answer[start:stop].split(b"\0")
        start = stop + 1


def in_order(values: Iterable[T], key: Callable[[T], Any] = lambda value: value) -> Iterator[T]:
    """Yields values as `sorted` has them, those that are equal in the order that they came in."""
    rest = iter(values)
    parts = []
    while part := list(itertools.islice(rest, _AT_ONCE)):
        part.sort(key=key)
        parts.append(part)
    return iter(parts[0]) if len(parts) == 1 else heapq.merge(*parts, key=key)
