"""What is kept of ended agents, and is over: salvages in the trash, and archives.

A salvage needs its archive to come back as it was, so an archive outlives its salvage. An archive
that has the only copy of somebody's work stays for ever.
"""

from __future__ import annotations

import datetime as dt
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from windlass.core.errors import WindlassError
from windlass.core.events import TrashEmptied
from windlass.core.ids import RepoId
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.retention import needs
from windlass.daemon.retention.needs import Needs
from windlass.git import trash, trash_packs
from windlass.git.erasure import erase
from windlass.git.trash import TrashEntry
from windlass.store import rows
from windlass.store.rows import Repo

log = logging.getLogger(__name__)

_NAME = re.compile(r"(?P<stamp>\d{8}T\d{6})-\d{3}-.")
_UNFINISHED = "something that is not finished needs it"


class Over(NamedTuple):
    """One thing that is older than it is kept, and why it stays all the same, if it does."""

    name: str
    size: int
    stays: str = ""


class Trash(NamedTuple):
    """The trash of one repository, and who of it must stay."""

    repo: Repo
    entries: list[TrashEntry]
    undoable: frozenset[str]


class EndedAgents:
    """Looks through trash and archives once; what it finds is of that moment."""

    def __init__(self, context: Context, needed: Needs) -> None:
        self._context = context
        self._needed = needed
        self._unseen: set[RepoId] = set()
        self.trash = [seen for repo in context.store.read(rows.repos) if (seen := self._look(repo))]

    def _look(self, repo: Repo) -> Trash | None:
        try:
            if repos.is_gone(repo):
                self._unseen.add(repo.id)
                return None
            entries = trash.entries(repos.git(repo))
        except WindlassError as error:
            log.warning("the trash of %s cannot be read: %s", repo.root, error.message)
            self._unseen.add(repo.id)
            return None
        by_id = {entry.id: entry for entry in entries}
        undoable = self._context.store.read(lambda c: needs.of_undo(c, repo.id, by_id))
        return Trash(repo, entries, undoable)

    def packs(self, *, removes: bool) -> Iterator[Over]:
        """Makes one pack of the many that salvages have left in a repository.

        Before salvages go: by these it is known which packs are ours.
        """
        for kept in self.trash:
            done = trash_packs.consolidate(repos.git(kept.repo), removes=removes)
            if done.packs:
                yield Over(f"{done.packs} packs in {kept.repo.git_dir}", done.size)

    def old_trash(self, *, before: float, removes: bool) -> Iterator[Over]:
        """Finds salvages that are older, and removes those that nothing needs."""
        for kept in self.trash:
            old = [entry for entry in kept.entries if 0 < entry.time < before]
            stay = {entry.id: self._why_salvage_stays(kept, entry) for entry in old}
            over = [entry for entry in old if not stay[entry.id]]
            if removes and over:
                trash.empty(repos.git(kept.repo), {entry.ref: entry.commit for entry in over})
                event = TrashEmptied(entries=[entry.id for entry in over])
                self._context.store.write(lambda w, e=event, r=kept.repo.id: w.emit(e, repo=r))  # type: ignore[misc]
                kept.entries[:] = [entry for entry in kept.entries if entry not in over]
            yield from (Over(entry.id, entry.summary.size, stay[entry.id]) for entry in old)

    def _why_salvage_stays(self, kept: Trash, entry: TrashEntry) -> str:
        if "problem" in entry.meta:
            return "it cannot be read"
        if self._needed.names(entry.id, entry.ref, entry.commit):
            return _UNFINISHED
        return "the next `wl undo` brings it back" if _uid(entry) in kept.undoable else ""

    def old_archives(self, *, before: float, removes: bool) -> Iterator[Over]:
        """Finds archives that are older, and removes those that nothing needs."""
        salvaged = {name for kept in self.trash for e in kept.entries for name in _archives_of(e)}
        undoable = frozenset(uid for kept in self.trash for uid in kept.undoable)
        for folder in sorted(self._context.folders.archive.glob("*T*-*")):
            made = _made(folder.name)
            if made is None or made >= before or folder.is_symlink():
                continue
            stays = self._why_archive_stays(folder, salvaged, undoable)
            size = bytes_in(folder)
            if removes and not stays:
                erase(str(folder))
            yield Over(folder.name, size, stays)

    def _why_archive_stays(self, folder: Path, salvaged: set[str], undoable: frozenset[str]) -> str:
        uid, repo = _owner(folder)
        if (folder / "workspace").is_dir():
            return f"it has the only copy of the work: {folder / 'workspace'}"
        if self._needed.names(folder.name, uid):
            return _UNFINISHED
        if uid in undoable:
            return "the next `wl undo` brings it back"
        if folder.name in salvaged:
            return "its work is in the trash"
        return "its repository is not where it was" if repo in self._unseen else ""


def _uid(entry: TrashEntry) -> str:
    row = entry.meta.get("row")
    return str(row.get("uid", "")) if isinstance(row, dict) else ""


def _archives_of(entry: TrashEntry) -> tuple[str, ...]:
    """What the archive of a salvage may be called: an agent may have ended more than once."""
    row = entry.meta.get("row")
    earlier = row.get("archive") if isinstance(row, dict) else None
    own = f"{entry.stamp}-{entry.agent}"
    return (own, earlier) if isinstance(earlier, str) else (own,)


def _made(name: str) -> float | None:
    """When an archive was made, which its name says; None for what is none of ours."""
    found = _NAME.match(name)
    if found is None:
        return None
    moment = dt.datetime.strptime(found["stamp"], "%Y%m%dT%H%M%S").replace(tzinfo=dt.UTC)
    return moment.timestamp()


def _owner(folder: Path) -> tuple[str, str]:
    """The uid and the repository of an archived agent, as far as its archive says so."""
    try:
        row = msgspec.json.decode((folder / "agent.json").read_bytes(), type=dict[str, object])
    except (OSError, msgspec.DecodeError, msgspec.ValidationError):
        return "", ""
    return str(row.get("uid", "")), str(row.get("repo", ""))


def bytes_in(folder: Path) -> int:
    """Counts the bytes of the files below a folder, however deep; links are not followed.

    What lies deeper than the system can name is not counted.
    """
    total, left = 0, [os.fsencode(folder)]
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
        except OSError:  # it is gone by now, or closed to us
            continue
    return total
