"""What the person accepted of repositories' own configuration: a file in the state folder.

Of each repository one line for each key: who accepts another value no longer accepts the one
before. A repository is known by the id that it was given when it became known, or else by its
folder: what is cloned into the same folder later is another. What cannot be read accepts nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from windlass import whole_file
from windlass.core import shapes
from windlass.core.project_config import Line
from windlass.daemon.kernel import untrusted_files

FILE = "accepted.json"
REPO_ID_FILE = "windlass-id"
"""Kept in the git folder of a repository that became known: its id."""
_LARGEST = 16 << 20
_ID = re.compile(r"id ([0-9a-f]{8})")
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
    known = _read(home)
    return [line for name in _names(root) for line in known.get(name, [])]


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
    name = _names(root)[0]
    with _changing:
        known = _without(_read(home), root, keys)
        _write(home, {**known, name: [*known.get(name, []), *fresh]})


def revoke(home: Path, root: str, keys: Collection[str]) -> list[str]:
    """Forgets lines of a repository, all where no keys are named; says which those were."""
    with _changing:
        held = [line.key for line in of_repository(home, root)]
        gone = [key for key in held if not keys or key in keys]
        if gone:
            _write(home, _without(_read(home), root, gone))
    return gone


def short_name(root: str) -> str:
    """What a repository is known by, as the name of a file."""
    name = _names(root)[0]
    known = _ID.fullmatch(name)
    return known[1] if known else hashlib.sha256(os.fsencode(name)).hexdigest()[:16]


def _names(root: str) -> tuple[str, ...]:
    """What a repository is known by, best first."""
    try:
        kept = untrusted_files.read(Path(root) / ".git" / REPO_ID_FILE, most=64).decode().strip()
    except (OSError, UnicodeDecodeError):
        kept = ""
    return (f"id {kept}", root) if kept else (root,)


def _without(
    known: dict[str, list[Accepted]], root: str, keys: Collection[str]
) -> dict[str, list[Accepted]]:
    own = _names(root)
    return {
        name: [line for line in lines if name not in own or line.key not in keys]
        for name, lines in known.items()
    }


def _read(home: Path) -> dict[str, list[Accepted]]:
    try:
        with (home / FILE).open("rb") as file:
            return shapes.decode(file.read(_LARGEST), dict[str, list[Accepted]])
    except (OSError, msgspec.DecodeError):
        return {}


def _write(home: Path, known: dict[str, list[Accepted]]) -> None:
    held = {root: lines for root, lines in known.items() if lines}
    whole_file.replace_durably(home / FILE, msgspec.json.encode(held), mode=0o600)
