# ruff: noqa: PTH118, PTH119, PTH120
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""What a git that failed or was killed left in the files of a checkout that it was moving.

Owns telling such files from somebody's own, and bringing them back. What it takes away it reaches
folder by folder, through no link; what it writes is written by git, in a box where there is one.
"""

from __future__ import annotations

import contextlib
import enum
import os
from typing import TYPE_CHECKING

from windlass.git import gitfiles, index_entries, long_lists, names, workspace_state
from windlass.git.bounds import LONG
from windlass.git.index_entries import LINK, PLAIN, Side
from windlass.git.runner import run
from windlass.git.walk import kind_of

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from windlass.git.environment import Dirs
    from windlass.git.index_entries import Change, Entry
    from windlass.git.walk import Kind

_AT_ONCE = 100
"""How many names git is given as words."""


class Found(enum.Enum):
    """What stands where a move goes through."""

    NOTHING = "nothing"
    UNFINISHED = "a file of one of the two commits, or the beginning of one: git's own work"
    FOREIGN = "anything else: somebody's own"


def restore(dirs: Dirs, changes: list[Change], *, goal: Side, made: Container[bytes]) -> None:
    """Brings files to what one side of a move has, which the index of `dirs` has already.

    Somebody's own files stay as they are. Of folders only those in `made` are taken away.
    """
    with gitfiles.opened(os.path.realpath(dirs.work_tree or "")) as top:
        tree = _WorkTree(dirs, top)
        differing = _differing(dirs)
        # All are looked at before any is changed: attributes of the move say how they are written.
        unwanted = tree.unfinished(change for change in changes if change.on(goal) is None)
        wanted = [change for change in changes if change.path in differing and change.on(goal)]
        found = tree.look(wanted)
        for change in unwanted:
            tree.remove(change.path, made=made)
        blocked = [change for change in wanted if found[change.path] is Found.FOREIGN]
        for change in blocked:
            tree.remove_empty(change.path)
        found |= tree.look(blocked)
        _write(dirs, [path for path, is_ in found.items() if is_ is not Found.FOREIGN])


def _differing(dirs: Dirs) -> set[bytes]:
    """Lists the files that are not as the index has them; writes nothing."""
    said = run(
        ["status", "--porcelain", "-z", "--no-renames", "-uno", "--ignore-submodules=all"],
        dirs=dirs,
        timeout=LONG,
    )
    # The first letter compares the index with HEAD, the second the file with the index.
    return {line[3:] for line in long_lists.records(said.out) if line and line[1:2] != b" "}


def _write(dirs: Dirs, paths: list[bytes]) -> None:
    """Writes files as the index has them, attributes first: the others are written by those."""
    attributes = [path for path in paths if os.path.basename(path) == b".gitattributes"]
    others = [path for path in paths if path not in attributes]
    for group in (attributes, others):
        words = ["checkout-index", "-f", "-q", "-z", "--stdin"]
        index_entries.feed(words, group, dirs=dirs, timeout=LONG)


def folders_of(changes: Iterable[Change]) -> set[bytes]:
    """Lists every folder on the way to what is changed."""
    return names.folders_above(change.path for change in changes)


def absent(work_tree: str, folders: Iterable[bytes]) -> frozenset[bytes]:
    """Lists those of these folders that are not there."""
    return frozenset(
        folder
        for folder in folders
        if not workspace_state.is_folder(os.path.join(work_tree, os.fsdecode(folder)))
    )


class _WorkTree:
    """The files below the folder that is open as `top`, reached without following a link."""

    def __init__(self, dirs: Dirs, top: int) -> None:
        self._dirs = dirs
        self._top = top

    def unfinished(self, changes: Iterable[Change]) -> list[Change]:
        """Picks those at whose path there is git's own work."""
        asked = list(changes)
        found = self.look(asked)
        return [change for change in asked if found[change.path] is Found.UNFINISHED]

    def look(self, changes: list[Change]) -> dict[bytes, Found]:
        """Says what stands at each of these paths."""
        kinds = {change.path: self._kind(change.path) for change in changes}
        oids = self._hashed([path for path, kind in kinds.items() if kind == "file"])
        found = {}
        for change in changes:
            path, kind = change.path, kinds[change.path]
            if kind is None:
                found[path] = Found.NOTHING
            elif kind == "link":
                found[path] = self._judged(self._is_link(change))
            else:
                found[path] = self._judged(kind == "file" and self._is_file(change, oids.get(path)))
        return found

    @staticmethod
    def _judged(ours: bool) -> Found:
        return Found.UNFINISHED if ours else Found.FOREIGN

    def _kind(self, path: bytes) -> Kind | None:
        try:
            with self._beside(path) as (folder, name):
                mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                return kind_of(os.fsencode(name), mode)
        except FileNotFoundError:
            return None
        except OSError:
            return "special"  # a file or a link stands on the way, or it cannot be reached

    def _is_link(self, change: Change) -> bool:
        with self._beside(change.path) as (folder, name):
            target = os.fsencode(os.readlink(name, dir_fd=folder))
        return any(
            run(["cat-file", "blob", entry.oid], dirs=self._dirs).out == target
            for entry in (change.old, change.new)
            if entry is not None and entry.mode == LINK
        )

    def _is_file(self, change: Change, oid: bytes | None) -> bool:
        entries = [
            entry for entry in (change.old, change.new) if entry is not None and entry.mode in PLAIN
        ]
        return any(entry.oid == oid for entry in entries) or any(
            self._begins(change.path, entry) for entry in entries
        )

    def _hashed(self, paths: list[bytes]) -> dict[bytes, bytes]:
        """Gives the ids that files would have in git; none for what cannot be read."""
        oids: dict[bytes, bytes] = {}
        while paths:
            batch = paths[:_AT_ONCE]
            said = run(
                ["hash-object", "-t", "blob", "--", *batch],
                dirs=self._dirs,
                ok=range(256),
                timeout=LONG,
            )
            lines = said.out.split()
            oids.update(zip(batch, lines, strict=False))
            # Git stops at the first that it cannot read: the next batch begins behind that.
            paths = paths[min(len(lines) + 1, len(batch)) :]
        return oids

    def _begins(self, path: bytes, entry: Entry) -> bool:
        """Says whether a file is the beginning of what git would write for an entry."""
        said = run(
            ["cat-file", "--filters", b"--path=" + path, entry.oid], dirs=self._dirs, timeout=LONG
        )
        whole = said.out
        try:
            with self._beside(path) as (folder, name):
                written = gitfiles.read_at(folder, name, limit=len(whole) + 1)
        except OSError:
            return False
        return whole.startswith(written)

    def remove(self, path: bytes, *, made: Container[bytes]) -> None:
        """Removes a file, and those of the folders in `made` that are empty without it."""
        with contextlib.suppress(FileNotFoundError), self._beside(path) as (folder, name):
            os.unlink(name, dir_fd=folder)
        above = os.path.dirname(path)
        while above in made and self.remove_empty(above):
            above = os.path.dirname(above)

    def remove_empty(self, path: bytes) -> bool:
        """Removes a folder if there is one and it is empty; says whether it did."""
        try:
            with self._beside(path) as (folder, name):
                os.rmdir(name, dir_fd=folder)
        except OSError:
            return False
        return True

    @contextlib.contextmanager
    def _beside(self, path: bytes) -> Iterator[tuple[int, str]]:
        """Opens the folder that a path lies in; gives that and the last name."""
        folder, _, name = os.fsdecode(path).rpartition("/")
        with gitfiles.opened(folder, top=self._top) as here:
            yield here, name
