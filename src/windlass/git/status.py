# ruff: noqa: PTH108, PTH118, PTH120
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""What a workspace holds that is not committed, told without obeying anything in it."""

from __future__ import annotations

import contextlib
import os
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from windlass.core.errors import GitError
from windlass.git import gitfiles, index_entries, long_lists, path_count, views, workspace_state
from windlass.git.bounds import LOOK
from windlass.git.environment import Dirs, ReadBox
from windlass.git.path_count import TooManyPaths
from windlass.git.read_budget import ReadingRoom
from windlass.git.runner import GitResult, TookTooLong, run, run_both
from windlass.git.walk import walk
from windlass.git.workspace_state import Operation, WorkspacePlace

if TYPE_CHECKING:
    from windlass.git.repository import Repository


GLANCE = 5.0
"""Seconds for most of all looks; after that it is looked for what keeps git."""
_SHAPE = ("--porcelain=v2", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching")
_MOST_WORDS = 64 << 10
"""Bytes of paths that git is called with; of more it is asked for all that there are."""
_STAGED = ("--cached", "--no-renames", "--name-status", "-z")


class WorkStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The uncommitted work of one workspace; every list holds paths relative to it."""

    exists: bool
    branch: str | None = None
    head: str | None = None
    staged: list[str] = []
    unstaged: list[str] = []
    untracked: list[str] = []
    conflicted: list[str] = []
    nested: list[str] = []
    """Repositories inside the workspace that hold work of their own."""
    unread: list[str] = []
    """Tracked files with more holes than are read: what is in them is not known."""
    operation: Operation | None = None
    setup: list[str] = []
    """What was there before the agent and is as it was; in none of the other lists."""

    @property
    def clean(self) -> bool:
        """Says whether everything is committed and nothing is under way."""
        changed = (self.staged, self.unstaged, self.untracked, self.conflicted)
        lists = (*changed, self.nested, self.unread)
        return self.operation is None and not any(lists)


def status(repo: Repository, path: str, *, box: ReadBox | None = None) -> WorkStatus:
    """Tells what is uncommitted in the workspace at `path`; a missing folder is no error.

    A clone is read through `box`, where there is one.
    """
    return _status(repo, workspace_state.locate(repo, path, box=box))


def _status(repo: Repository, place: WorkspacePlace) -> WorkStatus:
    if not workspace_state.is_folder(place.path):
        ref, head = workspace_state.head_of(repo, place)
        return WorkStatus(exists=False, branch=_branch(ref), head=head)
    with views.glanced(repo, place) as view:
        dirs, head, branch = view.dirs, view.head, _branch(view.ref)
        if head is not None:
            _require_few(repo, place, dirs, head)
        path_count.require_small_index(dirs)
        lists = _Lists()
        lists.read_staged(dirs, head=head)
        seen, first = dirs, None
        if place.box is not None and place.lender is not None:
            seen, first = views.at_commit(repo, place, dirs, head)
        lists.read_status(views.with_excludes(repo, seen), first)
        nested = _nested_work(repo, place, dirs=dirs, ignored=lists.ignored)
        inner = set(nested)
    return WorkStatus(
        exists=True,
        branch=branch,
        head=head,
        staged=lists.staged,
        unstaged=lists.unstaged,
        untracked=[name for name in lists.untracked if name.rstrip("/") not in inner],
        conflicted=lists.conflicted,
        nested=nested,
        unread=lists.unread,
        operation=workspace_state.operation_of(place),
    )


def _require_few(repo: Repository, place: WorkspacePlace, dirs: Dirs, head: str) -> None:
    """Refuses a HEAD with too many paths; one that is at home is counted there, and once."""
    try:
        path_count.require_few(workspace_state.of_clone(place, repo.dirs), head)
    except TooManyPaths:
        raise
    except GitError:
        path_count.count(dirs, head)


def _branch(ref: str | None) -> str | None:
    return ref.removeprefix("refs/heads/") if ref else None


class _Lists:
    """Collects paths from git's machine-readable output.

    What is staged is the agent's own word. What else is different is not, where files are compared
    with HEAD alone: then what is staged, which is different too, is not told twice.
    """

    def __init__(self) -> None:
        self.staged: list[str] = []
        self.unstaged: list[str] = []
        self.untracked: list[str] = []
        self.conflicted: list[str] = []
        self.unread: list[str] = []
        self.ignored: set[bytes] = set()

    def read_staged(self, dirs: Dirs, *, head: str | None) -> None:
        """Reads the differences between HEAD and index, gitlinks included: nothing is entered."""
        against = head or _empty_tree(dirs)
        said = run(
            ["diff-index", *_STAGED, "--ignore-submodules=none", against, "--"],
            dirs=dirs,
        )
        fields = path_count.few(said.out, "what is staged", each=2)
        for letter, name in zip(fields, fields, strict=False):
            (self.conflicted if letter == b"U" else self.staged).append(os.fsdecode(name))

    def read_status(self, dirs: Dirs, first: list[str] | None) -> None:
        """Reads the differences between index and files, and the files that the index lacks.

        The index is made by what git is called with first, if there is such a call.
        """
        asked = ["status", *_SHAPE, "--ignore-submodules=all"]
        try:
            said = _both(first, asked, dirs=dirs, within=GLANCE)
        except TookTooLong:
            if dirs.index is not None:
                # Of a git that was ended as it wrote: the next would be kept from the index by it.
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(f"{dirs.index}.lock")
            # Only now: to look for such files first would cost another git at each look.
            self.unread = _pass_over_holes(dirs, first)
            said = run(asked, dirs=dirs, timeout=LOOK)
        told = {*self.staged, *self.conflicted} if dirs.index is not None else set()
        for record in path_count.few(said.out, "the workspace"):
            match record[:1]:
                case b"1":
                    if record[3:4] != b".":
                        self.unstaged.append(os.fsdecode(record.split(b" ", 8)[8]))
                case b"u":
                    self.conflicted.append(os.fsdecode(record.split(b" ", 10)[10]))
                case b"?":
                    self.untracked.append(os.fsdecode(record[2:]))
                case b"!":
                    self.ignored.add(record[2:].rstrip(b"/"))
        self.conflicted = list(long_lists.in_order({*self.conflicted}))
        self.unstaged = [name for name in self.unstaged if name not in told]
        self.untracked = [name for name in self.untracked if name not in told]


