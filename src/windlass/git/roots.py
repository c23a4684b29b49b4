"""Which commits of a workspace must stay reachable, so that no garbage collection takes them.

HEAD, the branch, stashes, private refs, unfinished merges and rebases, and everything the reflogs
still know. Ids are read from the workspace's own git files; only existing objects count.
"""

from __future__ import annotations

import itertools
import os
import re
from typing import TYPE_CHECKING

import msgspec

from windlass.git import gitfiles, workspace_state
from windlass.git.blobs import kinds
from windlass.git.bounds import LONG
from windlass.git.manifest import RESTORED, Dropped, Stash
from windlass.git.repository import refs_under
from windlass.git.runner import run
from windlass.git.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from windlass.git.quarantine import Quarantine
    from windlass.git.repository import Repository
    from windlass.git.workspace_state import WorkspacePlace

_ID = re.compile(rb"(?<![0-9a-f])(?:[0-9a-f]{64}|[0-9a-f]{40})(?![0-9a-f])")
_LIMIT = 64 << 20
_MOST_READ = 256 << 20
"""Bytes of all small files of a git folder, and of those in it, that are searched for ids."""
_AT_ONCE = 1 << 20
"""Bytes that are searched at once: nothing else of this process runs meanwhile."""
_LONGEST_ID = 64
MOST_IDS = 100_000
"""Ids that are looked for. Git itself writes one for each thing that was done in a workspace; an
agent can write down as many as its disk holds, and each takes memory, and time of git's."""
MOST_REFS = 10_000
MOST_STASHES = 1_000
_REMOTES, _TAGS = "refs/remotes/", "refs/tags/"
FETCHED = ("packed-refs", "FETCH_HEAD", "refs/", "logs/refs/remotes/")
"""Where a clone has what is the main repository's; its refs are asked for by themselves."""
_BULKY = ("objects", "index", "sharedindex", "modules", "lfs", "hooks")


class Roots(msgspec.Struct, frozen=True, kw_only=True):
    """What keeps a salvage alive: parents for commits, tree entries for anything else."""

    parents: list[str]
    loose: dict[str, str]
    """Trees, blobs and tags that git's own files name, by id."""
    asked: frozenset[str]
    kinds: dict[str, str]
    """What was asked for to choose, and what of it there is, with its type."""


class Mentioned:
    """Ids that the files of an agent mention, up to so many."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self.left_out = ""
        """Why there are more than these; empty where these are all."""
        self._room = _MOST_READ

    def add(self, ids: Iterable[str]) -> None:
        """Takes ids, as long as there is room for them."""
        for oid in ids:
            if len(self.ids) >= MOST_IDS and oid not in self.ids:
                self.left_out = f"its git files name more than {MOST_IDS:,} objects"
                return
            self.ids.add(oid)

    def search(self, content: bytes) -> None:
        """Takes the ids in the content of a file, bit by bit."""
        self._room -= len(content)
        if self._room < 0:
            self.left_out = f"its git files are more than {_MOST_READ >> 20} MiB"
        for begin in range(0, len(content), _AT_ONCE):
            if self.left_out:
                return
            # Those that begin in this part; where one ends behind it, more of it is seen.
            found = _ID.finditer(content, begin, begin + _AT_ONCE + _LONGEST_ID)
            self.add(match[0].decode() for match in found)


def mentioned(git_dir: str, into: Mentioned, *, but: tuple[str, ...] = ()) -> None:
    """Gathers the object ids that the small files of a git folder mention, `but` for some.

    Never the salvage that it was restored from: see `kept_before`.
    """
    for entry in walk(
        git_dir, enter=lambda path: path.split(b"/")[0].decode("latin-1") not in _BULKY
    ):
        name = os.fsdecode(entry.path)
        if entry.kind != "file" or name.split("/")[0].startswith(_BULKY):
            continue
        if name == RESTORED or name.startswith(but):
            continue
        into.search(gitfiles.read_data(git_dir, name, limit=_LIMIT))
        if into.left_out:
            return


def kept_before(repo: Repository, git_dir: str) -> set[str]:
    """Gathers what the salvage that a workspace was restored from kept alive, without itself.

    Else each salvage would hold the one before, which would count as the agent's and never go.
    """
    content = gitfiles.read_below(git_dir, RESTORED) or b""
    if not _ID.fullmatch(content):
        return set()
    said = repo.git("rev-list", "--parents", "--max-count=1", content.decode(), "--", ok=(0, 128))
    return set(said.out.decode().split()[1:])


def branch_log(git_dir: str, ref: str, into: Mentioned) -> None:
    """Gathers the ids in one ref's log."""
    own = workspace_state.canonical(git_dir)
    into.search(gitfiles.read_below(own, f"logs/{ref}", limit=_LIMIT) or b"")


