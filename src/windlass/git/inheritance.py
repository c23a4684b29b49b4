"""What every git that this process starts inherits: a lock, held until it ends, and a mark.

A daemon that is killed leaves its git at work. The next one knows by the lock whether any is left,
and by the mark which. What git starts itself inherits both. A git in a box has neither: it dies
with the daemon, and what an agent may have got hold of must not have a lock of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Inheritance(NamedTuple):
    """Open files that stay open in a child, and variables in its environment."""

    files: tuple[int, ...] = ()
    variables: Mapping[str, str] = MappingProxyType({})


_NOTHING = Inheritance()
_given = _NOTHING


def give(*, lock: int, mark: Mapping[str, str]) -> None:
    """Has every git from now on hold an open lock, and carry a mark."""
    global _given  # noqa: PLW0603 - a process has one set of children
    _given = Inheritance((lock,), dict(mark))


def of_child(*, boxed: bool) -> Inheritance:
    """What a git that is started now inherits."""
    return _NOTHING if boxed else _given
