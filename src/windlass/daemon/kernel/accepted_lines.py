"""What the person accepted of repositories' own configuration: a file in the state folder.

Of each repository, known by the folder of its checkout, one line for each key: who accepts another
value no longer accepts the one before. What cannot be read accepts nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from windlass import whole_file
from windlass.core import shapes
from windlass.core.project_config import Line

FILE = "accepted.json"
_LARGEST = 16 << 20
_changing = threading.Lock()


class Accepted(msgspec.Struct, frozen=True):
    """A line that was accepted, as it was shown, and when."""

    key: str
    value: object
    instead_of: object
    digest: str
    at: float


def of_repository(home: Path, root: str) -> list[Accepted]:
    """The lines of a repository that the person accepted."""
    return _read(home).get(root, [])


def digests(home: Path, root: str) -> frozenset[str]:
    """What lines of a repository that count are known by."""
    return frozenset(line.digest for line in of_repository(home, root))


def accept(home: Path, root: str, lines: Iterable[Line], *, now: float) -> None:
    """Remembers lines of a repository, each in the place of an earlier one of its key."""
    fresh = [
        Accepted(line.key, line.value, line.instead_of, line.digest, now)
        for line in lines
        if not line.personal
    ]
    keys = {line.key for line in fresh}
    with _changing:
        known = _read(home)
        kept = [line for line in known.get(root, []) if line.key not in keys]
        _write(home, {**known, root: [*kept, *fresh]})


def revoke(home: Path, root: str, keys: Collection[str]) -> list[str]:
    """Forgets lines of a repository, all where no keys are named; says which those were."""
    with _changing:
        known = _read(home)
        gone = [line.key for line in known.get(root, []) if not keys or line.key in keys]
        left = [line for line in known.get(root, []) if line.key not in gone]
        if gone:
            _write(home, {**known, root: left})
    return gone


def _read(home: Path) -> dict[str, list[Accepted]]:
    try:
        with (home / FILE).open("rb") as file:
            return shapes.decode(file.read(_LARGEST), dict[str, list[Accepted]])
    except (FileNotFoundError, msgspec.DecodeError):
        return {}


def _write(home: Path, known: dict[str, list[Accepted]]) -> None:
    held = {root: lines for root, lines in known.items() if lines}
    whole_file.replace_durably(home / FILE, msgspec.json.encode(held), mode=0o600)
