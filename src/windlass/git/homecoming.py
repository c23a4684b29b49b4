# ruff: noqa: PTH118, PTH120
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Brings a clone's work into the main repository without obeying anything in the clone.

A clone's configuration, alternates, links and pointers are agent-written: fetching from it can
pull another repository's objects into ours. So nothing but its object files is read, and its one
ref. They are linked, plain files only, into a folder of our own, so that no pipe among them holds
anybody up. While its agent lives, `fetch` has git read them in a box that shows that folder and the
mirror, and no more; at its end `bring` does, where there is a box. `arrival` checks and measures
what comes.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from windlass.core.errors import Conflict, GitError
from windlass.core.printable import printable_line
from windlass.git import (
    arrival,
    checkout_size,
    gitfiles,
    mirror,
    path_count,
    registered,
    views,
    workspace_state,
    worktrees,
)
from windlass.git.arrival import Allowed, TooLarge
from windlass.git.blobs import kinds
from windlass.git.bounds import LONG, QUICK, Patience
from windlass.git.environment import Dirs, spelled_for_clone
from windlass.git.path_count import TooManyPaths
from windlass.git.quarantine import DURABLE, quarantine, sync
from windlass.git.repository import null_oid, read_ref, refs_under, set_ref
from windlass.git.runner import run
from windlass.git.walk import walk

if TYPE_CHECKING:
    from windlass.git.quarantine import Quarantine
    from windlass.git.repository import Repository
    from windlass.git.workspace_state import WorkspacePlace

log = logging.getLogger(__name__)

_TRIES = 3
_ONE_BY_ONE = 500
"""Ids that are asked about by themselves, where not all of them are there."""
_LISTED = 1000
"""Ids that are listed, where none came and all objects are kept as they are."""
_SPARE = 64 << 20
"""Bytes that the objects of a clone may take more than before, when it ends."""

Signature = tuple[tuple[int, ...], ...]
Admit = Callable[[str, int], None]
"""Is told which tip comes, and how many bytes that adds; raises where it may not."""
SendBox = Callable[[str], Sequence[str]]
"""Gives the words that start a program in a box: it shows the folder named and the mirror."""
LENT_PREFIX = "lent-"
"""How folders of linked objects begin; they lie beside the mirror."""


def signature(path: str, branch: str) -> Signature:
    """Tells whether a clone's branch may have moved since it was last asked, without a process."""
    names = (f"refs/heads/{branch}", "packed-refs", "reftable/tables.list")
    return tuple(_stat(os.path.join(path, ".git", name)) for name in names)


def _stat(path: str) -> tuple[int, ...]:
    try:
        info = os.lstat(path)
    except (OSError, ValueError):
        return ()
    return (info.st_mode, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)


def written_tip(path: str, branch: str) -> str | None:
    """Gives the id that a clone's branch has, as written; None where it has no such branch."""
    return _tip_of(os.path.join(workspace_state.canonical(path), ".git"), f"refs/heads/{branch}")


def fetch(
    repo: Repository,
    *,
    path: str,
    branch: str,
    box: SendBox,
    allowed: Allowed,
    admit: Admit,
    since: str = "",
    timeout: float = 300.0,
) -> str | None:
    """Brings a clone's branch into the main repository's branch of that name, whatever that was.

    `box` starts a program in a box that shows nothing but what is lent of the clone and its mirror,
    and ends it when it writes more than is `allowed`. Gives the new tip; None when there is nothing
    new. Every object is checked before it is kept, and `admit` asked before any is; the branch
    moves last. `since` is the ref of what its agent began with: files that are not in that may take
    no more when they are checked out than what comes may unfold to.
    """
    ref = f"refs/heads/{branch}"
    folder = workspace_state.canonical(path)
    git_dir = os.path.join(folder, ".git")
    origin = _origin(repo, folder)
    for _ in range(_TRIES):
        worktrees.refuse_elsewhere(repo, branch, path=folder)
        tip = _tip_of(git_dir, ref)
        refs = refs_under(repo, "refs")
        had = refs.get(ref)
        if tip is None or tip == had:
            return None
        with quarantine(repo) as inside, _lent(git_dir, origin=origin, box=box) as seen:
            walk_of = _walk_of([tip], _known(repo, origin, refs))
            try:
                found = arrival.receive(
                    inside, seen=seen, walk=walk_of, allowed=allowed, timeout=timeout
                )
            except TooLarge:
                raise
            except GitError as error:
                raise _stays(folder, error) from error
            arrival.settle(inside, found)
            _require_whole(inside.beside(repo), tip, but=kinds(repo.dirs, refs.values()))
            _require_few(inside.beside(repo), tip)
            _require_room(inside.beside(repo), tip, since=refs.get(since), allowed=allowed)
            admit(tip, inside.growth(repo))
            inside.release(repo)
        with workspace_state.locked_branch(repo, branch):
            try:
                worktrees.refuse_elsewhere(repo, branch, path=folder)
                set_ref(repo, ref, tip, old=had or null_oid(repo))
            except Conflict:
                # A merge moved it meanwhile, and the clone with it.
                if read_ref(repo, ref) == had:
                    raise
                continue
        return tip
    raise Conflict(f"{printable_line(branch)} keeps moving", "try again")


