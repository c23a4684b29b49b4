# ruff: noqa: PTH103, PTH118, PTH120
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""What an agent did, in two parts: what a merge takes, and what only its files have.

What is committed is told by ids, of objects that are at home: nothing in a workspace has a say in
it. The rest is what the files have beyond that, told without touching the agent's index.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from windlass.git import (
    beneath,
    index_entries,
    long_lists,
    mirror,
    path_count,
    views,
    workspace_state,
)
from windlass.git.blobs import Blobs, kinds
from windlass.git.bounds import QUICK, Patience
from windlass.git.environment import Dirs, limited
from windlass.git.read_budget import ReadingRoom
from windlass.git.repository import require
from windlass.git.runner import GitResult, armed, run, run_both

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windlass.git.environment import ReadBox
    from windlass.git.repository import Repository
    from windlass.git.workspace_state import WorkspacePlace


_SHOWN = ("-M", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", "--color=never")
_RAW = ("--no-renames", "--raw", "-z")
_LEFT_OUT = (b"S", b"s")
"""How git marks what a sparse checkout has no file for."""
_NO_INDEX = "/nonexistent/index"
_IN_ONE_PACK = {"core.bigFileThreshold": "1", "core.compression": "0", "core.fsync": "none"}
"""Has git write what it makes of files into one pack: a file for each took five times as long."""
_NEW = b"?"
"""How git marks what is not in the index."""


class Difference(msgspec.Struct, frozen=True):
    """What leads from the base to the tip, and from the tip to the files of the workspace."""

    committed: bytes
    uncommitted: bytes = b""
    unread: list[str] = []
    """Files of the workspace that are too large to be compared, too full of holes, or too many."""


def diff(
    repo: Repository, path: str, *, base: str, tip: str, stat: bool, box: ReadBox | None = None
) -> Difference:
    """Gives both parts between commits that are given by their ids, for a person to read.

    A clone is read through `box`, where there is one.
    """
    words = [*_SHOWN, "--stat" if stat else "--patch"]
    parts = list(_parts(repo, path, base=base, tip=tip, words=words, box=box))
    said = {part.name: part.said for part in parts}
    return Difference(**said, unread=parts[-1].unread)


def between(
    repo: Repository, *, base: str, tip: str, stat: bool, without: Sequence[str] = ()
) -> bytes:
    """Gives what leads from one commit at home to another, but for the files at some paths."""
    path_count.require_few(repo.dirs, tip)
    words = [*_SHOWN, "--stat" if stat else "--patch"]
    paths = [".", *(f":(exclude,literal){path}" for path in without)] if without else []
    return _compared(limited(repo.dirs), base, tip, words=words, paths=paths).out


def touched(repo: Repository, base: str, tip: str) -> list[str]:
    """Lists the files that differ between two commits, by their old and new names alike."""
    old, new = require(repo, base), require(repo, tip)
    path_count.require_few(repo.dirs, new)
    said = repo.git(
        "diff-tree",
        *("-r", "--no-renames", "--ignore-submodules=none", "--name-only", "-z"),
        *(old, new, "--"),
    )
    return [os.fsdecode(name) for name in long_lists.records(said.out) if name]


def materialise(
    repo: Repository, path: str, into: str, *, base: str, tip: str, box: ReadBox | None = None
) -> list[str]:
    """Writes the changed files of both parts as plain folders, `before` and `after` in each.

    They are `into/committed` and, where there is a workspace, `into/uncommitted`. Gives the files
    that are not read: see `Difference`.
    """
    unread: list[str] = []
    for part in _parts(repo, path, base=base, tip=tip, words=_RAW, box=box):
        before, after = (os.path.join(into, part.name, side) for side in ("before", "after"))
        os.makedirs(before)
        os.makedirs(after)
        unread += part.unread
        fields = long_lists.records(part.said)
        with Blobs(part.dirs) as blobs:
            for about, path_of in zip(fields, fields, strict=False):
                old_mode, new_mode, old, new, _ = about.lstrip(b":").split(b" ")
                _write(blobs, before, path_of, mode=old_mode, oid=old)
                _write(blobs, after, path_of, mode=new_mode, oid=new)
    return unread


def _write(blobs: Blobs, top: str, name: bytes, *, mode: bytes, oid: bytes) -> None:
    kind = int(mode, 8)
    if not (stat.S_ISREG(kind) or stat.S_ISLNK(kind)):
        return
    with beneath.new_file(top, name) as file:
        blobs.copy(oid.decode(), file)
        # The text of a link as a file: a diff tool would follow it out of the two folders.
        os.fchmod(file.fileno(), 0o644 if stat.S_ISLNK(kind) else stat.S_IMODE(kind))


class _Part(NamedTuple):
    """One part of a difference."""

    name: Literal["committed", "uncommitted"]
    said: bytes
    """What git says of it."""
    dirs: Dirs
    """Show its objects, until the next part is asked for."""
    unread: list[str]


def _parts(
    repo: Repository,
    path: str,
    *,
    base: str,
    tip: str,
    words: Sequence[str],
    box: ReadBox | None,
) -> Iterator[_Part]:
    path_count.require_few(repo.dirs, tip)
    home = limited(repo.dirs)
    said = _compared(home, base, tip, words=words)
    yield _Part("committed", said.out, home, [])
    room = ReadingRoom()
    with _staged(repo, path, tip=tip, box=box, room=room) as dirs:
        if dirs is not None:
            # As a tree: git would obey the `.gitattributes` of the index that it compares.
            made = run(["write-tree", "--missing-ok"], dirs=dirs, timeout=Patience().left)
            tree = made.out.decode("ascii").strip()
            said = _compared(dirs, tip, tree, words=words, timeout=Patience().left)
            yield _Part("uncommitted", said.out, dirs, list(map(os.fsdecode, room.unread)))


def _compared(
    dirs: Dirs,
    before: str,
    after: str,
    *,
    words: Sequence[str],
    paths: Sequence[str] = (),
    timeout: float = QUICK,
) -> GitResult:
    """Compares two trees, where what a file says decides whether it is text.

    Without files and without an index, git finds no `.gitattributes` that could hide a change.
    """
    asked = ["diff-tree", "-r", *words, before, after, "--", *paths]
    without = msgspec.structs.replace(dirs, work_tree=None, index=_NO_INDEX)
    return run(asked, dirs=without, timeout=timeout)


@contextlib.contextmanager
def _staged(
    repo: Repository, path: str, *, tip: str, box: ReadBox | None, room: ReadingRoom
) -> Iterator[Dirs | None]:
    """Lends folders in which the workspace as it is now is staged; None where nothing is left.

    What there is no `room` for is staged as the tip has it.

    Of a clone these show what its agent sees: agents read the answers too, and may name any object.
    """
    place = workspace_state.locate(repo, path, box=box)
    is_there = workspace_state.is_folder(place.path)
    if place.git_dir is None and not is_there:
        yield None
        return
    with contextlib.ExitStack() as stack:
        if place.lender is not None and workspace_state.narrows(place):
            origin = os.path.dirname(place.lender)
            if tip not in kinds(Dirs(git_dir=origin), [tip]):
                mirror.refresh(repo, origin, also=(tip,))
        if place.box is not None and place.lender is not None:
            dirs = stack.enter_context(views.proven(repo, place))
        else:
            dirs = _with_new_objects(repo, place, stack.enter_context(views.indexed(repo, place)))
        if is_there:
            # What the tip has is compared, also where it is ignored.
            dirs, first = views.at_commit(repo, place, dirs, tip)
            _stage_all(views.with_excludes(repo, dirs), first, room)
        yield msgspec.structs.replace(dirs, work_tree=None)


def _with_new_objects(repo: Repository, place: WorkspacePlace, dirs: Dirs) -> Dirs:
    """Has git write what it makes of the files into the folder that is lent."""
    new = os.path.join(dirs.git_dir, "objects")
    os.makedirs(new, exist_ok=True)
    lender = place.lender if workspace_state.narrows(place) else None
    known = workspace_state.quoted_alternate(lender or os.path.join(repo.git_dir, "objects"))
    return msgspec.structs.replace(armed(dirs), new_objects=new, objects=known)


def _stage_all(dirs: Dirs, first: list[str], room: ReadingRoom) -> None:
    # Not `add -A`: it stops at a nested repository without commits. Here each path is named, and
    # gitlinks stay as they are.
    listed = run_both(
        first,
        ["ls-files", "-v", "-z", "--cached", "--others", "--exclude-standard"],
        dirs=dirs,
        timeout=Patience().left,
    ).out
    top = os.fsencode(dirs.work_tree or "")
    names, marked = [], []
    for record in long_lists.records(listed):
        tag, name = record[:1], record[2:]
        info = _info(top, name)
        if info is None:
            if tag in _LEFT_OUT:
                continue
        elif not _is_plain(info) or not room.takes(top, name, info, is_new=tag == _NEW):
            continue
        names.append(name)
        if tag in _LEFT_OUT or tag.islower():
            marked.append(name)
    # Git takes what is marked for unchanged, whatever the file has become.
    index_entries.feed(["update-index", "--force-remove", "-z", "--stdin"], marked, dirs=dirs)
    dirs = msgspec.structs.replace(dirs, config={**dirs.config, **_IN_ONE_PACK})
    index_entries.feed(["update-index", "--add", "--remove", "-z", "--stdin"], names, dirs=dirs)


def _info(top: bytes, name: bytes) -> os.stat_result | None:
    try:
        return os.lstat(os.path.join(top, name))
    except OSError:
        return None


def _is_plain(info: os.stat_result) -> bool:
    """Leaves out nested repositories, which git would open."""
    return stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode)
