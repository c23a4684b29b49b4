# ruff: noqa: PTH102, PTH108, PTH118, PTH123
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""How git looks at a workspace: through folders of ours, and at a clone from inside a box.

An agent writes its work tree, its index and, in a clone, its objects, refs and configuration. The
temporary git folder that is lent here holds HEAD, a copy of the index and settings of the person's
alone, so that nothing an agent wrote there is obeyed, no lock of a working agent is taken, and its
index is never touched. What git reads of a clone beyond that it reads in a box, which shows the
clone and what it borrows and nothing else: whatever it can be led to open is the agent's own.
"""

from __future__ import annotations

import contextlib
import logging
import os
from typing import TYPE_CHECKING

import msgspec

from windlass.core.errors import GitError
from windlass.git import attire, gitfiles, registered, workspace_state
from windlass.git.environment import Dirs
from windlass.git.included import user_excludes
from windlass.git.runner import armed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from windlass.git.repository import Repository
    from windlass.git.workspace_state import WorkspacePlace

log = logging.getLogger(__name__)

_UNBORN = "ref: refs/heads/windlass-unborn\n"
_EXCLUDES = "info/excludes-of-the-person"
_REFS = 256 << 20
_EVERY_CHANGE = {"core.trustctime": "true", "core.checkStat": "default"}
"""Has git compare the one time of a file that an agent cannot set: when it was last changed."""


class View(msgspec.Struct, frozen=True, kw_only=True):
    """A workspace as git may look at it: folders of ours, and where its HEAD is."""

    dirs: Dirs
    ref: str | None
    """What HEAD follows; None when it is detached."""
    head: str | None
    """HEAD's commit; None when there is none."""


@contextlib.contextmanager
def viewed(
    repo: Repository, place: WorkspacePlace, *, otherwise: str | None = None
) -> Iterator[View]:
    """Lends folders through which git sees the workspace's files and a copy of its index.

    Where the workspace has no HEAD, it is `otherwise`.
    """
    with indexed(repo, place) as bare:
        dirs = with_objects(place, bare)
        ref, head = workspace_state.head_of(repo, place, objects=None if dirs.box else dirs.objects)
        if head is None and dirs.box:
            ref, head = _boxed_head(place, dirs)
        _write_head(bare, head or otherwise)
        yield View(dirs=dirs if dirs.box else armed(dirs), ref=ref, head=head)


def with_objects(place: WorkspacePlace, dirs: Dirs) -> Dirs:
    """Has git see a clone's own objects too: the plain files among them, linked where it looks.

    Only plain ones, because git waits for ever at a pipe, in a box too. Of a clone that has lost
    its git folder, git sees what it borrowed.
    """
    if place.kind == "plain" and place.lender is not None and workspace_state.narrows(place):
        return msgspec.structs.replace(dirs, objects=workspace_state.quoted_alternate(place.lender))
    if place.kind != "clone" or place.git_dir is None:
        return dirs
    lent = os.path.join(dirs.git_dir, "lent")
    gitfiles.lend_objects(place.git_dir, lent)
    return msgspec.structs.replace(dirs, objects=workspace_state.lent_list(place, lent))


@contextlib.contextmanager
def glanced(repo: Repository, place: WorkspacePlace) -> Iterator[View]:
    """Lends what `viewed` lends, for questions that read no object but those of HEAD's commit.

    That commit has mostly come home already, and then the objects of a clone are not lent.
    """
    ref, head = workspace_state.head_of(repo, place)
    if head is None:
        with viewed(repo, place) as view:
            yield view
        return
    with indexed(repo, place) as dirs:
        _write_head(dirs, head)
        yield View(dirs=dirs if dirs.box else armed(dirs), ref=ref, head=head)


@contextlib.contextmanager
def indexed(repo: Repository, place: WorkspacePlace) -> Iterator[Dirs]:
    """Lends what `viewed` lends but HEAD and objects: enough to ask what git ignores."""
    with workspace_state.scratch(repo) as folder:
        tree = place.path if workspace_state.is_folder(place.path) else folder
        if place.box is not None:
            dirs = _furnished(repo, place, folder, tree)
        else:
            dirs = Dirs(git_dir=folder, common_dir=repo.git_dir, work_tree=tree)
        _write_head(dirs, None)
        if place.git_dir is not None:
            gitfiles.copy_index(place.git_dir, folder)
        yield dirs


