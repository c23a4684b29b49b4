# ruff: noqa: PTH100, PTH108, PTH116, PTH118, PTH120, PTH208
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Where a workspace's git state lives, found from the main repository and not from agent files.

A linked worktree has its admin folder in the main git folder, a clone its own `.git` folder. The
`.git` pointer inside a workspace is agent-writable and is never believed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
from typing import TYPE_CHECKING, Literal

import msgspec

from windlass.core.errors import GitError
from windlass.core.printable import printable_line
from windlass.git import gitfiles, registered
from windlass.git.blobs import kinds
from windlass.git.descent import is_exchanged
from windlass.git.environment import Dirs, ReadBox
from windlass.git.erasure import erase
from windlass.git.runner import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from windlass.git.repository import Repository

read_small = gitfiles.read_small

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


class WorkspacePlace(msgspec.Struct, frozen=True, kw_only=True):
    """A workspace folder and the git folder that is truly its own, if there is one."""

    path: str
    kind: Literal["worktree", "clone", "plain"]
    git_dir: str | None
    common_dir: str
    lender: str | None = None
    """The object folder that a clone was made to borrow from; never what is written in it."""
    box: ReadBox | None = None
    """How git reads it, where that is not safe outside; it shows the clone and its lender."""
    known_as: str = ""
    """Where it lay while its agent worked in it, if that is elsewhere: files in it name that."""

    def named(self, path: str) -> str:
        """Gives a path in the workspace as its agent knew it."""
        return _exchanged(path, self.path, self.known_as) if self.known_as else path

    def found(self, path: str) -> str:
        """Gives the place now of a path that its agent wrote down."""
        return _exchanged(path, self.known_as, self.path) if self.known_as else path


def _exchanged(path: str, top: str, other: str) -> str:
    is_below = path == top or path.startswith(top + os.sep)
    return other + path.removeprefix(top) if is_below else path


def quoted_alternate(path: str) -> str:
    """Writes a path for git's list of object folders, where `:` separates."""
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def lent_list(place: WorkspacePlace, lent: str) -> str:
    """Lists for git where a clone's objects are: the plain files lent of it, and its lender's.

    The main repository may have tidied away what a clone still borrows from the mirror.
    """
    return ":".join(quoted_alternate(path) for path in (lent, place.lender) if path is not None)


def of_clone(place: WorkspacePlace, dirs: Dirs) -> Dirs:
    """Narrows a look at a clone to the objects that its agent can see, where those are known.

    An agent can write down any id that it has heard of; what only the main repository has under
    it is none of its work, and must not come to it by being kept and put back.
    """
    if dirs.box or place.lender is None or not narrows(place):
        return dirs
    return Dirs(git_dir=os.path.dirname(place.lender), objects=dirs.objects)


def narrows(place: WorkspacePlace) -> bool:
    """Says whether a clone's lender is there, and with it is known what its agent can see."""
    return place.lender is not None and is_folder(place.lender)


def locate(repo: Repository, path: str, *, box: ReadBox | None = None) -> WorkspacePlace:
    """Finds the git state of the workspace at `path`, whether or not the folder still exists.

    A clone is read through `box`, where there is one.
    """
    real = canonical(path)
    admin = find_admin(repo, real)
    if admin is not None:
        # The repository may have come to lie behind a link of the person's.
        own_dir = canonical(admin)
        return WorkspacePlace(path=real, kind="worktree", git_dir=own_dir, common_dir=repo.git_dir)
    own = os.path.join(real, ".git")
    origin = registered.origin_of(repo, real)
    lender = os.path.join(origin, "objects") if origin is not None else None
    if is_folder(own) and is_folder(os.path.join(own, "objects")):
        return WorkspacePlace(
            path=real, kind="clone", git_dir=own, common_dir=own, lender=lender, box=box
        )
    _require_known(repo, real)
    return WorkspacePlace(
        path=real, kind="plain", git_dir=None, common_dir=repo.git_dir, lender=lender, box=box
    )


def canonical(path: str) -> str:
    """Resolves a path up to its last name, which an agent could have made a link to anywhere."""
    parent, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(parent), name) if name else parent


def is_folder(path: str) -> bool:
    """Says whether this is a folder itself, not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError as error:
        if is_exchanged(error) or error.errno == errno.ENAMETOOLONG:
            return False
        # Not known: whoever took it for none would leave behind what is in it.
        raise GitError(
            f"cannot look at {printable_line(path)}: {error.strerror}",
            "open the folder that it is in for the user that runs Windlass, then try again",
        ) from error


def admins(repo: Repository) -> dict[str, str]:
    """Maps every linked worktree's admin folder to the worktree folder that it names."""
    return _admins(repo)[0]