@contextlib.contextmanager
def _lent(git_dir: str, *, origin: str, box: SendBox) -> Iterator[Dirs]:
    """Lends a box that shows a clone's object files beside its mirror, and nothing but files.

    The folder lies where the clones do, so that files can be linked; a box of an agent's shows the
    mirror, and not what is beside it.
    """
    folder = tempfile.mkdtemp(prefix=LENT_PREFIX, dir=os.path.dirname(origin))
    try:
        lent = os.path.join(folder, "objects")
        gitfiles.lend_objects(git_dir, lent)
        objects = workspace_state.quoted_alternate(lent)
        yield Dirs(git_dir=origin, objects=objects, box=tuple(box(lent)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _origin(repo: Repository, folder: str) -> str:
    origin = registered.origin_of(repo, folder)
    if origin is None:
        raise Conflict(
            f"{printable_line(folder)} is a clone of an older Windlass, which borrows otherwise",
            "pause its agent and resume it, then try again",
        )
    return origin


def _known(repo: Repository, origin: str, refs: dict[str, str]) -> list[str]:
    """Lists tips that the main repository has, and that can be seen from inside the box.

    Not tags, which may be thousands, and name little that no branch reaches.
    """
    here = {oid for name, oid in refs.items() if not name.startswith("refs/tags/")}
    return sorted(here & mirror.brought(repo, origin))


def _stays(folder: str, error: GitError) -> GitError:
    shown = printable_line(folder)
    said = " ".join(error.message.split())
    look = spelled_for_clone(folder, "fsck")
    return GitError(f"{shown} does not come home: {said}", f"look at it in its box: {look}")


def _tip_of(git_dir: str, ref: str) -> str | None:
    """Reads where a clone's branch is; None where it has none."""
    _refuse_odd(git_dir, ref)
    tip = gitfiles.read_ref(git_dir, ref)
    if tip is None and os.path.lexists(os.path.join(git_dir, ref)):
        raise _odd(os.path.join(git_dir, ref))
    return tip


def _refuse_odd(git_dir: str, ref: str) -> None:
    """Refuses early, with a reason, what the box would make fail or wait for ever."""
    below = partial(os.path.join, git_dir)
    for folder in (git_dir, *map(below, ("objects", "refs", "refs/heads"))):
        if not workspace_state.is_folder(folder):
            raise _odd(folder)
    for file in map(below, ("packed-refs", "objects/info/alternates", ref)):
        with contextlib.suppress(OSError):
            if not stat.S_ISREG(os.lstat(file).st_mode):
                raise _odd(file)


def _odd(path: str) -> Conflict:
    return Conflict(
        f"{printable_line(path)} is not what git made it",
        "something was put in its place; salvage the workspace or mend it by hand",
    )


def _require_whole(dirs: Dirs, tip: str, *, but: Iterable[str]) -> None:
    """Refuses a tip that is no commit, or that reaches what did not come along."""
    # Not `--all`: one ref that names what is not there would keep everybody's work out.
    walk_of = _walk_of([f"{tip}^{{commit}}"], sorted(but))
    run(["rev-list", "--objects", "--quiet", "--stdin"], dirs=dirs, stdin=walk_of, timeout=LONG)


def _require_few(dirs: Dirs, tip: str) -> None:
    """Refuses what whoever looks at it would have to unfold."""
    try:
        path_count.require_few(dirs, tip)
    except TooManyPaths as error:
        raise TooLarge(error.message, error.hint, "object") from error


def _require_room(dirs: Dirs, tip: str, *, since: str | None, allowed: Allowed) -> None:
    """Refuses what would fill a disk where somebody begins with it, merges or tests it."""
    size = checkout_size.added(dirs, tip, since=since)
    if size is None or size > allowed.unfolded:
        shown = "more files than are counted" if size is None else f"{size >> 20} MiB of files"
        raise TooLarge(f"checked out it is {shown}", "commit less, or raise the limit", "unfolded")


class Brought(NamedTuple):
    """What of a clone came home, and what stays because the clone lacks a part of it.

    `raw` says why its objects cannot come as what they are, where that is so: then none did.
    """

    came: set[str]
    behind: list[str]
    raw: str = ""


def bring(
    repo: Repository,
    inside: Quarantine,
    *,
    place: WorkspacePlace,
    wanted: set[str],
    allowed: Allowed,
) -> Brought:
    """Makes everything that `wanted` reaches available in the quarantine.

    What cannot be sent or taken stays, and so does what would be much larger here than there.
    """
    if place.git_dir is None:
        return Brought(set(), [])
    try:
        shared = _shared(repo, place, wanted)
    except GitError as error:
        return _left(place, wanted, error)
    if shared == wanted:
        return Brought(shared, [])
    most = 2 * _size(place.git_dir) + _SPARE
    allowed = msgspec.structs.replace(allowed, added=min(allowed.added, most))
    with views.indexed(repo, place) as bare:
        # Without its files: git would look for attributes among them, and find a pipe.
        alone = msgspec.structs.replace(bare, work_tree=None)
        seen = workspace_state.of_clone(place, views.with_objects(place, alone))
        try:
            rest = _carry(repo, inside, seen=seen, wanted=wanted - shared, allowed=allowed)
        except GitError as error:
            return _left(place, wanted, error)
    return rest._replace(came=rest.came | shared)


def _left(place: WorkspacePlace, wanted: set[str], error: GitError) -> Brought:
    log.warning("the objects of %s stay as they are: %s", place.path, error.message)
    why = error.message if isinstance(error, TooLarge) else "git does not take them as such"
    return Brought(set(), sorted(itertools.islice(wanted, _LISTED)), raw=why)


def _size(git_dir: str) -> int:
    files = (entry for entry in walk(os.path.join(git_dir, "objects")) if entry.kind == "file")
    return sum(entry.info.st_size for entry in files)


def _shared(repo: Repository, place: WorkspacePlace, wanted: set[str]) -> set[str]:
    """Gives what of it the agent was shown or came home before, and is whole here."""
    if not workspace_state.narrows(place):
        return set()
    shown = sorted(kinds(workspace_state.of_clone(place, repo.dirs), wanted))
    had = sorted(kinds(repo.dirs, refs_under(repo, "refs").values()))
    return set(shown) if _are_whole(repo.dirs, shown, had, Patience()) else set()


def _carry(
    repo: Repository, inside: Quarantine, *, seen: Dirs, wanted: set[str], allowed: Allowed
) -> Brought:
    there = sorted(kinds(seen, wanted))
    had = sorted(kinds(seen, refs_under(repo, "refs").values()))
    patience = Patience()
    tips = there if _are_whole(seen, there, had, patience) else []
    if not tips:
        tips = [oid for oid in there[:_ONE_BY_ONE] if _are_whole(seen, [oid], had, patience)]
    walked = _walk_of(tips, had)
    arrival.receive(inside, seen=seen, walk=walked, allowed=allowed, timeout=QUICK, config=DURABLE)
    sync(inside.packs())
    # The clone is out of sight now: whatever a lying object file left out is missed here.
    run(["rev-list", "--objects", "--quiet", "--stdin"], dirs=inside.dirs, stdin=walked)
    return Brought(set(tips), sorted(set(there) - set(tips)))


def _are_whole(dirs: Dirs, tips: list[str], had: list[str], patience: Patience) -> bool:
    args = ["rev-list", "--objects", "--quiet", "--stdin"]
    said = run(args, dirs=dirs, stdin=_walk_of(tips, had), ok=range(256), timeout=patience.left)
    return said.code == 0


def _walk_of(tips: list[str], had: list[str]) -> bytes:
    return "\n".join([*tips, *(f"^{oid}" for oid in had)]).encode() + b"\n"
