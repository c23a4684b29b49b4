# ruff: noqa: PTH118
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Brings a clone along when its own branch is moved by a merge: files, index, and its ref.

What writes into an agent's folder is git inside a box, so that a link planted there leads nowhere;
what is taken away there is reached through no link. The order is files, index, the clone's ref, and
then (by the caller) the main repository's; what died anywhere in between is put right by the next
call.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING

import msgspec

from windlass.core.errors import Conflict, GitError
from windlass.core.printable import printable_line
from windlass.git import checkout, gitfiles, index_lock, mirror, registered, workspace_state
from windlass.git.checkout import Follower
from windlass.git.environment import Dirs
from windlass.git.index_lock import Move
from windlass.git.runner import armed, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windlass.git.index_entries import Side
    from windlass.git.repository import Repository

_COPY = "windlass-index"
_SECONDS = 60.0
"""For one look at a clone, or one move of it, and once more for putting right what went wrong. It
is an agent's, who can keep git waiting, and whoever merges into it or ends it waits as well."""


@contextlib.contextmanager
def held(
    repo: Repository, path: str, *, ref: str, old: str, new: str, lock: int, box: Sequence[str]
) -> Iterator[Follower]:
    """Holds a clone's index lock while its branch `ref` goes from `old` to `new`."""
    move = Move(old=old, new=new)
    with _opened(repo, path, box=box, also=(old, new)) as (dirs, top):
        follower = _CloneFollower(dirs, top=top, git_dir=dirs.git_dir, move=move, lock=lock)
        follower.ref = ref
        with follower.holding():
            yield follower


def settle(repo: Repository, path: str, *, lock: int, box: Sequence[str]) -> None:
    """Puts a clone right that an earlier call left half moved, if it is one.

    Its agent could have written that it is: nothing is brought into the clone for it, and its
    commits are looked for where the agent sees them.
    """
    place = workspace_state.locate(repo, path)
    if place.git_dir is None:
        return
    with gitfiles.opened(place.git_dir) as top:
        move = index_lock.left(top)
    if move is not None:
        with _opened(repo, path, box=box) as (dirs, top):
            move = checkout.known(move, dirs, git_dir=dirs.git_dir)
            _CloneFollower(dirs, top=top, git_dir=dirs.git_dir, move=move, lock=lock).settle()


@contextlib.contextmanager
def _opened(
    repo: Repository, path: str, *, box: Sequence[str], also: Sequence[str] = ()
) -> Iterator[tuple[Dirs, int]]:
    """Lends folders over a copy of the clone's index for git in the box, and its open git folder.

    The commits in `also` are brought to where the clone borrows from.
    """
    place = workspace_state.locate(repo, path)
    if place.git_dir is None:
        raise GitError(
            f"{printable_line(path)} is no clone any more", "salvage the workspace, or mend it"
        )
    if not box:
        raise Conflict(
            f"{printable_line(path)} is a clone, which only git in a box may change",
            "`wl doctor` says what this machine lacks for a box",
        )
    origin = registered.origin_of(repo, place.path)
    if origin is None:
        raise Conflict(
            f"{printable_line(path)} is a clone of an older Windlass, which borrows otherwise",
            "pause its agent and resume it, then try again",
        )
    mirror.refresh(repo, origin, also=also)
    dirs = armed(
        Dirs(
            git_dir=place.git_dir,
            work_tree=place.path,
            index=os.path.join(place.git_dir, _COPY),
            objects=workspace_state.quoted_alternate(mirror.objects(origin)),
            box=tuple(box),
            until=time.monotonic() + _SECONDS,
        )
    )
    with gitfiles.opened(place.git_dir) as top:
        try:
            yield dirs, top
        finally:
            _remove(top, _COPY)


def _remove(top: int, name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=top)


class _CloneFollower(Follower):
    """One clone on its way from one commit to another, its own branch with it."""

    ref: str

    def follow(self) -> None:
        """Moves files and index where the branch is checked out, and the clone's own branch."""
        self._refuse_moved()
        if self._is_on_it():
            super().follow()
        try:
            self._set(self._move.new, self._move.old)
        except (GitError, OSError):
            if self._is_on_it():
                super().go_back()
            raise

    def refuse(self) -> None:
        """Refuses, untouched, if something is in the way."""
        self._refuse_moved()
        if self._is_on_it():
            super().refuse()

    def catch_up(self) -> None:
        """Follows only when the clone is exactly at old: else it is the agent's own doing."""
        if gitfiles.read_ref(self._dirs.git_dir, self.ref) == self._move.old:
            self.follow()

    def go_back(self) -> None:
        """Undoes `follow`: the clone's branch is where it was."""
        if self._is_on_it():
            super().go_back()
        self._set(self._move.old, self._move.new)

    def _bring_to(self, side: Side | None) -> None:
        self._dirs = msgspec.structs.replace(self._dirs, until=time.monotonic() + _SECONDS)
        super()._bring_to(side)

    def load(self) -> None:
        """Copies the real index beside itself, where git in the box can see it."""
        _remove(self._top, f"{_COPY}.lock")  # by a git that was killed
        gitfiles.copy_file(self._top, "index", into=_COPY, top=self._top)

    def _replace(self) -> None:
        os.replace(_COPY, "index", src_dir_fd=self._top, dst_dir_fd=self._top)

    def _is_on_it(self) -> bool:
        return gitfiles.read_head(self._dirs.git_dir)[0] == self.ref

    def _refuse_moved(self) -> None:
        tip = gitfiles.read_ref(self._dirs.git_dir, self.ref)
        folder = printable_line(self._dirs.work_tree or "")
        if tip not in (self._move.old, self._move.new):
            raise Conflict(
                f"{self.ref} moved to {tip or 'nothing'} in {folder} meanwhile",
                "look again and retry",
            )
        under_way = workspace_state.operation_in(self._dirs.git_dir)
        if under_way is not None:
            raise Conflict(f"a {under_way} is under way in {folder}", "let it be finished first")

    def _set(self, new: str, old: str) -> None:
        if gitfiles.read_ref(self._dirs.git_dir, self.ref) != new:
            run(["update-ref", "-m", "windlass: merge", self.ref, new, old], dirs=self._dirs)
