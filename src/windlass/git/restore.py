# ruff: noqa: PTH103, PTH108, PTH118, PTH120, PTH123, PTH211
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Brings a salvage back as a new worktree, as it was to the byte, and never over anything.

A note beside our locks says that a restore is under way, so that calling it again after a crash
starts it anew instead of finding its own half-made folder in the way.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import tempfile
from typing import TYPE_CHECKING

import msgspec

from windlass.core.errors import Conflict, GitError
from windlass.core.printable import printable_line
from windlass.git import gitstate, places, replanting, tars, worktrees
from windlass.git.blobs import Blobs
from windlass.git.repository import (
    branch_exists,
    check_branch_name,
    checkouts,
    delete_ref,
    read_ref,
    set_ref,
)
from windlass.git.runner import LONG, Dirs, armed, run

if TYPE_CHECKING:
    from windlass.git.contents import Tree
    from windlass.git.manifest import Manifest
    from windlass.git.repository import Repository

_NOT_SAVED = frozenset({"HEAD", "gitdir", "commondir", "locked", "windlass-ready"})
# The part of a clone's git folder that a linked worktree has for itself.
_PRIVATE = (
    "index",
    "sharedindex.",
    "ORIG_HEAD",
    "MERGE_",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "AUTO_MERGE",
    "REBASE_HEAD",
    "BISECT_",
    "SQUASH_MSG",
    "COMMIT_EDITMSG",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "modules",
)


_RESTORED = "windlass-restored"
"""In a worktree's admin folder: the salvage that it was restored from, once it was."""


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """Where the work is back, and what is not quite as it was."""

    path: str
    branch: str
    base: str | None
    notes: list[str]


def restore(
    repo: Repository, about: Manifest, *, commit: str, path: str, branch: str, agent: str
) -> Restored:
    """Makes a new worktree at `path` on the new branch `branch` and puts everything back."""
    check_branch_name(branch)
    where = worktrees.outside(repo, path)
    start = about.tip or about.head or about.base
    if start is None:
        raise GitError(
            "the saved work has no commit to start from", f"its files are in `git show {commit}`"
        )
    if _is_done(repo, commit=commit, path=where, branch=branch):
        return Restored(path=where, branch=branch, base=about.base, notes=[])
    note = _begin(repo, commit=commit, path=where, branch=branch, start=start)
    admin = worktrees.register(repo, path=where, branch=branch, start=start, agent=agent)
    notes: list[str] = []
    if not worktrees.is_ready(admin):
        work = _Work(repo, about, commit=commit, path=where, branch=branch, admin=admin)
        notes += work.run()
        worktrees.mark_ready(admin, branch=branch)
    notes += replanting.put_back_stashes(repo, about)
    notes += replanting.put_back_refs(repo, about, commit=commit)
    base = f"refs/windlass/base/{agent}"
    if agent and about.base and read_ref(repo, base) is None:
        set_ref(repo, base, about.base)
    with open(os.path.join(admin, _RESTORED), "wb") as file:
        file.write(commit.encode())
    os.unlink(note)
    return Restored(path=where, branch=branch, base=about.base, notes=notes)


def _is_done(repo: Repository, *, commit: str, path: str, branch: str) -> bool:
    """Says whether this very restore was completed: its caller may have died before it knew."""
    admin = places.find_admin(repo, path)
    if admin is None or worktrees.own_branch(admin) != branch:
        return False
    return places.read_small(os.path.join(admin, _RESTORED)) == commit.encode()


def _begin(repo: Repository, *, commit: str, path: str, branch: str, start: str) -> str:
    """Refuses to overwrite, or clears away what a killed restore of the same had made."""
    key = hashlib.sha256(f"{commit}\0{path}\0{branch}".encode(errors="surrogateescape"))
    note = os.path.join(repo.private, f"restore-{key.hexdigest()[:16]}")
    admin = places.find_admin(repo, path)
    if not os.path.lexists(note):
        if branch_exists(repo, branch):
            raise Conflict(
                f"the branch {printable_line(branch)} exists already", "restore under another name"
            )
        worktrees.refuse_full(path)
        os.makedirs(repo.private, mode=0o700, exist_ok=True)
        with open(note, "xb"):
            pass
    elif admin is None or not worktrees.is_ready(admin):
        worktrees.unregister(repo, path)
        if read_ref(repo, f"refs/heads/{branch}") == start:
            delete_ref(repo, f"refs/heads/{branch}", old=start)
    return note