def stashes(place: WorkspacePlace, *, branch: str | None) -> list[Stash]:
    """Lists the stashes that belong to the workspace, newest first, up to `MOST_STASHES`.

    Linked worktrees share one stash: theirs are those made on their branch. Those made on no
    branch could be anybody's, so they are kept too. A clone's are all its own.
    """
    own = workspace_state.canonical(place.common_dir)
    content = gitfiles.read_below(own, "logs/refs/stash", limit=_LIMIT)
    stashes: list[Stash] = []
    for line in reversed((content or b"").splitlines()):
        if len(stashes) == MOST_STASHES:
            break
        about, _, message = line.partition(b"\t")
        _, oid, *_ = (*about.split(b" ", 2), b"", b"")
        if not _ID.fullmatch(oid):
            continue  # no line of git's
        text = message.decode(errors="surrogateescape")
        origin = re.match(r"(?:WIP on|On) (.*?): ", text + " ")
        named = origin[1] if origin else "(no branch)"
        if place.kind == "clone" or named in (branch, "(no branch)"):
            stashes.append(Stash(oid=oid.decode(), message=text))
    return stashes


def private_refs(repo: Repository, place: WorkspacePlace) -> dict[str, str]:
    """Gives the refs that go away with the workspace, as they are written there."""
    if place.git_dir is None:
        return {}
    refs = gitfiles.read_refs(place.git_dir)
    if place.kind == "clone":
        return _own_refs(repo, refs)
    own = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")
    return {name: oid for name, oid in refs.items() if name.startswith(own)}


def _own_refs(repo: Repository, refs: dict[str, str]) -> dict[str, str]:
    """Leaves out what a clone has of the main repository: its tags and its branches."""
    theirs = refs_under(repo, "refs")
    known = set(theirs.values())
    unknown = (oid for name, oid in refs.items() if name.startswith(_REMOTES) and oid not in known)
    here = known | kinds(repo.dirs, itertools.islice(unknown, MOST_IDS)).keys()
    return {
        name: oid
        for name, oid in refs.items()
        if not (name.startswith(_TAGS) and theirs.get(name) == oid)
        and not (name.startswith(_REMOTES) and oid in here)
    }


def staged(index: Iterable[str], before: Iterable[str], into: Mentioned) -> set[str]:
    """Gives the ids in an index that are looked for: those of HEAD, and so many others."""
    named = set(index)
    had = set(before)
    new = named - had
    if len(new) <= MOST_IDS:
        return named
    into.left_out = into.left_out or f"its index names more than {MOST_IDS:,} new objects"
    return (named & had) | set(itertools.islice(new, MOST_IDS))


def first_refs(refs: dict[str, str]) -> tuple[dict[str, str], list[Dropped]]:
    """Gives those that are put back by name, and lists how many others there are.

    Those are in the git folder, which is kept as it is.
    """
    if len(refs) <= MOST_REFS:
        return refs, []
    ordered = sorted(refs.items(), key=lambda ref: ref[0].startswith(_REMOTES))
    reason = f"{len(refs) - MOST_REFS:,} refs beyond the first {MOST_REFS:,}; kept as raw bytes"
    return dict(ordered[:MOST_REFS]), [Dropped(path=".git: refs", reason=reason, files=0)]


def choose(inside: Quarantine, *, first: list[str], others: set[str]) -> Roots:
    """Picks the parents: `first` in order, then those of `others` that they do not contain."""
    asked = frozenset([*first, *others])
    kinds = inside.known(asked)
    leading = [oid for oid in dict.fromkeys(first) if kinds.get(oid) == "commit"]
    rest = sorted(oid for oid in others if kinds.get(oid) == "commit" and oid not in leading)
    loose = {oid: kind for oid, kind in kinds.items() if kind != "commit"}
    heads = _heads(inside, rest, leading) if rest else []
    return Roots(parents=[*leading, *heads], loose=loose, asked=asked, kinds=kinds)


def _heads(inside: Quarantine, commits: list[str], known: list[str]) -> list[str]:
    lines = [*commits, *(f"^{oid}" for oid in known)]
    said = run(
        ["rev-list", "--parents", "--stdin"],
        dirs=inside.dirs,
        stdin="\n".join(lines).encode() + b"\n",
        timeout=LONG,
    )
    listed = [line.split(" ") for line in said.out.decode().splitlines()]
    inner = {parent for _, *parents in listed for parent in parents}
    return [oid for oid, *_ in listed if oid not in inner]
