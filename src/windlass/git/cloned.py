# ruff: noqa: PTH118
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Brings a clone along when its own branch is moved by a merge: files, index, and its ref.

What writes into an agent's folder is git inside a box, so that a link planted there leads nowhere.
The order is files, index, the clone's ref, and then (by the caller) the main repository's; a call
that died anywhere in between is completed by the next.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from windlass.core.errors import Conflict, GitError
from windlass.core.printable import printable_line
from windlass.git import checkout, gitfiles, mirror, registered, workspace_state
from windlass.git.checkout import Follower
from windlass.git.runner import Dirs, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from windlass.git.repository import Repository

_COPY = "windlass-index"


@contextlib.contextmanager
def held(
    repo: Repository, path: str, *, ref: str, old: str, new: str, lock: int, box: Sequence[str]
) -> Iterator[Follower]:
    """Holds a clone's index lock while its branch `ref` goes from `old` to `new`."""
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
    mirror.refresh(repo, origin, also=(old, new))
    dirs = Dirs(
        git_dir=place.git_dir,
        work_tree=place.path,
        index=os.path.join(place.git_dir, _COPY),
        objects=workspace_state.quoted_alternate(mirror.objects(origin)),
        box=tuple(box),
    )
    with gitfiles.opened(place.git_dir) as top:
        follower = _CloneFollower(repo, dirs=dirs, top=top, old=old, new=new, lock=lock)
        follower.ref = ref
        with checkout.locked(follower, top, git_dir=place.git_dir, token=new):
            try:
                yield follower
            finally:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(_COPY, dir_fd=top)


class _CloneFollower(Follower):
    """One clone on its way from one commit to another, its own branch with it."""

    ref: str

    def follow(self) -> None:
        """Moves files and index where the branch is checked out, and the clone's own branch."""
        self._refuse_moved()
        if self._is_on_it():
            super().follow()
        self._set(self._new, self._old)

    def refuse(self) -> None:
        """Refuses, untouched, if something is in the way."""
        self._refuse_moved()
        if self._is_on_it():
            super().refuse()

    def catch_up(self) -> None:
        """Follows only when the clone is exactly at old: else it is the agent's own doing."""
        if gitfiles.read_ref(self._dirs.git_dir, self.ref) == self._old:
            self.follow()

    def go_back(self) -> None:
        """Undoes `follow`: the clone's branch is where it was."""
        if self._is_on_it():
            super().go_back()
        self._set(self._old, self._new)

    def put_back(self) -> bool:
        """Leaves that to the next call: nothing outside a box removes files of a clone."""
        return False

    def load(self) -> None:
        """Copies the real index beside itself, where git in the box can see it."""
        gitfiles.copy_file(self._top, "index", into=_COPY, top=self._top)

    def _replace(self) -> None:
        os.replace(_COPY, "index", src_dir_fd=self._top, dst_dir_fd=self._top)

    def _is_on_it(self) -> bool:
        return gitfiles.read_head(self._dirs.git_dir)[0] == self.ref

    def _refuse_moved(self) -> None:
        tip = gitfiles.read_ref(self._dirs.git_dir, self.ref)
        folder = printable_line(self._dirs.work_tree or "")
        if tip not in (self._old, self._new):
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
