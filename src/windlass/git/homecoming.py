# ruff: noqa: PTH108, PTH118, PTH123
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Brings a clone's work into the main repository without obeying anything in the clone.

A clone's configuration, alternates, links and pointers are agent-written: fetching from it can
pull another repository's objects into ours. While its agent lives, `fetch` has the sending side
run in a box that shows the clone and what it borrows, and no more. At its end, `bring` copies the
object files, plain ones only, into a folder of our own and packs from there. Either way every id
is computed again on arrival.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import stat
import tempfile
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from windlass.core.errors import Conflict, GitError
from windlass.core.printable import printable, printable_line
from windlass.git import gitfiles, views, workspace_state, worktrees
from windlass.git.blobs import kinds
from windlass.git.quarantine import DURABLE
from windlass.git.repository import check_branch_name, null_oid, read_ref, refs_under, set_ref
from windlass.git.runner import LONG, boxed, environment, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windlass.git.quarantine import Quarantine
    from windlass.git.repository import Repository
    from windlass.git.runner import Dirs
    from windlass.git.workspace_state import WorkspacePlace

log = logging.getLogger(__name__)

_TRIES = 3
_ONE_BY_ONE = 500
"""Ids that are asked about by themselves, where not all of them are there."""

Signature = tuple[tuple[int, ...], ...]


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


def fetch(
    repo: Repository,
    *,
    path: str,
    branch: str,
    upload_pack: Sequence[str],
    timeout: float = 300.0,
) -> str | None:
    """Brings a clone's branch into the main repository's branch of that name, whatever that was.

    `upload_pack` starts a program in a box that shows nothing but the clone and what it borrows.
    Gives the new tip; None when there is nothing new. Every object is checked before it is kept,
    and the branch moves last.
    """
    check_branch_name(branch)
    ref = f"refs/heads/{branch}"
    folder = workspace_state.canonical(path)
    for _ in range(_TRIES):
        worktrees.refuse_elsewhere(repo, branch, path=folder)
        had = read_ref(repo, ref)
        with _fetched(repo, path=path, ref=ref, box=upload_pack, timeout=timeout) as tip:
            if tip is None or tip == had:
                return None
            _require_whole(repo, tip)
            with workspace_state.locked(repo, "apply"):
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
def _fetched(
    repo: Repository, *, path: str, ref: str, box: Sequence[str], timeout: float
) -> Iterator[str | None]:
    """Gets the objects, and keeps them from being tidied away until the branch has them."""
    git_dir = os.path.join(path, ".git")
    _refuse_odd(git_dir, ref)
    inside = boxed(box, environment(None, config={}, extra={}))
    # Only the one branch is offered, however many there are.
    shown = ["-c", "transfer.hideRefs=refs", "-c", f"transfer.hideRefs=!{ref}"]
    sending = shlex.join([*inside, *shown, "upload-pack", "--strict"])
    # Without a lock on the new pack git 2.39 falls over its own check of the objects.
    flags = ("-q", "--no-progress", "--lock-pack", f"--upload-pack={sending}")
    said = run(
        ["fetch-pack", *flags, git_dir, ref],
        dirs=repo.dirs,
        config={"protocol.file.allow": "always", "transfer.fsckObjects": "true"},
        ok=range(-64, 256),
        timeout=timeout,
    )
    answers = [line.partition(b" ") for line in said.out.splitlines()]
    try:
        if said.code != 0 and b"no such remote ref" not in said.err:
            lines = printable(said.err.decode(errors="backslashreplace")).strip().splitlines()
            raise GitError(
                f"{printable_line(path)} does not come home:"
                f" {' '.join(lines[-3:]) or f'git ended with {said.code}'}",
                f"look at it: `git -C {printable_line(path)} fsck`",
            )
        yield next((oid.decode() for oid, _, name in answers if os.fsdecode(name) == ref), None)
    finally:
        for word, _, lock in answers:
            if word == b"lock":
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(lock)


def _refuse_odd(git_dir: str, ref: str) -> None:
    """Refuses early, with a reason, what the box would make fail or wait for ever."""
    folders = ("", "objects", "refs", "refs/heads")
    files = ("HEAD", "config", "packed-refs", "objects/info/alternates", "shallow", ref)
    for name in folders:
        if not workspace_state.is_folder(os.path.join(git_dir, name)):
            raise _odd(git_dir, name)
    for name in files:
        with contextlib.suppress(OSError):
            if not stat.S_ISREG(os.lstat(os.path.join(git_dir, name)).st_mode):
                raise _odd(git_dir, name)


