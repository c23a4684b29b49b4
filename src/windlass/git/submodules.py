# ruff: noqa: PTH104, PTH118, PTH120
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Submodules of a commit: which there are, and how a fresh workspace gets their files.

Without a network: objects come from the git folders that the person's own clone has of them. What a
commit says of them may be an agent's: its names pass `names`, and only what the tree has as a
gitlink counts. Each becomes a repository of its own, which borrows nothing and names no remote:
addresses may hold a password, and what is borrowed may be pruned.
"""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, NamedTuple

from windlass.core.errors import GitError
from windlass.git import long_lists, names, object_transfer, workspace_state
from windlass.git.blobs import kinds
from windlass.git.bounds import LONG
from windlass.git.environment import Dirs
from windlass.git.erasure import erase
from windlass.git.repository import Repository
from windlass.git.runner import armed, run

if TYPE_CHECKING:
    from collections.abc import Iterable

_MODE = b"160000"
_SHA256 = 64
"""Digits of an id of the newer kind."""


class Submodule(NamedTuple):
    """A folder of a commit that is another repository, at a commit of that."""

    name: str
    path: str
    commit: str


class Filled(NamedTuple):
    """The folders of submodules that have their files, and those that are empty, each with why."""

    filled: list[str]
    empty: dict[str, str]


def folders(repo: Repository, commit: str) -> list[str]:
    """Names the folders of a commit that are submodules, as far as its .gitmodules says so."""
    asked = ("config", "-z", "--blob", f"{commit}:.gitmodules", "--get-regexp", r"\.path$")
    said = repo.git(*asked, ok=(0, 1, 128))
    fields = (field.partition(b"\n")[2] for field in long_lists.records(said.out))
    return sorted(os.fsdecode(field) for field in fields if field)


def of_commit(repo: Repository, commit: str) -> list[Submodule]:
    """Lists the submodules of a commit, as its .gitmodules calls them and its tree has them."""
    asked = ("config", "-z", "--blob", f"{commit}:.gitmodules", "--get-regexp", r"\.path$")
    said = repo.git(*asked, ok=(0, 1, 128))
    called: dict[bytes, bytes] = {}
    for field in long_lists.records(said.out):
        key, _, path = field.partition(b"\n")
        if path:
            called[path.rstrip(b"/")] = key.partition(b".")[2].rpartition(b".")[0]
    return [
        Submodule(os.fsdecode(called[path]), os.fsdecode(path), link)
        for path, link in sorted(_gitlinks(repo, commit, called).items())
    ]


def _gitlinks(repo: Repository, commit: str, paths: Iterable[bytes]) -> dict[bytes, str]:
    wanted = [path for path in paths if names.is_path(path)]
    if not wanted:
        return {}
    args: list[str | bytes] = [
        "--literal-pathspecs",
        "ls-tree",
        "-z",
        "--full-tree",
        commit,
        "--",
        *wanted,
    ]
    links = {}
    for record in long_lists.records(run(args, dirs=repo.dirs).out):
        about, _, path = record.partition(b"\t")
        mode, _, oid = about.split(b" ")
        if mode == _MODE and path in wanted:
            links[path] = oid.decode()
    return links


def unknown(repo: Repository, commit: str) -> list[Submodule]:
    """Lists the submodules whose commit the person's own clone of them does not have."""
    return [found for found in of_commit(repo, commit) if _source(repo, found) is None]


def populate(repo: Repository, folder: str, commit: str) -> Filled:
    """Gives the submodules of a fresh workspace at a commit their files, as far as they are here.

    Only before an agent was in it. Calling it again after a crash completes it: a submodule that
    has its `.git` is whole.
    """
    filled: list[str] = []
    empty: dict[str, str] = {}
    for found in of_commit(repo, commit):
        target = os.path.join(folder, found.path)
        if workspace_state.is_folder(os.path.join(target, ".git")):
            filled.append(found.path)
            continue
        if not _is_plain(folder, target):
            empty[found.path] = "its folder is not there"
            continue
        source = _source(repo, found)
        if source is None:
            empty[found.path] = "your own clone does not have its commit"
            continue
        try:
            _fill(source, target, found.commit, beside=os.path.dirname(folder))
        except GitError as error:
            empty[found.path] = error.message
        else:
            filled.append(found.path)
    return Filled(filled, empty)


def _is_plain(folder: str, target: str) -> bool:
    """Whether a folder is there and no part of its path is a link."""
    top = os.path.realpath(folder)
    below = os.path.relpath(target, folder)
    return workspace_state.is_folder(target) and os.path.realpath(target) == os.path.join(
        top, below
    )


def _source(repo: Repository, found: Submodule) -> Repository | None:
    """The person's own repository of a submodule, if it has the commit."""
    if not names.is_path(os.fsencode(found.name)):
        return None
    modules = os.path.join(repo.git_dir, "modules")
    places = (
        (modules, os.path.join(modules, found.name)),
        (repo.root, os.path.join(repo.root, found.path, ".git")),
    )
    for top, place in places:
        inside = os.path.join(os.path.realpath(top), os.path.relpath(place, top))
        if not workspace_state.is_folder(place) or os.path.realpath(place) != inside:
            continue
        source = Repository(root=place, git_dir=place)
        try:
            if kinds(source.dirs, {found.commit}).get(found.commit) == "commit":
                return source
        except GitError:
            continue  # no repository, or one that cannot be read
    return None


def _fill(source: Repository, target: str, commit: str, *, beside: str) -> None:
    """Makes a folder a repository at a commit; its `.git` comes last."""
    made = tempfile.mkdtemp(prefix=".submodule-", dir=beside)
    try:
        kind = "sha256" if len(commit) == _SHA256 else "sha1"
        run(["init", "-q", "--template=", f"--object-format={kind}", made])
        git_dir = os.path.join(made, ".git")
        if commit not in object_transfer.carry(source, git_dir, wanted={commit}, had=()):
            raise GitError("your own clone has only a part of its commit", "fetch it there")
        run(["update-ref", "--no-deref", "HEAD", commit], dirs=Dirs(git_dir=git_dir))
        dirs = armed(Dirs(git_dir=git_dir, work_tree=target))
        run(["reset", "-q", "--hard", commit], dirs=dirs, timeout=LONG)
        os.rename(git_dir, os.path.join(target, ".git"))
    finally:
        erase(made)
