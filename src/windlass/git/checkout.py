# ruff: noqa: PTH106, PTH108, PTH115, PTH118, PTH120
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Brings a person's (or an agent's) checkout along when its branch is moved under it.

Owns the index and files of a checkout from one commit to another, crash-safe: git works on a copy
of the index while the real `index.lock` is ours and says so, and the copy takes the real one's
place in one rename. A killed call is recognised by that lock and completed by the next one; where
git fails, because the disk is full, what it had moved is put back.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

import msgspec

from windlass.core.errors import Conflict, GitError
from windlass.core.printable import printable_line
from windlass.git import gitfiles, views, workspace_state
from windlass.git.contents import open_plain
from windlass.git.runner import LONG, Dirs, armed, failed, run
from windlass.git.walk import walk

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from windlass.git.repository import Repository
    from windlass.git.runner import GitResult

_ABSENT = b"000000"
_TOKEN = b"windlass "
_GUARD = "index.lock"


class _Change(msgspec.Struct, frozen=True):
    """One path that differs between the two commits: mode and id before and after."""

    path: bytes
    before: tuple[bytes, bytes]
    after: tuple[bytes, bytes]


def dirty(repo: Repository, path: str) -> list[str]:
    """Lists tracked files of a checkout that are modified, staged or in conflict."""
    with opened(repo, path) as (dirs, _):
        said = run(
            ["status", "--porcelain", "-z", "--no-renames", "-uno", "--ignore-submodules=all"],
            dirs=dirs,
            timeout=LONG,
        )
    return [os.fsdecode(line[3:]) for line in said.out.split(b"\0") if line]


@contextlib.contextmanager
def opened(repo: Repository, path: str) -> Iterator[tuple[Dirs, str]]:
    """Lends folders over a copy of the checkout's index, and says where the real one is."""
    if os.path.realpath(path) == os.path.realpath(repo.root):
        with workspace_state.scratch(repo) as folder:
            copy = os.path.join(folder, "index")
            with gitfiles.opened(os.path.realpath(repo.git_dir)) as top:
                gitfiles.copy_file(top, "index", into=copy)
            main = Dirs(git_dir=repo.git_dir, work_tree=repo.root, index=copy)
            yield armed(main), repo.git_dir
        return
    place = workspace_state.locate(repo, path)
    if place.git_dir is None:
        raise GitError(
            f"{printable_line(path)} is no checkout of {printable_line(repo.root)}",
            "`git worktree list` shows the checkouts there are",
        )
    with views.viewed(repo, place) as view:
        yield view.dirs, place.git_dir


@contextlib.contextmanager
def held(repo: Repository, path: str, *, old: str, new: str, lock: int) -> Iterator[Follower]:
    """Holds the checkout's index lock; whoever died holding it for us is recognised."""
    with opened(repo, path) as (dirs, git_dir), gitfiles.opened(os.path.realpath(git_dir)) as top:
        follower = Follower(repo, dirs=dirs, top=top, old=old, new=new, lock=lock)
        with locked(follower, top, git_dir=git_dir, token=new):
            yield follower


@contextlib.contextmanager
def locked(follower: Follower, top: int, *, git_dir: str, token: str) -> Iterator[None]:
    """Holds the index lock in the git folder that is open as `top` for a follower."""
    interrupted = _take(top, git_dir=git_dir, token=_TOKEN + token.encode() + b"\n")
    follower.interrupted = follower.stuck = interrupted
    try:
        follower.load()
        yield
    finally:
        # A half-moved checkout keeps its lock: that is how the next call knows to mend it.
        if not follower.stuck:
            release(top)


def release(top: int) -> None:
    """Gives the lock back."""
    os.unlink(_GUARD, dir_fd=top)


def _take(top: int, *, git_dir: str, token: bytes) -> bool:
    """Makes the lock file; True when a killed call of ours had left it."""
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(_GUARD, flags, 0o644, dir_fd=top)
    except FileExistsError:
        # Our own lock is held, so a token here can only be a dead call's. An empty or foreign
        # file may be a git that is just working.
        if gitfiles.read_at(top, _GUARD).startswith(_TOKEN):
            return True
        lock_file = printable_line(os.path.join(git_dir, _GUARD))
        raise Conflict(
            f"another git is working in this checkout: {lock_file} exists",
            "wait for it to end; if none is running, delete that file",
        ) from None
    with os.fdopen(handle, "wb") as file:
        file.write(token)
    return False


