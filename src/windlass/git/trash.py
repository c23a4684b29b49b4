# ruff: noqa: PTH120
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Salvaged work, found and read from refs and commits alone.

Owns `refs/windlass/trash/<agent>/<stamp>`. Putting work there is `salvage`, bringing it back
`restore`, which is offered here too.
"""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

import msgspec

from windlass.core.errors import GitError, NotFound, UserError
from windlass.core.printable import printable_line
from windlass.git import long_lists, manifest, path_count
from windlass.git import restore as restores
from windlass.git.blobs import Blobs
from windlass.git.manifest import Dropped, Manifest, Stash, Summary
from windlass.git.repository import Commit, commits_between, delete_ref, refs_under
from windlass.git.restore import Restored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from windlass.git.environment import ReadBox
    from windlass.git.repository import Repository

__all__ = [
    "Contents",
    "Restored",
    "SalvagedChange",
    "TrashEntry",
    "empty",
    "entries",
    "find",
    "restore",
    "show",
]


class TrashEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One salvage, as a listing shows it."""

    id: str
    agent: str
    stamp: str
    ref: str
    commit: str
    time: int
    branch: str | None
    path: str
    summary: Summary
    dropped: list[Dropped]
    meta: dict[str, object]


class SalvagedChange(msgspec.Struct, frozen=True):
    """One file that differed from HEAD: A, M, D or T, and its path."""

    letter: str
    path: str


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """What is inside one salvage."""

    entry: TrashEntry
    changes: list[SalvagedChange]
    commits: list[Commit]
    stashes: list[Stash]
    nested: list[str]
    dropped: list[Dropped]


def entries(repo: Repository) -> list[TrashEntry]:
    """Lists all salvages, newest first; one that cannot be read is listed with its problem."""
    refs = refs_under(repo, manifest.TRASH)
    with Blobs(repo.dirs) as blobs:
        listed = [_entry(blobs, ref, commit) for ref, commit in refs.items()]
    return sorted(listed, key=lambda entry: (entry.time, entry.stamp), reverse=True)


def _entry(blobs: Blobs, ref: str, commit: str) -> TrashEntry:
    content = io.BytesIO()
    agent, _, stamp = ref.removeprefix(manifest.TRASH).rpartition("/")
    try:
        blobs.copy(f"{commit}:{manifest.NAME}", content)
        about = manifest.decode(content.getvalue())
    except (GitError, ValueError) as error:
        about = Manifest(agent=agent, stamp=stamp, meta={"problem": str(error)})
    return TrashEntry(
        id=f"{agent}-{stamp}",
        agent=agent,
        stamp=stamp,
        ref=ref,
        commit=commit,
        time=about.time,
        branch=about.branch,
        path=about.path,
        summary=about.summary,
        dropped=about.dropped,
        meta=about.meta,
    )


def find(repo: Repository, prefix: str) -> TrashEntry:
    """Finds a salvage by its id, the beginning of it, or its agent's name (then the newest)."""
    listed = entries(repo)
    for entry in listed:
        if prefix in (entry.id, entry.agent, entry.ref):
            return entry
    matching = [entry for entry in listed if prefix and entry.id.startswith(prefix)]
    if len(matching) == 1:
        return matching[0]
    if matching:
        names = ", ".join(printable_line(entry.id) for entry in matching[:5])
        raise UserError(f"{printable_line(prefix)} could be {names}", "type a few more characters")
    raise NotFound(
        f"nothing in the trash begins with {printable_line(prefix)}",
        "`wl trash` lists what there is",
    )


def show(repo: Repository, entry: TrashEntry) -> Contents:
    """Tells what is inside a salvage."""
    about = manifest.read(repo, entry.commit)
    commits = []
    if about.base and about.head:
        commits = commits_between(repo, about.base, about.head, limit=200)
    return Contents(
        entry=entry,
        changes=_changes(repo, entry.commit, about),
        commits=commits,
        stashes=about.stashes,
        nested=[os.path.dirname(nested.path) for nested in about.nested],
        dropped=about.dropped,
    )


def _changes(repo: Repository, commit: str, about: Manifest) -> list[SalvagedChange]:
    if not about.folder:
        return []
    nothing = repo.git("hash-object", "-w", "-t", "tree", "--stdin").out.decode().strip()
    had = f"{commit}:files"
    after = had if repo.git("cat-file", "-e", had, ok=(0, 1, 128)).code == 0 else nothing
    before = f"{about.head}^{{tree}}" if about.head else nothing
    for tree in (before, after):
        path_count.require_few(repo.dirs, tree)
    said = repo.git("diff-tree", "-r", "--no-renames", "--name-status", "-z", before, after)
    fields = long_lists.records(said.out)
    pairs = zip(fields, fields, strict=False)
    letters = {os.fsdecode(name): letter.decode() for letter, name in pairs}
    # They are not in the tree, where they look deleted if HEAD has them.
    letters |= {name: "M" if name in letters else "A" for name in about.hollow}
    return [SalvagedChange(letters[name], name) for name in long_lists.in_order(letters)]


def restore(
    repo: Repository,
    entry: TrashEntry,
    *,
    path: str,
    branch: str,
    agent: str = "",
    origin: str | None = None,
    box: ReadBox | None = None,
) -> Restored:
    """Brings a salvage back at `path` on the new branch `branch`.

    It is a worktree; or a clone, where `origin` names a mirror, which git fills through `box`.
    """
    return restores.restore(
        repo,
        manifest.read(repo, entry.commit),
        commit=entry.commit,
        path=path,
        branch=branch,
        agent=agent,
        origin=origin,
        box=box,
    )


def take_back(repo: Repository, entry: TrashEntry, *, path: str, branch: str, agent: str) -> None:
    """Takes away what `restore` brought back; the salvage stays."""
    restores.take_back(repo, commit=entry.commit, path=path, branch=branch, agent=agent)


def empty(repo: Repository, commits: Mapping[str, str]) -> None:
    """Forgets the salvages of these refs for good, if they are still at these commits.

    Git's own garbage collection frees the space.
    """
    for ref, commit in commits.items():
        delete_ref(repo, ref, old=commit)