def _both(first: list[str] | None, then: list[str], *, dirs: Dirs, within: float) -> GitResult:
    if first is not None:
        return run_both(first, then, dirs=dirs, timeout=within)
    return run(then, dirs=dirs, timeout=within)


def _pass_over_holes(dirs: Dirs, first: list[str] | None) -> list[str]:
    """Has git take files with too many holes for unchanged; lists them."""
    room = ReadingRoom()
    top = os.fsencode(dirs.work_tree or "")
    tracked = _both(first, ["ls-files", "-z"], dirs=dirs, within=GLANCE).out
    for name in path_count.few(tracked, "the index"):
        with contextlib.suppress(OSError):
            room.takes(top, name, os.lstat(os.path.join(top, name)), is_new=False)
    mark = ["update-index", "--assume-unchanged", "-z", "--stdin"]
    index_entries.feed(mark, room.unread, dirs=dirs)
    return list(map(os.fsdecode, room.unread))


def _empty_tree(dirs: Dirs) -> str:
    return run(["hash-object", "-t", "tree", "--stdin"], dirs=dirs).out.decode().strip()


def _nested_work(
    repo: Repository, place: WorkspacePlace, *, dirs: Dirs, ignored: set[bytes]
) -> list[str]:
    nested = [
        os.path.dirname(entry.path)
        for entry in path_count.first_of(
            walk(place.path, enter=lambda path: path not in ignored), "the workspace"
        )
        if entry.kind == "dotgit" and os.path.dirname(entry.path) not in ignored
    ]
    links = _gitlinks(dirs, nested)
    return [
        os.fsdecode(path)
        for path in nested
        if not _is_untouched(repo, place, path=path, link=links.get(path))
    ]


def _gitlinks(dirs: Dirs, paths: list[bytes]) -> dict[bytes, str]:
    if not paths:
        return {}
    # An agent can make more nested repositories than a program can be called with.
    few = paths if sum(map(len, paths)) + len(paths) < _MOST_WORDS else []
    listed = run(["--literal-pathspecs", "ls-files", "-s", "-z", "--", *few], dirs=dirs).out
    wanted = set(paths)
    links = {}
    for record in long_lists.records(listed):
        about, _, name = record.partition(b"\t")
        mode, oid, _ = about.split(b" ")
        if mode == b"160000" and name in wanted:
            links[name] = oid.decode()
    return links


def _is_untouched(
    repo: Repository, place: WorkspacePlace, *, path: bytes, link: str | None
) -> bool:
    """Says whether a nested repository is a submodule exactly as the index records it."""
    if link is None:
        return False
    inner = nested_place(repo, place, path)
    if inner is None:
        return False
    state = _status(repo, inner)
    return state.head == link and state.clean


def nested_place(repo: Repository, outer: WorkspacePlace, path: bytes) -> WorkspacePlace | None:
    """Finds the git folder of a nested repository if it lies where it may be read."""
    folder = os.path.join(outer.path, os.fsdecode(path))
    inner = partial(
        WorkspacePlace, path=folder, known_as=outer.named(folder) if outer.known_as else ""
    )
    own = os.path.join(folder, ".git")
    if workspace_state.is_folder(own):
        return inner(kind="clone", git_dir=own, common_dir=own, box=outer.box)
    pointer = gitfiles.read_below(folder, ".git")
    if pointer is None or not pointer.startswith(b"gitdir: "):
        return None
    named = os.path.join(folder, os.fsdecode(pointer.removeprefix(b"gitdir: ").rstrip(b"\n")))
    target = os.path.realpath(outer.found(named))
    # Only a worktree has a part of the repository's own git folder. Whatever else an agent has made
    # of its workspace, what it points to elsewhere is not its own.
    ours = (repo.git_dir + os.sep,) if outer.kind == "worktree" else ()
    if not target.startswith((*ours, outer.path + os.sep)):
        return None
    if os.path.dirname(target) == os.path.join(repo.git_dir, "worktrees"):
        return inner(kind="worktree", git_dir=target, common_dir=repo.git_dir)
    return inner(kind="clone", git_dir=target, common_dir=target, box=outer.box)
