# ruff: noqa: PTH108, PTH118
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Brings a person's (or an agent's) checkout along when its branch is moved under it.

Owns the index and files of a checkout from one commit to another, crash-safe: git works on a copy
of the index while the real `index.lock` is ours and names the move, and the copy takes the real
one's place in one rename. So whoever finds the lock of a move that died knows from the real index
what its files had been, and from HEAD what they should be. A checkout is in one of these states:

    state     real index  files        lock   what follows
    --------  ----------  -----------  -----  ------------------------------------------------------
    free      old         old          none   `held` makes the lock: held
    held      old         old          ours   `follow` begins: moving; `held` ends: free
    moving    old         old and new  stays  git is done: moved; git fails: `go_back`
    moved     new         new          ours   the branch is moved, `held` ends: free; or `go_back`
    leaving   either      old and new  stays  `go_back` is done: held; it fails: left
    left      either      old and new  stays  the next call has `settle`: free

In `moving` and `leaving` a follower is `stuck`: killed or failed, it leaves the lock there, and no
git can do anything in that checkout before `settle` has.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import msgspec

from windlass.core.errors import Conflict, GitError
from windlass.core.printable import few, printable_line
from windlass.git import (
    bounds,
    filters,
    gitfiles,
    index_entries,
    index_lock,
    leftovers,
    long_lists,
    views,
    workspace_state,
    worktrees,
)
from windlass.git.bounds import LONG, LOOK
from windlass.git.environment import Dirs, spelled_for_clone
from windlass.git.index_entries import Side
from windlass.git.index_lock import Move
from windlass.git.runner import failed, run
from windlass.git.walk import walk

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from windlass.git.environment import ReadBox
    from windlass.git.repository import Repository
    from windlass.git.runner import GitResult


def dirty(repo: Repository, path: str, *, read: ReadBox | None = None) -> list[str]:
    """Lists tracked files of a checkout that are modified, staged or in conflict.

    A clone is read through `read`, where there is such a box: its agent can keep git waiting.
    """
    with opened(repo, path, read=read) as (dirs, _):
        said = run(
            ["status", "--porcelain", "-z", "--no-renames", "-uno", "--ignore-submodules=all"],
            dirs=dirs,
            timeout=LOOK if dirs.box else bounds.FILTERS,
        )
    return [os.fsdecode(line[3:]) for line in long_lists.records(said.out) if line]


def uncommitted(repo: Repository, path: str) -> list[str]:
    """Lists what no commit has of a checkout of the person's; a new folder is one line."""
    words = ["status", "--porcelain", "-z", "--no-renames", "-unormal", "--ignore-submodules=all"]
    with opened(repo, path) as (dirs, _):
        said = run(words, dirs=dirs, timeout=LONG)
    return [os.fsdecode(line[3:]) for line in long_lists.records(said.out) if line]


@contextlib.contextmanager
def opened(
    repo: Repository, path: str, *, read: ReadBox | None = None
) -> Iterator[tuple[Dirs, str]]:
    """Lends folders over a copy of the checkout's index, and says where the real one is.

    In a checkout of the person's own, git goes by their settings and runs their filters.
    """
    git_dir = _git_dir(repo, path)
    is_main = git_dir == repo.git_dir
    if is_main or worktrees.is_of_person(repo, path):
        with workspace_state.scratch(repo) as folder:
            copy = os.path.join(folder, "index")
            with gitfiles.opened(os.path.realpath(git_dir)) as top:
                gitfiles.copy_file(top, "index", into=copy)
            tree = repo.root if is_main else workspace_state.canonical(path)
            yield (
                Dirs(
                    git_dir=git_dir,
                    common_dir=repo.git_dir,
                    work_tree=tree,
                    index=copy,
                    of_person=True,
                ),
                git_dir,
            )
        return
    with views.viewed(repo, workspace_state.locate(repo, path, box=read)) as view:
        yield view.dirs, git_dir


def _git_dir(repo: Repository, path: str) -> str:
    if os.path.realpath(path) == os.path.realpath(repo.root):
        return repo.git_dir
    git_dir = workspace_state.locate(repo, path).git_dir
    if git_dir is None:
        raise GitError(
            f"{printable_line(path)} is no checkout of {printable_line(repo.root)}",
            "`git worktree list` shows the checkouts there are",
        )
    return git_dir


@contextlib.contextmanager
def held(repo: Repository, path: str, *, old: str, new: str, lock: int) -> Iterator[Follower]:
    """Holds the checkout's index lock; one that was left half moved has to be settled before."""
    with opened(repo, path) as (dirs, git_dir), gitfiles.opened(os.path.realpath(git_dir)) as top:
        follower = Follower(dirs, top=top, git_dir=git_dir, move=Move(old=old, new=new), lock=lock)
        with follower.holding():
            yield follower


def detach(repo: Repository, path: str, *, at: str) -> None:
    """Has a checkout be on no branch, at the commit that it shows; touches no file."""
    _of_checkout(repo, path, "update-ref", "--no-deref", "-m", "left behind", "HEAD", at)


