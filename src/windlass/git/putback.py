# ruff: noqa: PTH104, PTH118, PTH119, PTH123
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Puts a salvage's files and git state into a workspace that was just made and is still empty."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from typing import TYPE_CHECKING

from windlass.core.errors import GitError
from windlass.core.printable import printable_line
from windlass.git import beneath, gitstate, names, putback_outside, tars, workspace_state
from windlass.git.blobs import Blobs
from windlass.git.bounds import LONG, Patience
from windlass.git.environment import Dirs
from windlass.git.manifest import RESTORED
from windlass.git.putback_files import FilePutBack
from windlass.git.repository import checkouts, read_ref, set_refs
from windlass.git.runner import armed, run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from windlass.git.contents import Tree
    from windlass.git.manifest import Manifest
    from windlass.git.repository import Repository

_ANY = range(256)
_NOT_SAVED = frozenset({"HEAD", "gitdir", "commondir", "locked", "windlass-ready", RESTORED})
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
# What a new clone has anew: where it is, what it borrows, and refs whose objects are here.
_ANEW = frozenset({"config", "objects", "refs", "packed-refs", "shallow", "reftable"})


class PutBack:
    """One restore under way, in a linked worktree that is still empty."""

    def __init__(
        self,
        repo: Repository,
        about: Manifest,
        *,
        commit: str,
        path: str,
        branch: str,
        git_dir: str,
    ) -> None:
        self._repo = repo
        self._about = about
        self._commit = commit
        self._path = path
        self._branch = branch
        self._git_dir = git_dir
        self._dirs = Dirs(git_dir=git_dir, common_dir=repo.git_dir, work_tree=path)
        self._notes: list[str] = []

    def run(self) -> list[str]:
        """Puts everything back; gives what is not as it was."""
        saved = gitstate.read_tree(self._repo.dirs, self._commit)
        with Blobs(self._repo.dirs) as blobs:
            self._set_head()
            self._put_state(blobs, saved)
            files = FilePutBack(self._about, saved=saved, path=self._path)
            files.put(blobs)
            if gitstate.BEYOND in saved:
                self._unpack(blobs, saved[gitstate.BEYOND][1], self._path)
            self._put_nested(blobs, saved)
        if not self._about.folder:
            self._git("checkout-index", "-a", "-q", ok=(0, 1))
        # For speed alone; git does not write again all that it has read. The agent's attributes may
        # keep it for ever.
        with contextlib.suppress(GitError):
            self._git("update-index", "-q", "--refresh", ok=_ANY, within=Patience().left)
        self._finish(saved)
        files.finish()
        return self._notes + files.notes

    def _finish(self, saved: Tree) -> None:
        """Does what comes last, when no git of ours looks at the workspace any more."""

    def _git(self, *args: str, ok: Iterable[int] = (0,), within: float = LONG) -> int:
        # Asked each time: the saved state may bring a configuration of its own.
        return run(args, dirs=armed(self._dirs), timeout=within, ok=ok).code

    def _set_head(self) -> None:
        about = self._about
        ref = about.head_ref
        if ref is not None and ref.removeprefix("refs/heads/") == about.branch:
            return
        if ref is not None and self._may_follow(ref):
            self._git("symbolic-ref", "HEAD", ref)
            return
        if ref is not None:
            now = "it is detached at the same commit"
            if about.head is None:
                now = f"which had no commit; it is on {printable_line(self._branch)}"
            self._notes.append(f"HEAD was on {printable_line(ref)}; {now}")
        if about.head is not None:
            self._git("update-ref", "--no-deref", "HEAD", about.head)

    def _may_follow(self, ref: str) -> bool:
        free = ref.removeprefix("refs/heads/") not in checkouts(self._repo)
        return free and read_ref(self._repo, ref) == self._about.head

    def _put_state(self, blobs: Blobs, saved: Tree) -> None:
        if b"gitdir.tar" in saved:
            self._unpack(blobs, saved[b"gitdir.tar"][1], self._git_dir, clean=True)
        index = os.path.join(self._git_dir, "index")
        if os.path.lexists(index) and not self._is_index():
            # As it was when it was kept; git would stop at it in everything that it does.
            beside = putback_outside.free_name(self._git_dir, "index.damaged")
            os.rename(index, beside)
            shown = os.path.basename(beside)
            self._notes.append(f"the index cannot be read; it is beside the new one: {shown}")
        if not os.path.lexists(index):
            is_born = self._git("rev-parse", "-q", "--verify", "HEAD", ok=_ANY) == 0
            self._git("read-tree", "HEAD" if is_born else "--empty")
        for name in ("rebase-merge/head-name", "rebase-apply/head-name"):
            path = os.path.join(self._git_dir, name)
            if workspace_state.read_small(path) == os.fsencode(
                f"refs/heads/{self._about.branch}\n"
            ):
                with open(path, "wb") as file:
                    file.write(os.fsencode(f"refs/heads/{self._branch}\n"))

    def _is_index(self) -> bool:
        """Whether git reads the saved index, and within a moment."""
        try:
            self._git("ls-files", "--error-unmatch", "--", within=Patience().left)
        except GitError:
            return False
        return True

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
                # No links: git writes its own files through them. And git reads all of it.
                keep, kinds = self._is_saved_state, tars.PLAIN
                left = tars.unpack(file, target, keep=keep, kinds=kinds, owner=0o700)
            else:
                left = tars.unpack(file, target)
        for name, why in left.items():
            shown = printable_line(os.path.join(os.path.relpath(target, self._path), name))
            self._notes.append(f"{shown} is in the saved work alone: {why}")

    def _put_nested(self, blobs: Blobs, saved: Tree) -> None:
        for nested in self._about.nested:
            folder, name = os.path.split(nested.path)
            if not names.is_dotgit(os.fsencode(name)) or (
                folder and not names.is_path(os.fsencode(folder))
            ):
                shown = printable_line(nested.path)
                self._notes.append(
                    f"{shown} is no nested repository: it is in the saved work alone"
                )
                continue
            if folder:
                beneath.new_folder(self._path, os.fsencode(folder))
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
                self._notes += putback_outside.point(
                    self._repo,
                    nested,
                    pointer=target,
                    admin=self._git_dir,
                    moved=(self._about.path, self._path),
                    tar=tar,
                )