class Follower:
    """One checkout on its way from one commit to another."""

    def __init__(
        self,
        repo: Repository,
        *,
        dirs: Dirs,
        top: int,
        old: str,
        new: str,
        lock: int,
    ) -> None:
        self._repo = repo
        self._dirs = dirs
        self._top = top
        self._old = old
        self._new = new
        self._lock = lock
        self._changes = _changes(repo, old, new)
        self.interrupted = False
        """Whether an earlier call left the checkout half moved; `settle` completes that."""
        self.stuck = False

    def follow(self) -> None:
        """Moves index and files from old to new; refuses, untouched, if something is in the way."""
        if self._is_at([change.after for change in self._changes]):
            self._publish()
            return
        self.refuse()
        try:
            self._move(self._old, self._new)
        except GitError as error:
            if not self.put_back():
                raise
            hint = "the checkout is as it was; free disk space or fix the rights, then try again"
            raise GitError(error.message, hint) from error

    def refuse(self) -> None:
        """Refuses, untouched, if something is in the way.

        A checkout that was left half moved is not judged: it has to be settled first.
        """
        if self.interrupted:
            return
        self._refuse_untracked()
        tried = self._read_tree(self._old, self._new, "-n")
        if tried.code != 0:
            said = tried.err.decode(errors="backslashreplace").replace("error: ", "")
            names = " ".join(printable_line(line.strip()) for line in said.splitlines())
            raise Conflict(
                f"the checkout {printable_line(self._dirs.work_tree or '')} is in the way: {names}",
                "commit, stash or move those files, then try again",
            )

    def catch_up(self) -> None:
        """Follows only when the checkout is exactly at old: else it is the person's own doing."""
        if self._changes and self._is_at([change.before for change in self._changes]):
            self.follow()

    def go_back(self) -> None:
        """Undoes `follow`: the checkout shows the old commit again."""
        self._move(self._new, self._old)

    def _refuse_untracked(self) -> None:
        """Refuses to write over files that git does not track: read-tree spares no ignored one."""
        have = self._entries()
        top = os.fsencode(self._dirs.work_tree or "")
        for change in self._changes:
            if change.after[0] == _ABSENT or change.path in have:
                continue
            obstacle = _in_the_way(top, change.path, tracked=have)
            if obstacle is not None:
                raise Conflict(
                    f"the untracked file {printable_line(os.fsdecode(obstacle))} is in the way in"
                    f" {printable_line(self._dirs.work_tree or '')}",
                    "move it away, then try again",
                )

    def _move(self, old: str, new: str) -> None:
        self.stuck = True
        done = self._read_tree(old, new)
        if done.code != 0:
            said = failed(["read-tree", "-m", "-u", old, new], done)
            hint = "free disk space or fix the rights; the next try completes the checkout"
            raise GitError(said.message, hint)
        self._publish()
        self.stuck = False

    def _read_tree(self, old: str, new: str, *more: str) -> GitResult:
        return run(
            ["read-tree", *more, "-m", "-u", old, new],
            dirs=self._dirs,
            ok=range(-64, 256),
            timeout=LONG,
            keep=(self._lock,),
        )

    def _publish(self) -> None:
        run(
            ["update-index", "-q", "--refresh"],
            dirs=self._dirs,
            ok=(0, 1),
            timeout=LONG,
        )
        self._replace()
        self.load()

    def load(self) -> None:
        """Copies the real index, which nobody else changes while its lock is ours."""
        gitfiles.copy_file(self._top, "index", into=self._index)

    def _replace(self) -> None:
        os.replace(self._index, "index", dst_dir_fd=self._top)

    @property
    def _index(self) -> str:
        return self._dirs.index or os.path.join(self._dirs.git_dir, "index")

    def _is_at(self, wanted: list[tuple[bytes, bytes]]) -> bool:
        have = self._entries()
        absent = (_ABSENT, b"")
        return all(
            have.get(change.path, absent)[0] == mode
            and have.get(change.path, absent)[1] in (oid, b"")
            for change, (mode, oid) in zip(self._changes, wanted, strict=True)
        )

    def _entries(self) -> dict[bytes, tuple[bytes, bytes]]:
        listed = run(["ls-files", "-s", "-z"], dirs=self._dirs).out
        entries = {}
        for record in filter(None, listed.split(b"\0")):
            about, _, name = record.partition(b"\t")
            mode, oid, stage = about.split(b" ")
            entries[name] = (mode, oid if stage == b"0" else b"unmerged")
        return entries

    def settle(self) -> None:
        """Completes what an earlier call left half moved, if there is anything."""
        if self.interrupted:
            self._mend()
            self.interrupted = self.stuck = False

    def _mend(self) -> None:
        """Completes the files that a killed call had half moved, so that git finds none changed.

        Each of these paths was clean before, or nothing would have been moved. A file that is
        missing, or the beginning of its new content, is git's unfinished work; any other content
        is somebody's edit and is left for `follow` to refuse.
        """
        have = self._entries()
        settled, unwritten = [], []
        for change in self._changes:
            if have.get(change.path, (_ABSENT, b""))[0:1] == change.after[0:1] and (
                have.get(change.path, (b"", change.after[1]))[1] == change.after[1]
            ):
                continue
            state = self._half_moved(change)
            if state is None:
                continue
            settled.append(change)
            if not state and change.after[0] != _ABSENT:
                unwritten.append(change.path)
        if not settled:
            return
        lines = [
            change.after[0] + b" " + change.after[1] + b"\t" + change.path for change in settled
        ]
        run(
            ["update-index", "-z", "--index-info"], dirs=self._dirs, stdin=b"\0".join(lines) + b"\0"
        )
        self._feed(["checkout-index", "-f", "-q"], unwritten)

    def put_back(self) -> bool:
        """Has a checkout that git could not move show the old commit again; says whether it does.

        What is not git's own unfinished work is left alone. Where there is no room for this either,
        the lock stays, and the next call completes the move.
        """
        try:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self._index}.lock")  # of the copy, by a git that was killed
            self.load()
            for change in self._changes:
                if change.before[0] == _ABSENT and self._half_moved(change) is not None:
                    self._remove(change.path)
            old = [change for change in self._changes if change.before[0] != _ABSENT]
            lost = [change.path for change in old if self._half_moved(change) is not None]
            self._write_again(lost)
            self._feed(["update-index"], [change.path for change in old])
            self.stuck = not self._is_at([change.before for change in self._changes])
        except (GitError, OSError):
            self.stuck = True
        return not self.stuck

    def _write_again(self, paths: list[bytes]) -> None:
        """Writes files as the index has them, all or none of them."""
        try:
            self._feed(["checkout-index", "-f", "-q"], paths)
        except GitError:
            for path in paths:
                self._remove(path)
            raise

    def _feed(self, args: list[str], paths: list[bytes]) -> None:
        if paths:
            listed = b"\0".join(paths) + b"\0"
            run([*args, "-z", "--stdin"], dirs=self._dirs, stdin=listed, timeout=LONG)

    def _remove(self, path: bytes) -> None:
        """Removes a file that git had begun, and the folders that are empty without it."""
        top = os.path.realpath(os.fsencode(self._dirs.work_tree or ""))
        folder = os.path.join(top, os.path.dirname(path)).rstrip(b"/")
        if os.path.realpath(folder) != folder:
            return  # it goes through a link, which git does not
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(top, path))
        with contextlib.suppress(OSError):  # something else is in it
            while folder != top:
                os.rmdir(folder)
                folder = os.path.dirname(folder)

    def _half_moved(self, change: _Change) -> bool | None:
        """True: the new file is whole; False: it is unfinished; None: it is not ours."""
        path = os.path.join(os.fsencode(self._dirs.work_tree or ""), change.path)
        try:
            info = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        mode, oid = change.after
        if mode == _ABSENT:
            return None
        if stat.S_ISLNK(info.st_mode):
            same = os.readlink(path) == self._blob(oid) and mode == b"120000"
            return True if same else None
        if not stat.S_ISREG(info.st_mode) or mode == b"120000":
            return None
        hashed = run(
            ["hash-object", "-t", "blob", "--stdin-paths"],
            dirs=self._dirs,
            stdin=change.path + b"\n",
            ok=range(256),
        )
        if hashed.out.strip() == oid:
            return True
        with open_plain(path) as file:
            return False if self._blob(oid).startswith(file.read()) else None

    def _blob(self, oid: bytes) -> bytes:
        return run(["cat-file", "blob", oid], dirs=self._dirs, timeout=LONG).out