def attach(repo: Repository, path: str, *, branch: str) -> None:
    """Has a checkout be on a branch; touches no file."""
    _of_checkout(repo, path, "symbolic-ref", "HEAD", f"refs/heads/{branch}")


def _of_checkout(repo: Repository, path: str, *words: str) -> None:
    run(words, dirs=Dirs(git_dir=_git_dir(repo, path), common_dir=repo.git_dir))


def settle(repo: Repository, path: str, *, lock: int) -> None:
    """Puts a checkout right that an earlier call left half moved, if it is one."""
    git_dir = _git_dir(repo, path)
    with gitfiles.opened(os.path.realpath(git_dir)) as top:
        move = index_lock.left(top)
        if move is not None:
            with opened(repo, path) as (dirs, _):
                move = known(move, dirs, git_dir=git_dir)
                Follower(dirs, top=top, git_dir=git_dir, move=move, lock=lock).settle()


def known(move: Move, dirs: Dirs, *, git_dir: str) -> Move:
    """Gives the move that a lock tells of by the ids of its commits; refuses what is not there."""
    old, new = (_commit(rev, dirs) for rev in (move.old, move.new))
    if old is None or new is None:
        lock_file, place = index_lock.path_in(git_dir), dirs.work_tree or ""
        look = spelled_for_clone(place, "status") if dirs.box else "`git status`"
        raise Conflict(
            f"{lock_file} is of a merge whose commits are not there any more",
            f"{look} shows what it left in {printable_line(place)};"
            f" delete {lock_file}, then commit that or take it back",
        )
    return msgspec.structs.replace(move, old=old, new=new)


def _commit(rev: str, dirs: Dirs) -> str | None:
    asked = ["rev-parse", "-q", "--verify", "--end-of-options", f"{rev}^{{commit}}"]
    said = run(asked, dirs=dirs, ok=(0, 1, 128))
    return said.out.decode().strip() if said.code == 0 else None