class ClonePutBack(PutBack):
    """One restore under way, in a clone that is still empty."""

    def __init__(
        self,
        repo: Repository,
        about: Manifest,
        *,
        commit: str,
        path: str,
        branch: str,
        git_dir: str,
        origin: str,
        box: tuple[str, ...] = (),
    ) -> None:
        super().__init__(repo, about, commit=commit, path=path, branch=branch, git_dir=git_dir)
        self._dirs = Dirs(git_dir=git_dir, work_tree=path, box=box)
        self._origin = origin

    def _set_head(self) -> None:
        self._put_refs()
        super()._set_head()

    def _may_follow(self, ref: str) -> bool:
        said = run(["rev-parse", "-q", "--verify", ref], dirs=self._dirs, ok=(0, 1, 128))
        return (said.out.decode().strip() or None) == self._about.head

    def _put_refs(self) -> None:
        """Gives a clone its other branches and tags again, as far as their objects came home."""
        if self._about.kind != "clone":
            return
        own = (f"refs/heads/{self._about.branch}", f"refs/heads/{self._branch}", "refs/stash")
        there = putback_outside.refs_of(self._dirs)
        refs = {
            name: oid
            for name, oid in self._about.refs.items()
            if name not in own
            and not name.startswith("refs/remotes/origin/")
            and there.get(name) != oid
        }
        for name, why in set_refs(self._dirs, refs).items():
            self._notes.append(f"{printable_line(name)} is not put back: {printable_line(why)}")

    def _is_saved_state(self, name: str) -> bool:
        if self._about.kind != "clone":
            top = name.split("/", maxsplit=1)[0]
            return super()._is_saved_state(name) and (
                top.startswith(_PRIVATE) or name in ("logs", "logs/HEAD")
            )
        top = name.split("/", maxsplit=1)[0]
        if name.endswith(".lock") or name == "logs/refs/stash":
            return False
        return top not in _NOT_SAVED | _ANEW

    def _finish(self, saved: Tree) -> None:
        back = putback_outside.store_stashes(self._dirs, self._about, cwd=self._path)
        if back < len(self._about.stashes):
            self._notes.append(f"put back {back} of {len(self._about.stashes)} stashes")
        config = io.BytesIO()
        if self._about.kind != "clone" or b"gitdir.tar" not in saved:
            return
        with Blobs(self._repo.dirs) as blobs, tempfile.TemporaryFile() as file:
            blobs.copy(saved[b"gitdir.tar"][1], file)
            file.seek(0)
            config.write(tars.read_one(file, "config"))
        # Its own settings, unless they name an origin that is elsewhere now.
        if os.fsencode(self._origin) in config.getvalue():
            with open(os.path.join(self._git_dir, "config"), "wb") as file:
                file.write(config.getvalue())
        else:
            self._notes.append("the clone's own git configuration is in the saved work alone")