def _in_the_way(top: bytes, path: bytes, *, tracked: Container[bytes]) -> bytes | None:
    """Finds the untracked thing that stands where a new file is to go, or on the way there."""
    parts = path.split(b"/")
    for length in range(1, len(parts) + 1):
        here = b"/".join(parts[:length])
        full = os.path.join(top, here)
        if not os.path.lexists(full):
            return None
        if workspace_state.is_folder(os.fsdecode(full)):
            continue
        return None if here in tracked else here
    inner = (
        b"/".join((path, entry.path)) for entry in walk(os.fsdecode(top) + "/" + os.fsdecode(path))
    )
    return next((name for name in inner if name not in tracked and not _is_dir(top, name)), None)


def _is_dir(top: bytes, name: bytes) -> bool:
    return workspace_state.is_folder(os.fsdecode(os.path.join(top, name)))


def _changes(repo: Repository, old: str, new: str) -> list[_Change]:
    said = repo.git(
        "diff-tree", "-r", "--no-renames", "--ignore-submodules=none", "--raw", "-z", old, new, "--"
    )
    fields = said.out.split(b"\0")
    changes = []
    for about, name in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, before, after, _ = about.lstrip(b":").split(b" ")
        changes.append(_Change(name, (old_mode, before), (new_mode, after)))
    return changes