class Follower:
    """One checkout on its way from one commit to another."""

    def __init__(self, dirs: Dirs, *, top: int, git_dir: str, move: Move, lock: int) -> None:
        self._dirs = dirs
        self._top = top
        self._git_dir = git_dir
        self._move = move
        self._lock = lock
        self._changes = index_entries.between(dirs, move.old, move.new)
        self._are_filters_tried = False
        self.stuck = False
        """Whether index and files may disagree, so that the lock has to stay."""

    @contextlib.contextmanager
    def holding(self) -> Iterator[None]:
        """Holds the lock of the index, and gives it back unless the checkout is half moved."""
        index_lock.take(self._top, self._move, git_dir=self._git_dir)
        try:
            self.load()
            yield
        finally:
            if not self.stuck:
                index_lock.release(self._top)

    def settle(self) -> None:
        """Has a checkout that was left half moved show HEAD's commit, and gives its lock back.

        HEAD tells whether the branch was moved before the end. Where it is at neither commit, the
        person has been at work, and the files are brought to what the index has.
        """
        sides = {self._move.old: Side.OLD, self._move.new: Side.NEW}
        self._bring_to(sides.get(_commit("HEAD", self._dirs) or ""))
        index_lock.release(self._top)

    def follow(self) -> None:
        """Moves index and files from old to new; refuses, untouched, if something is in the way."""
        self._tell_what_is_not_ours()
        if self._is_at(Side.NEW):
            self._publish()
            return
        self.refuse()
        try:
            self._read_trees()
        except (GitError, OSError) as error:
            try:
                self.go_back()
            except GitError as left:
                raise GitError(str(error), left.hint) from error
            hint = "the checkout is as it was; free disk space or fix the rights, then try again"
            raise GitError(str(error), hint) from error

    def _tell_what_is_not_ours(self) -> None:
        """Has the lock tell what the move finds as it is, so that nobody undoes that with it."""
        index = index_entries.read(self._dirs)
        landed = _commit("HEAD", self._dirs) == self._move.new
        staged = (c.path for c in self._changes if index.entries.get(c.path) == c.new)
        arriving = (change for change in self._changes if change.old is None)
        self._move = msgspec.structs.replace(
            self._move,
            made=leftovers.absent(self._dirs.work_tree or "", leftovers.folders_of(arriving)),
            staged=frozenset(() if landed else staged),
            left_out=index.left_out.intersection(change.path for change in self._changes),
        )
        index_lock.tell(self._top, self._move)

    def refuse(self) -> None:
        """Refuses, untouched, if something is in the way."""
        self._refuse_untracked()
        filters.refuse_to_look(self._refresh, self._dirs)
        tried = self._read_tree("-n")
        if tried.code == 0:
            self._try_filters()
            return
        if edited := self._edited():
            raise Conflict(
                f"your edits of {few(edited)} are in the way, in"
                f" {printable_line(self._dirs.work_tree or '')}",
                "commit or stash them, then try again",
            )
        said = tried.err.decode(errors="backslashreplace").replace("error: ", "")
        names = " ".join(printable_line(line.strip()) for line in said.splitlines())
        raise Conflict(
            f"the checkout {printable_line(self._dirs.work_tree or '')} is in the way: {names}",
            "commit, stash or move those files, then try again",
        )

    def _try_filters(self) -> None:
        """Refuses what the person's filters cannot write, while nothing has moved: once."""
        if not self._are_filters_tried:
            filters.refuse_failing(self._dirs, self._changes, self._move.new)
            self._are_filters_tried = True

    def _edited(self) -> list[str]:
        """The files that would move, and that the person has edited or staged."""
        words = ["status", "--porcelain", "-z", "--no-renames", "-uno", "--ignore-submodules=all"]
        said = run(words, dirs=self._dirs, ok=range(-64, 256), timeout=LONG, keep=(self._lock,))
        edited = {line[3:] for line in long_lists.records(said.out) if line}
        moving = sorted(change.path for change in self._changes if change.path in edited)
        return [printable_line(os.fsdecode(path)) for path in moving]

    def catch_up(self) -> None:
        """Follows only when the checkout is exactly at old: else it is the person's own doing."""
        if self._changes and self._is_at(Side.OLD):
            self.follow()

    def go_back(self) -> None:
        """Undoes `follow`, as far as that came: the checkout shows the old commit again."""
        self.stuck = True
        self._bring_to(Side.OLD)
        self.stuck = False

    def _refuse_untracked(self) -> None:
        """Refuses to write over files that git does not track: read-tree spares no ignored one."""
        have = index_entries.read(self._dirs).entries
        top = os.fsencode(self._dirs.work_tree or "")
        for change in self._changes:
            if change.new is None or change.path in have:
                continue
            obstacle = _in_the_way(top, change.path, tracked=have)
            if obstacle is not None:
                raise Conflict(
                    f"the untracked file {printable_line(os.fsdecode(obstacle))} is in the way in"
                    f" {printable_line(self._dirs.work_tree or '')}",
                    "move it away, then try again",
                )

    def _read_trees(self) -> None:
        self.stuck = True
        done = self._read_tree()
        if done.code != 0:
            words = ["read-tree", "-m", "-u", self._move.old, self._move.new]
            raise failed(words, done, dirs=self._dirs)
        self._publish()
        self.stuck = False

    def _read_tree(self, *more: str) -> GitResult:
        return run(
            ["read-tree", *more, "-m", "-u", self._move.old, self._move.new],
            dirs=self._dirs,
            ok=range(-64, 256),
            timeout=LONG,
            keep=(self._lock,),
        )

    def _bring_to(self, side: Side | None) -> None:
        try:
            self.load()
            self._restore(side)
        except (GitError, OSError) as error:
            lock_file = index_lock.path_in(self._git_dir)
            raise GitError(
                f"{printable_line(self._dirs.work_tree or '')} was left half moved by a merge, and"
                f" cannot be put right: {error}",
                "free disk space or fix the rights; the next try puts the checkout right, and until"
                f" then {lock_file} keeps every git from it",
            ) from error

    def _restore(self, goal: Side | None) -> None:
        """Brings index and files to one side of the move; None: to the side that the index is at.

        Only what the move did is undone: not what somebody had staged before, nor what has another
        entry by now. What a sparse checkout leaves out has no file.
        """
        index = index_entries.read(self._dirs)
        ours = [change for change in self._changes if change.path not in self._move.staged]
        at = Side.NEW if index.is_at(Side.NEW, ours) else Side.OLD
        goal = goal or at
        ours = [change for change in ours if index.entries.get(change.path) == change.on(at)]
        left_out = index.left_out | self._move.left_out
        if goal is not at:
            index_entries.point(self._dirs, ours, side=goal, left_out=left_out)
        leaving = (change for change in ours if change.new is None)
        leftovers.restore(
            self._dirs,
            [change for change in ours if change.path not in left_out],
            goal=goal,
            # Git takes away every folder that it empties.
            made=self._move.made if goal is Side.OLD else leftovers.folders_of(leaving),
        )
        # Where the real index has the goal already, it lacks nothing but the times of the files.
        with contextlib.suppress(*(GitError, OSError) if goal is at else ()):
            self._publish()

    def _publish(self) -> None:
        self._refresh()
        self._replace()
        self.load()

    def _refresh(self) -> None:
        """Has the copy know the files again that were written with the same content."""
        words = ["update-index", "-q", "--refresh"]
        run(words, dirs=self._dirs, ok=(0, 1), timeout=bounds.FILTERS)

    def load(self) -> None:
        """Copies the real index, which nobody else changes while its lock is ours."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self._index}.lock")  # of the copy, by a git that was killed
        gitfiles.copy_file(self._top, "index", into=self._index)

    def _replace(self) -> None:
        os.replace(self._index, "index", dst_dir_fd=self._top)

    @property
    def _index(self) -> str:
        return self._dirs.index or os.path.join(self._dirs.git_dir, "index")

    def _is_at(self, side: Side) -> bool:
        return index_entries.read(self._dirs).is_at(side, self._changes)


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
