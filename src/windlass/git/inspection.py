# ruff: noqa: PTH108, PTH118
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Looks at all of a workspace, before a salvage writes anything of it.

Owns what was seen: HEAD, the branch, the index, refs, stashes, and what is in the folder. What of
that is kept, and how, is `salvage`'s to say.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

import msgspec

from windlass.core.errors import GitError
from windlass.git import (
    gitfiles,
    gitstate,
    names,
    registered,
    roots,
    views,
    workspace_state,
    worktrees,
)
from windlass.git.blobs import kinds
from windlass.git.bounds import Patience
from windlass.git.environment import limited
from windlass.git.manifest import Dropped
from windlass.git.path_count import TooManyPaths
from windlass.git.provided import NOTHING, Provided
from windlass.git.repository import read_ref
from windlass.git.runner import run
from windlass.git.survey import Survey, survey

if TYPE_CHECKING:
    from windlass.git.contents import Tree
    from windlass.git.environment import Dirs
    from windlass.git.gitstate import IndexEntries
    from windlass.git.manifest import Stash
    from windlass.git.repository import Repository
    from windlass.git.workspace_state import WorkspacePlace

log = logging.getLogger(__name__)

_UNBORN = Dropped(
    path=".git/HEAD",
    reason="its own branch had no commit; it comes back at the last one that is known",
    files=0,
)


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen in a workspace before anything is written."""

    place: WorkspacePlace
    folder: bool
    branch: str | None
    tip: str | None
    head: str | None
    head_ref: str | None
    base: str | None
    stashes: list[Stash]
    refs: dict[str, str]
    home: str | None
    """The tip that came home last, which a clone's own may have left behind."""
    survey: Survey
    before: Tree
    index: IndexEntries


def inspect(
    repo: Repository,
    place: WorkspacePlace,
    *,
    agent: str,
    branch: str | None,
    known: dict[str, str],
    caps: tuple[int, int],
    provided: Provided = NOTHING,
) -> Work:
    """Looks at all of a workspace; `known` holds the refs of its agent, and of `branch`."""
    refs = roots.private_refs(repo, place)
    base = known.get(f"refs/windlass/base/{agent}")
    folder = workspace_state.is_folder(place.path)
    name = branch or _own_branch(repo, place)
    if branch:
        tip = known.get(f"refs/heads/{branch}")
    else:
        tip = read_ref(repo, f"refs/heads/{name}") if name is not None else None
    home = tip if place.kind == "clone" else None
    with views.viewed(repo, place, otherwise=tip if place.kind == "plain" else None) as view:
        dirs = view.dirs
        start = view.head or (tip if place.kind == "plain" else None)
        if place.kind == "clone":
            own = refs.get(f"refs/heads/{name}")
            seen_inside = workspace_state.of_clone(place, dirs)
            tip = own if own == home or _is_whole(seen_inside, own) else home
            start = start if start in (tip, home) or _is_whole(seen_inside, start) else None
        left = gitstate.index_left(place, dirs)
        index = gitstate.read_index(dirs)
        index.dropped.extend(left)
        if not index.is_whole:
            os.unlink(os.path.join(dirs.git_dir, "index"))  # the copy: git would stop at it again
        seen = Survey(
            files=[],
            dotgits=[],
            beyond=[],
            hollow=[],
            folders=[],
            empty=[],
            ignored=set(),
            dropped=[],
        )
        if folder:
            seen = survey(repo, place, dirs, size_cap=caps[0], count_cap=caps[1], provided=provided)
        if view.head is None and view.ref == f"refs/heads/{name}":
            seen.dropped.append(_UNBORN)
        before = _files_of(repo, place, dirs, start)
    return Work(
        place=place,
        folder=folder,
        branch=name,
        tip=tip or start or base,
        head=start,
        head_ref=view.ref,
        base=base,
        stashes=roots.stashes(place, branch=name),
        refs=refs,
        home=home,
        survey=seen,
        before=before,
        index=index,
    )


def _files_of(repo: Repository, place: WorkspacePlace, dirs: Dirs, commit: str | None) -> Tree:
    """Lists what a commit has; of one that unfolds to more than can be listed, nothing.

    Then the files are kept by themselves, and not by what is different in them.
    """
    try:
        listed = _listed(repo, place, dirs, commit)
    except TooManyPaths:
        return {}
    except GitError:
        if not dirs.box:
            raise
        return {}
    return listed if all(map(names.is_path, listed)) else {}


def _listed(repo: Repository, place: WorkspacePlace, dirs: Dirs, commit: str | None) -> Tree:
    """Lists it at home, if it has come there: it takes no box to read what was checked before."""
    if dirs.box and workspace_state.narrows(place):
        home = limited(workspace_state.of_clone(place, repo.dirs))
        try:
            return gitstate.read_tree(home, commit)
        except TooManyPaths:
            raise
        except GitError:
            log.debug("%s is not at home, or not whole", commit)
    return gitstate.read_tree(dirs, commit)


def _is_whole(dirs: Dirs, oid: str | None) -> bool:
    """Says whether an id that is written in a clone names a commit, and all of it is there."""
    if oid is None or kinds(dirs, [oid]).get(oid) != "commit":
        return False
    # Not `--all`: that is HEAD too, which may be the very commit.
    walk = ["rev-list", "--objects", "--quiet", oid, "--not", "--glob=refs/"]
    try:
        return run(walk, dirs=dirs, ok=range(256), timeout=Patience().left).code == 0
    except GitError:  # it takes for ever
        return False


def _own_branch(repo: Repository, place: WorkspacePlace) -> str | None:
    known = registered.branch_of(repo, place.path)
    if known is not None or place.git_dir is None:
        return known
    if branch := worktrees.own_branch(place.git_dir):
        return branch
    head_ref, _ = workspace_state.head_of(repo, place)
    if head_ref is not None:
        return head_ref.removeprefix("refs/heads/")
    # A rebase detaches HEAD and remembers the branch.
    for name in ("rebase-merge/head-name", "rebase-apply/head-name"):
        saved = gitfiles.read_below(place.git_dir, name)
        if saved is not None:
            return os.fsdecode(saved.strip()).removeprefix("refs/heads/")
    return None