class _Work:
    """One restore under way, in a worktree that is still empty."""

    def __init__(
        self,
        repo: Repository,
        about: Manifest,
        *,
        commit: str,
        path: str,
        branch: str,
        admin: str,
    ) -> None:
        self._repo = repo
        self._about = about
        self._commit = commit
        self._path = path
        self._branch = branch
        self._admin = admin
        self._dirs = Dirs(git_dir=admin, common_dir=repo.git_dir, work_tree=path)
        self._notes: list[str] = []

    def run(self) -> list[str]:
        """Puts everything back; gives what is not as it was."""
        saved = gitstate.read_tree(self._repo.dirs, self._commit)
        with Blobs(self._repo.dirs) as blobs:
            self._set_head()
            self._put_state(blobs, saved)
            self._put_files(blobs, saved)
            for folder in self._about.empty:
                tars.plant_folders(self._path, folder)
            self._put_nested(blobs, saved)
        if not self._about.folder:
            self._git("checkout-index", "-a", "-q", ok=(0, 1))
        self._git("update-index", "-q", "--refresh", ok=(0, 1))
        return self._notes

    def _git(self, *args: str, ok: tuple[int, ...] = (0,)) -> None:
        # Asked each time: the saved state may bring a configuration of its own.
        run(args, dirs=armed(self._dirs), timeout=LONG, ok=ok)

    def _set_head(self) -> None:
        about = self._about
        ref = about.head_ref
        if ref is not None and ref.removeprefix("refs/heads/") == about.branch:
            return
        if ref is not None and self._may_follow(ref):
            self._git("symbolic-ref", "HEAD", ref)
            return
        if ref is not None:
            self._notes.append(
                f"HEAD was on {printable_line(ref)}; it is detached at the same commit"
            )
        if about.head is not None:
            self._git("update-ref", "--no-deref", "HEAD", about.head)

    def _may_follow(self, ref: str) -> bool:
        free = ref.removeprefix("refs/heads/") not in checkouts(self._repo)
        return free and read_ref(self._repo, ref) == self._about.head

    def _put_state(self, blobs: Blobs, saved: Tree) -> None:
        if b"gitdir.tar" in saved:
            self._unpack(blobs, saved[b"gitdir.tar"][1], self._admin, clean=True)
        if not os.path.lexists(os.path.join(self._admin, "index")):
            self._git("read-tree", "HEAD")
        for name in ("rebase-merge/head-name", "rebase-apply/head-name"):
            path = os.path.join(self._admin, name)
            if places.read_small(path) == os.fsencode(f"refs/heads/{self._about.branch}\n"):
                with open(path, "wb") as file:
                    file.write(os.fsencode(f"refs/heads/{self._branch}\n"))

    def _is_saved_state(self, name: str) -> bool:
        top = name.split("/", maxsplit=1)[0]
        if name.endswith(".lock") or top in _NOT_SAVED:
            return False
        if self._about.kind != "clone":
            return True
        return top.startswith(_PRIVATE) or name in ("logs", "logs/HEAD")

    def _unpack(self, blobs: Blobs, oid: str, target: str, *, clean: bool = False) -> None:
        with tempfile.TemporaryFile(dir=self._repo.private) as file:
            blobs.copy(oid, file)
            file.seek(0)
            if clean:
                tars.unpack(file, target, keep=self._is_saved_state)
            else:
                tars.unpack(file, target)

    def _put_files(self, blobs: Blobs, saved: Tree) -> None:
        top = os.fsencode(self._path)
        for name, (mode, oid) in saved.items():
            if not name.startswith(b"files/") or mode == b"160000":
                continue
            path = name.removeprefix(b"files/")
            tars.plant_folders(self._path, os.fsdecode(os.path.dirname(path)))
            target = os.path.join(top, path)
            if mode == b"120000":
                text = io.BytesIO()
                blobs.copy(oid, text)
                os.symlink(text.getvalue(), target)
                continue
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(target, flags, 0o600), "wb") as file:
                blobs.copy(oid, file)
                os.fchmod(file.fileno(), self._permissions(path, mode))

    def _permissions(self, path: bytes, mode: bytes) -> int:
        usual = self._about.exec_mode if mode == b"100755" else self._about.file_mode
        return self._about.modes.get(os.fsdecode(path), usual) & 0o777

    def _put_nested(self, blobs: Blobs, saved: Tree) -> None:
        for nested in self._about.nested:
            folder = os.path.dirname(nested.path)
            tars.plant_folders(self._path, folder)
            target = os.path.join(self._path, nested.path)
            self._unpack(blobs, saved[nested.tar.encode()][1], target)
            if nested.target in ("none", ""):
                continue
            with contextlib.ExitStack() as stack:
                tar = None
                if nested.target_tar:
                    tar = stack.enter_context(tempfile.TemporaryFile(dir=self._repo.private))
                    blobs.copy(saved[nested.target_tar.encode()][1], tar)
                    tar.seek(0)
                self._notes += replanting.point(
                    self._repo,
                    nested,
                    pointer=target,
                    admin=self._admin,
                    moved=(self._about.path, self._path),
                    tar=tar,
                )
