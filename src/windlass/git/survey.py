# ruff: noqa: PTH118, PTH120
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Looks over everything in a workspace folder and decides what a salvage keeps.

Owns the choice: all that is tracked or untracked is kept whatever its size, ignored files up to a
cap, and what cannot be kept is listed with the reason.
"""

from __future__ import annotations

import collections
import contextlib
import logging
import os
import stat
from typing import TYPE_CHECKING

import msgspec

from windlass.core.errors import GitError
from windlass.git import long_lists, names, views
from windlass.git.bounds import Patience
from windlass.git.environment import Dirs
from windlass.git.manifest import Dropped
from windlass.git.provided import NOTHING, Provided
from windlass.git.runner import run
from windlass.git.status import nested_place
from windlass.git.walk import WalkEntry, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from windlass.git.repository import Repository
    from windlass.git.workspace_state import WorkspacePlace

log = logging.getLogger(__name__)

# Folders that a tool makes again; kept last, when the cap has room.
REBUILDABLE = frozenset(
    b"node_modules .venv venv __pycache__ .mypy_cache .pytest_cache .ruff_cache .tox .nox target "
    b"build dist .gradle .next .nuxt .turbo .parcel-cache .cache .eggs .terraform vendor Pods "
    b"DerivedData .dart_tool elm-stuff _build deps bower_components .yarn .pnpm-store"
    b" coverage".split()
)
_UNSAID = "git does not say in time what is ignored, so nothing counts as ignored"
_MANY = 200
_MOST_IN_FOLDER = 50_000
"""Files of one folder that are kept as files of a tree; the others are in a tar."""
_NESTED = 200
"""Nested repositories that are asked what they ignore; of more, all is kept."""


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """What there is, sorted into what is kept and what is not."""

    files: list[WalkEntry]
    dotgits: list[WalkEntry]
    beyond: list[bytes]
    """Folders that are deeper than the system can name what is in them."""
    hollow: list[bytes]
    """Those of the files that have more holes than can be written out."""
    folders: list[WalkEntry]
    """Those that are kept: not what is ignored, unless something in it is kept."""
    empty: list[bytes]
    """Those of the folders in which nothing is kept."""
    ignored: set[bytes]
    """The kept ones that git ignores."""
    dropped: list[Dropped]


class _Unit(msgspec.Struct, frozen=True):
    """An ignored thing that is kept or dropped as a whole."""

    entry: WalkEntry
    size: int
    count: int

    @property
    def rank(self) -> tuple[bool, int, bytes]:
        rebuilt = not REBUILDABLE.isdisjoint(self.entry.path.split(b"/"))
        return rebuilt, self.size, self.entry.path


def survey(
    repo: Repository,
    place: WorkspacePlace,
    dirs: Dirs,
    *,
    size_cap: int,
    count_cap: int,
    provided: Provided = NOTHING,
) -> Survey:
    """Walks the folder once, asks git what is ignored, and chooses.

    What was provided and is as it was is as if it were not there.
    """
    entries = [e for e in walk(place.path) if e.kind == "folder" or not provided.has(e)]
    nested = [os.path.dirname(entry.path) for entry in entries if entry.kind == "dotgit"]
    rules, unsaid = _rules(repo, place, dirs, nested[:_NESTED])
    ignored = _under(entries, rules)
    dropped = unsaid + [
        Dropped(path=os.fsdecode(entry.path), reason="a socket, pipe or device, not a file")
        for entry in entries
        if entry.kind == "special" or (entry.kind == "dotgit" and _is_special(entry))
    ]
    dropped += [
        Dropped(path=os.fsdecode(entry.path), reason="ignored, and deeper than the system can name")
        for entry in entries
        if entry.kind == "beyond" and entry.path in ignored
    ]
    units = [
        _unit(place, entry)
        for entry in entries
        if entry.path in ignored and entry.kind in ("file", "link", "dotgit")
    ]
    kept, refused = _choose(units, size_cap=size_cap, count_cap=count_cap)
    dropped += _described(refused, rules)
    wanted = [entry for entry in entries if entry.path not in ignored or entry.path in kept]
    files, more = _first_of_each([entry for entry in wanted if entry.kind in ("file", "link")])
    dotgits = [entry for entry in wanted if entry.kind == "dotgit" and not _is_special(entry)]
    holding = names.folders_above(entry.path for entry in files + dotgits)
    folders = [
        entry
        for entry in entries
        if entry.kind == "folder"
        and (entry.path not in ignored or entry.empty or entry.path in holding)
        and (entry.path in holding or not provided.has(entry))
    ]
    return Survey(
        files=files,
        dotgits=dotgits,
        beyond=[entry.path for entry in wanted if entry.kind == "beyond"] + more,
        hollow=[],
        folders=folders,
        empty=[entry.path for entry in folders if entry.path not in holding],
        ignored=kept,
        dropped=dropped,
    )


def _first_of_each(files: list[WalkEntry]) -> tuple[list[WalkEntry], list[bytes]]:
    """The first files of each folder, and the paths of the others where they are very many.

    Git's importer looks through all of a folder for each file that it puts there: for a million in
    one it takes an hour, and nobody could end their agent so long.
    """
    first, more = [], []
    seen: collections.Counter[bytes] = collections.Counter()
    for entry in files:
        folder = entry.path.rpartition(b"/")[0]
        seen[folder] += 1
        if seen[folder] > _MOST_IN_FOLDER:
            more.append(entry.path)
        else:
            first.append(entry)
    return first, more


def _is_special(entry: WalkEntry) -> bool:
    mode = entry.info.st_mode
    return not (stat.S_ISDIR(mode) or stat.S_ISREG(mode) or stat.S_ISLNK(mode))


def _rules(
    repo: Repository, place: WorkspacePlace, dirs: Dirs, nested: list[bytes]
) -> tuple[set[bytes], list[Dropped]]:
    """Asks what git ignores, here and in nested repositories, where it does not look by itself.

    An agent writes the rules, and can have git match them for ever, or answer without an end. Where
    git does not say it in time, nothing is ignored, and that is listed.
    """
    patience = Patience()
    rules: set[bytes] = set()
    unsaid: list[Dropped] = []
    for path in (b"", *nested):
        try:
            with _seen(repo, place, dirs, path) as seen:
                found = _ignored_by(seen, patience) if seen is not None else set()
        except GitError as error:
            log.warning("%s: nothing counts as ignored: %s", place.path, error.message)
            shown = os.fsdecode(os.path.join(path, b".gitignore"))
            unsaid.append(Dropped(path=shown, reason=_UNSAID, files=0))
            continue
        rules |= {os.path.join(path, name) for name in found}
    return rules, unsaid


@contextlib.contextmanager
def _seen(
    repo: Repository, place: WorkspacePlace, dirs: Dirs, path: bytes
) -> Iterator[Dirs | None]:
    """Lends what git looks at the workspace through, or at a nested repository in it."""
    if not path:
        yield dirs
        return
    inner = nested_place(repo, place, path)
    if inner is None:
        yield None
        return
    with views.indexed(repo, inner) as inside:
        yield inside


def _ignored_by(dirs: Dirs, patience: Patience) -> set[bytes]:
    said = run(
        ["ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory"],
        dirs=dirs,
        timeout=patience.left,
    )
    return {name.rstrip(b"/") for name in long_lists.records(said.out) if name}


def _under(entries: list[WalkEntry], rules: set[bytes]) -> set[bytes]:
    """Spreads the rules to everything below an ignored folder; parents come before children."""
    ignored: set[bytes] = set()
    for entry in entries:
        if entry.path in rules or os.path.dirname(entry.path) in ignored:
            ignored.add(entry.path)
    return ignored


def _unit(place: WorkspacePlace, entry: WalkEntry) -> _Unit:
    if entry.kind != "dotgit" or not stat.S_ISDIR(entry.info.st_mode):
        return _Unit(entry, entry.info.st_size, 1)
    inner = list(walk(os.path.join(place.path, os.fsdecode(entry.path))))
    return _Unit(entry, sum(e.info.st_size for e in inner if e.kind == "file"), len(inner))


def _choose(units: list[_Unit], *, size_cap: int, count_cap: int) -> tuple[set[bytes], list[_Unit]]:
    kept: set[bytes] = set()
    refused = []
    size = count = 0
    for unit in long_lists.in_order(units, key=lambda unit: unit.rank):
        if size + unit.size > size_cap or count + unit.count > count_cap:
            refused.append(unit)
            continue
        kept.add(unit.entry.path)
        size += unit.size
        count += unit.count
    return kept, refused


def _described(refused: Iterable[_Unit], rules: set[bytes]) -> list[Dropped]:
    listed = list(refused)
    reason = "ignored by git and over the cap for ignored files"
    if len(listed) <= _MANY:
        return [
            Dropped(
                path=os.fsdecode(unit.entry.path), reason=reason, size=unit.size, files=unit.count
            )
            for unit in listed
        ]
    groups: dict[bytes, list[_Unit]] = collections.defaultdict(list)
    for unit in listed:
        groups[_top_rule(unit.entry.path, rules)].append(unit)
    return [
        Dropped(
            path=os.fsdecode(top) + ("/" if len(group) > 1 else ""),
            reason=reason,
            size=sum(unit.size for unit in group),
            files=sum(unit.count for unit in group),
        )
        for top, group in long_lists.in_order(groups.items(), key=lambda item: item[0])
    ]


def _top_rule(path: bytes, rules: set[bytes]) -> bytes:
    parts = path.split(b"/")
    for length in range(1, len(parts)):
        head = b"/".join(parts[:length])
        if head in rules:
            return head
    return parts[0]
