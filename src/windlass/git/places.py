# ruff: noqa: PTH100, PTH103, PTH118, PTH120, PTH123, PTH208
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Where a workspace's git state lives, found from the main repository and not from agent files.

A linked worktree has its admin folder in the main git folder, a clone its own `.git` folder. The
`.git` pointer inside a workspace is agent-writable and is never believed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from typing import TYPE_CHECKING, Literal

import msgspec

from windlass.git.runner import Dirs, armed, run
from windlass.git.walk import erase

if TYPE_CHECKING:
    from collections.abc import Iterator

    from windlass.git.repository import Repository

# `git prune` knows this beginning too.
OBJECTS_PREFIX = "tmp_objdir-windlass-"

Operation = Literal["merge", "rebase", "am", "cherry-pick", "revert", "bisect"]

_OPERATIONS: tuple[tuple[str, Operation], ...] = (
    ("rebase-merge", "rebase"),
    ("rebase-apply/applying", "am"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A workspace folder and the git folder that is truly its own, if there is one."""

    path: str
    kind: Literal["worktree", "clone", "plain"]
    git_dir: str | None
    common_dir: str

    @property
    def dirs(self) -> Dirs | None:
        """The folders for reading this workspace's own refs."""
        if self.git_dir is None:
            return None
        return Dirs(git_dir=self.git_dir, common_dir=self.common_dir)

    @property
    def objects(self) -> str | None:
        """A clone's own objects, in the form of an alternates list."""
        if self.kind != "clone" or self.git_dir is None:
            return None
        return quoted_alternate(os.path.join(self.git_dir, "objects"))


def quoted_alternate(path: str) -> str:
    """Writes a path for git's list of object folders, where `:` separates."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def locate(repo: Repository, path: str) -> Place:
    """Finds the git state of the workspace at `path`, whether or not the folder still exists."""
    real = canonical(path)
    admin = find_admin(repo, real)
    if admin is not None:
        return Place(path=real, kind="worktree", git_dir=admin, common_dir=repo.git_dir)
    own = os.path.join(real, ".git")
    if is_folder(own) and is_folder(os.path.join(own, "objects")):
        return Place(path=real, kind="clone", git_dir=own, common_dir=own)
    return Place(path=real, kind="plain", git_dir=None, common_dir=repo.git_dir)


def canonical(path: str) -> str:
    """Resolves a path up to its last name, which an agent could have made a link to anywhere."""
    parent, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(parent), name) if name else parent


def is_folder(path: str) -> bool:
    """Says whether this is a folder itself, not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def admins(repo: Repository) -> dict[str, str]:
    """Maps every linked worktree's admin folder to the worktree folder that it names."""
    top = os.path.join(repo.git_dir, "worktrees")
    try:
        names = sorted(os.listdir(top))
    except FileNotFoundError:
        return {}
    found = {}
    for name in names:
        admin = os.path.join(top, name)
        pointer = read_small(os.path.join(admin, "gitdir"))
        if pointer and is_folder(admin):
            target = os.path.join(admin, os.fsdecode(pointer.rstrip(b"\n")))
            found[admin] = canonical(os.path.dirname(target))
    return found


def find_admin(repo: Repository, path: str) -> str | None:
    """Finds the admin folder of the linked worktree at `path`."""
    real = canonical(path)
    for admin, place in admins(repo).items():
        if place == real:
            return admin
    return None


def read_small(path: str, *, limit: int = 65536) -> bytes | None:
    """Reads a small regular file; None when it is missing or anything else."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        return file.read(limit)


def head_of(place: Place) -> tuple[str | None, str | None]:
    """Gives the ref that HEAD follows (None: detached) and HEAD's commit (None: unborn)."""
    if place.dirs is None:
        return None, None
    followed = run(["symbolic-ref", "-q", "HEAD"], dirs=place.dirs, ok=(0, 1, 128))
    ref = os.fsdecode(followed.out.removesuffix(b"\n")) or None
    said = run(
        ["rev-parse", "-q", "--verify", "HEAD^{commit}"],
        dirs=msgspec.structs.replace(place.dirs, objects=place.objects),
        ok=(0, 1, 128),
    )
    return ref, said.out.decode().strip() or None


def operation_of(place: Place) -> Operation | None:
    """Names what git is in the middle of there."""
    if place.git_dir is None:
        return None
    for name, operation in _OPERATIONS:
        if os.path.lexists(os.path.join(place.git_dir, name)):
            return operation
    return None


@contextlib.contextmanager
def scratch(repo: Repository) -> Iterator[str]:
    """Lends a private folder on the repository's own file system; it is gone afterwards."""
    os.makedirs(repo.private, mode=0o700, exist_ok=True)
    folder = tempfile.mkdtemp(prefix="tmp-", dir=repo.private)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def clear_leftovers(repo: Repository) -> None:
    """Deletes what killed calls left behind; only when nobody else works on the repository."""
    for folder, prefix in ((repo.private, "tmp-"), (f"{repo.git_dir}/objects", OBJECTS_PREFIX)):
        for name in os.listdir(folder) if is_folder(folder) else []:
            if name.startswith(prefix):
                erase(os.path.join(folder, name))


@contextlib.contextmanager
def locked(repo: Repository, name: str) -> Iterator[int]:
    """Holds a lock of ours in the git folder; a killed holder leaves nothing behind."""
    os.makedirs(repo.private, mode=0o700, exist_ok=True)
    with locked_file(os.path.join(repo.private, f"{name}.lock")) as handle:
        yield handle


@contextlib.contextmanager
def locked_file(path: str) -> Iterator[int]:
    """Holds a file lock and lends its descriptor.

    A child that inherits the descriptor keeps the lock for as long as it lives, so that nobody
    takes a killed daemon's git, which goes on working, for a dead one.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


@contextlib.contextmanager
def viewed(repo: Repository, place: Place, *, head: str | None) -> Iterator[Dirs]:
    """Lends folders through which git sees the workspace's files and a copy of its index.

    Configuration comes from the main repository alone: the temporary git folder holds nothing but
    HEAD and the index, so that nothing an agent wrote there is obeyed, no lock of a working agent
    is taken, and its index is never touched.
    """
    with scratch(repo) as folder:
        with open(os.path.join(folder, "HEAD"), "w", encoding="ascii") as file:
            file.write(f"{head}\n" if head else "ref: refs/heads/windlass-unborn\n")
        if place.git_dir is not None:
            _copy_index(place.git_dir, folder)
        yield armed(
            Dirs(
                git_dir=folder,
                common_dir=repo.git_dir,
                work_tree=place.path if is_folder(place.path) else folder,
                objects=place.objects,
            )
        )


def _copy_index(git_dir: str, folder: str) -> None:
    shared = [name for name in os.listdir(git_dir) if name.startswith("sharedindex.")]
    for name in ("index", *shared):
        source, target = os.path.join(git_dir, name), os.path.join(folder, name)
        content = read_small(source, limit=1 << 31)
        if content is not None:
            age = os.lstat(source).st_mtime_ns
            with open(target, "wb") as file:
                file.write(content)
            # By the index's own age git knows which files may have changed in the same moment as
            # it was written; a younger copy would have it trust their unchanged size.
            os.utime(target, ns=(age, age))