def _odd(git_dir: str, name: str) -> Conflict:
    return Conflict(
        f"{printable_line(os.path.join(git_dir, name))} is not what git made it",
        "something was put in its place; salvage the workspace or mend it by hand",
    )


def _require_whole(repo: Repository, tip: str) -> None:
    """Refuses a tip that is no commit, or that reaches what did not come along."""
    run(["cat-file", "commit", tip], dirs=repo.dirs)
    run(["rev-list", "--objects", "--quiet", tip, "--not", "--all"], dirs=repo.dirs, timeout=LONG)


class Brought(NamedTuple):
    """What of a clone came home, and what stays because the clone lacks a part of it.

    `raw` says that git did not take its objects for what they are called.
    """

    came: set[str]
    behind: list[str]
    raw: bool = False


def bring(
    repo: Repository, inside: Quarantine, *, place: WorkspacePlace, wanted: set[str]
) -> Brought:
    """Makes everything that `wanted` reaches available in the quarantine."""
    if place.git_dir is None:
        return Brought(set(), [])
    if place.box is not None:
        return _bring_from_box(repo, inside, place=place, wanted=wanted)
    with tempfile.TemporaryDirectory(prefix="incoming-", dir=inside.folder) as folder:
        lent = os.path.join(folder, "lent")
        gitfiles.lend_objects(place.git_dir, lent)
        seen = workspace_state.of_clone(
            place,
            msgspec.structs.replace(inside.dirs, objects=workspace_state.lent_list(place, lent)),
        )
        return _carry(repo, inside, seen=seen, folder=folder, wanted=wanted)


def _bring_from_box(
    repo: Repository, inside: Quarantine, *, place: WorkspacePlace, wanted: set[str]
) -> Brought:
    """Has the sending side run in a box. What cannot be sent or taken stays, and is told of."""
    with (
        views.indexed(repo, place) as bare,
        tempfile.TemporaryDirectory(prefix="incoming-", dir=inside.folder) as folder,
    ):
        seen = views.with_objects(place, bare)
        try:
            return _carry(repo, inside, seen=seen, folder=folder, wanted=wanted)
        except GitError as error:
            log.warning("the objects of %s stay as they are: %s", place.path, error.message)
            return Brought(set(), sorted(wanted), raw=True)


def _carry(
    repo: Repository, inside: Quarantine, *, seen: Dirs, folder: str, wanted: set[str]
) -> Brought:
    there = sorted(kinds(seen, wanted))
    had = sorted(kinds(seen, refs_under(repo, "refs").values()))
    tips = there if _are_whole(seen, there, had) else []
    if not tips:
        tips = [oid for oid in there[:_ONE_BY_ONE] if _are_whole(seen, [oid], had)]
    walked = _walk_of(tips, had)
    with open(os.path.join(folder, "incoming.pack"), "w+b") as pack:
        run(
            ["pack-objects", "-q", "--revs", "--stdout"],
            dirs=seen,
            stdin=walked,
            sink=pack,
            config=DURABLE,
            timeout=LONG,
        )
        pack.seek(0)
        strict = ("--strict",) if seen.box else ()
        run(
            ["index-pack", "--stdin", *strict],
            dirs=inside.dirs,
            source=pack,
            config=DURABLE,
            timeout=LONG,
        )
    # The copies are gone now: whatever a lying object file left out is missed here.
    run(["rev-list", "--objects", "--quiet", "--stdin"], dirs=inside.dirs, stdin=walked)
    return Brought(set(tips), sorted(set(there) - set(tips)))


def _are_whole(dirs: Dirs, tips: list[str], had: list[str]) -> bool:
    args = ["rev-list", "--objects", "--quiet", "--stdin"]
    said = run(args, dirs=dirs, stdin=_walk_of(tips, had), ok=range(256), timeout=LONG)
    return said.code == 0


def _walk_of(tips: list[str], had: list[str]) -> bytes:
    return "\n".join([*tips, *(f"^{oid}" for oid in had)]).encode() + b"\n"