def _admins(repo: Repository) -> tuple[dict[str, str], list[GitError]]:
    """Gives what `admins` gives, and why others of them cannot be read."""
    top = os.path.join(repo.git_dir, "worktrees")
    try:
        names = sorted(os.listdir(top))
    except FileNotFoundError:
        return {}, []
    folders = {}
    unread = []
    for name in names:
        admin = os.path.join(top, name)
        try:
            pointer = gitfiles.read_below(canonical(admin), "gitdir")
        except GitError as error:
            unread.append(error)
            continue
        if pointer and is_folder(admin):
            target = os.path.join(admin, os.fsdecode(pointer.rstrip(b"\n")))
            folders[admin] = canonical(os.path.dirname(target))
    return folders, unread


def _require_known(repo: Repository, path: str) -> None:
    """Refuses to call a folder plain whose git state may lie where it cannot be read."""
    _, unread = _admins(repo)
    if unread:
        raise GitError(
            f"which git folder is that of {printable_line(path)} is not known: {unread[0].message}",
            unread[0].hint,
        )


def find_admin(repo: Repository, path: str) -> str | None:
    """Finds the admin folder of the linked worktree at `path`."""
    real = canonical(path)
    for admin, place in admins(repo).items():
        if place == real:
            return admin
    return None


def read_person(path: str, *, limit: int = 65536) -> bytes:
    """Reads a file of the person's own, whose links mean what they say; b"" when there is none."""
    with contextlib.suppress(GitError):  # git itself goes on without what it may not read
        return read_small(os.path.realpath(path), limit=limit) or b""
    return b""


def head_of(
    repo: Repository, place: WorkspacePlace, *, objects: str | None = None
) -> tuple[str | None, str | None]:
    """Gives the ref that HEAD follows (None: detached) and HEAD's commit (None: unborn).

    HEAD's commit has to be in the main repository (of a clone: in the mirror) or in `objects`;
    elsewhere it counts as unborn.
    """
    if place.git_dir is None:
        return None, None
    ref, written = gitfiles.read_head(place.git_dir)
    if place.kind == "worktree":
        if is_folder(os.path.join(place.git_dir, "reftable")):
            return _asked_head(place.git_dir, repo.git_dir)
        written = ref or written
    if written is None:
        return ref, None
    return ref, commit_in(of_clone(place, Dirs(git_dir=repo.git_dir, objects=objects)), written)


def commit_in(dirs: Dirs, written: str) -> str | None:
    """Gives the commit that a HEAD names, where it is there, with its tree.

    An agent can lose objects, or name a commit that it has only half.
    """
    there = kinds(dirs, [f"{written}^{{commit}}", f"{written}^{{tree}}"])
    commit = next((oid for oid, kind in there.items() if kind == "commit"), None)
    return commit if "tree" in there.values() else None


def _asked_head(git_dir: str, common_dir: str) -> tuple[str | None, str | None]:
    dirs = Dirs(git_dir=git_dir, common_dir=common_dir)
    followed = run(["symbolic-ref", "-q", "HEAD"], dirs=dirs, ok=(0, 1, 128))
    said = run(["rev-parse", "-q", "--verify", "HEAD^{commit}"], dirs=dirs, ok=(0, 1, 128))
    ref = os.fsdecode(followed.out.removesuffix(b"\n"))
    return ref or None, said.out.decode().strip() or None


def operation_of(place: WorkspacePlace) -> Operation | None:
    """Names what git is in the middle of there."""
    return operation_in(place.git_dir) if place.git_dir is not None else None


def operation_in(git_dir: str) -> Operation | None:
    """Names what git is in the middle of, by its git folder."""
    for name, operation in _OPERATIONS:
        if os.path.lexists(os.path.join(git_dir, name)):
            return operation
    return None


@contextlib.contextmanager
def scratch(repo: Repository) -> Iterator[str]:
    """Lends a private folder on the repository's own file system; it is gone afterwards."""
    folder = tempfile.mkdtemp(prefix="tmp-", dir=repo.make_private())
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
    with locked_file(os.path.join(repo.make_private(), f"{name}.lock")) as handle:
        yield handle


@contextlib.contextmanager
def locked_branch(repo: Repository, branch: str) -> Iterator[int]:
    """Holds a lock of ours for whoever moves one branch, and its checkout with it.

    One for each branch: an agent can stretch what is done in its clone, and holds up nobody else.
    """
    name = hashlib.sha256(os.fsencode(branch)).hexdigest()[:32]
    path = os.path.join(repo.make_private(), f"branch-{name}.lock")
    while True:
        with locked_file(path) as handle:
            if not _is_at(path, handle):
                continue  # whoever held it has removed it
            try:
                yield handle
            finally:
                os.unlink(path)
            return


def _is_at(path: str, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False


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