@contextlib.contextmanager
def proven(repo: Repository, place: WorkspacePlace) -> Iterator[Dirs]:
    """Lends folders through which a box sees the workspace's files, and no object of the clone's.

    Objects are those of the mirror, which came home and were checked on their way, and what git
    makes of the files now. There is no index yet.
    """
    with workspace_state.scratch(repo) as folder:
        tree = place.path if workspace_state.is_folder(place.path) else folder
        dirs = _furnished(repo, place, folder, tree)
        _write_head(dirs, None)
        yield dirs


def at_commit(
    repo: Repository, place: WorkspacePlace, dirs: Dirs, commit: str | None
) -> tuple[Dirs, list[str]]:
    """Has git see the files beside an index that is as a commit, or empty.

    Gives the folders, and what git is to be called with first, in them: see `run_both`.
    An agent can write into its index that changed files are unchanged. So where the index is known
    that its clone was made with, git begins with that, and reads the files that changed since.
    """
    index = os.path.join(dirs.git_dir, "index")
    config = dirs.config
    if place.box is not None and place.lender is not None:
        index = os.path.join(dirs.git_dir, "first-index")
        _copy_first_index(repo, place, index)
        config = {**config, **_EVERY_CHANGE}
    dirs = msgspec.structs.replace(dirs, index=index, config=config)
    # It reads files too: those that have changed since the index was last written are marked.
    return dirs, ["read-tree", *(("-i", "--reset", commit) if commit else ("--empty",))]


def _copy_first_index(repo: Repository, place: WorkspacePlace, into: str) -> None:
    """Copies the index that a clone was made with, whole or not at all: git does without it."""
    try:
        with gitfiles.opened(repo.private) as private:
            gitfiles.copy_file(private, registered.first_index(place.path), into=into)
    except (OSError, GitError) as error:
        log.warning("%s: its first index cannot be copied: %s", place.path, error)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(into)


def with_excludes(repo: Repository, dirs: Dirs) -> Dirs:
    """Has git leave out what the person's own ignore file names, too."""
    settings = user_excludes(repo)
    if dirs.box:
        content = workspace_state.read_person(settings["core.excludesFile"], limit=1 << 20)
        settings = {"core.excludesFile": os.path.join(dirs.git_dir, _EXCLUDES)}
        _write(settings["core.excludesFile"], content)
    return msgspec.structs.replace(dirs, config={**dirs.config, **settings})


def _furnished(repo: Repository, place: WorkspacePlace, folder: str, tree: str) -> Dirs:
    """Makes a folder a whole git folder: what lies beside it is not there in the box."""
    if place.box is None:
        raise AssertionError("a view without a box needs no folder of its own")
    for name in ("refs", "objects", "info"):
        os.mkdir(os.path.join(folder, name))
    worn = attire.rules(repo, origin="")
    _write(os.path.join(folder, "config"), worn["config"])
    _write(os.path.join(folder, "info/attributes"), worn["info/attributes"])
    own = workspace_state.read_person(os.path.join(repo.git_dir, "info/exclude"), limit=1 << 20)
    _write(os.path.join(folder, "info/exclude"), own)
    if place.lender is not None:
        # What the mirror has is no news of the clone's.
        shown = gitfiles.read_small(os.path.join(place.lender, "../packed-refs"), limit=_REFS)
        _write(os.path.join(folder, "packed-refs"), shown or b"")
    lender = place.lender and workspace_state.quoted_alternate(place.lender)
    return Dirs(git_dir=folder, work_tree=tree, objects=lender, box=tuple(place.box(folder)))


def _boxed_head(place: WorkspacePlace, dirs: Dirs) -> tuple[str | None, str | None]:
    if place.git_dir is None:
        return None, None
    ref, written = gitfiles.read_head(place.git_dir)
    return ref, workspace_state.commit_in(dirs, written) if written is not None else None


def _write_head(dirs: Dirs, head: str | None) -> None:
    _write(os.path.join(dirs.git_dir, "HEAD"), f"{head}\n".encode() if head else _UNBORN.encode())


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)
