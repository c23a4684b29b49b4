"""Merges computed on objects alone, and the careful move of a branch that may be checked out.

Owns the merge commit and the ref with its checkout. Whether a merge is wanted is decided elsewhere.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence

import msgspec

from windlass.core.errors import Conflict, GitError
from windlass.core.printable import few, printable_line
from windlass.git import (
    branch_uses,
    checkout,
    cloned,
    long_lists,
    merge_attributes,
    path_count,
    registered,
    submodule_moves,
    workspace_state,
    worktrees,
)
from windlass.git.bounds import LONG
from windlass.git.environment import ReadBox
from windlass.git.index_lock import CheckoutBusy
from windlass.git.repository import (
    NOBODY,
    RefHeld,
    Repository,
    ahead_behind,
    branch_at,
    checkouts,
    head_commit,
    is_ancestor,
    merge_bases,
    places,
    places_at,
    read_ref,
    require,
    set_ref,
    stands_for,
)
from windlass.git.runner import failed, run

_MOST_BASES = 16
_RENAMES = {"merge.renameLimit": "2000"}
"""Files that are edited and moved at once are compared each with each, by thousands for minutes.

What is moved as it is, or keeps its name, is found however many there are."""


class Unmergeable(GitError):
    """Two commits that no merge brings together, whoever tries it and whenever."""


class MergeCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What merging `source` into `target` would mean."""

    tip: str
    """The commit that `source` names."""
    clean: bool
    conflicts: list[str]
    ahead: int
    behind: int
    files: int


class MergePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A finished merge commit and the ref that is to move to it."""

    target_ref: str
    old: str
    new: str
    tree: str
    checkout: str | None
    tip: str = ""
    """The commit that is merged; plans of older releases do not say it."""
    stands_for: str = ""
    """The merge of which the new commit has the tree, and not the second parent."""
    detaches: bool = False
    """Whether a checkout in which something is in the way is left where it is, on no branch."""
    left: tuple[str, ...] = ()
    """Those checkouts, as they were found before anything moved."""

    @property
    def target_branch(self) -> str:
        """The branch that is to move."""
        return self.target_ref.removeprefix("refs/heads/")


def check(repo: Repository, *, source: str, target: str) -> MergeCheck:
    """Says whether `source` merges cleanly into `target`; touches no work tree."""
    theirs, ours = require(repo, source), require(repo, target)
    path_count.require_few(repo.dirs, theirs)
    ahead, behind = ahead_behind(repo, theirs, ours)
    tree, conflicts = merge_trees(repo, ours=ours, theirs=theirs)
    listed = repo.git("diff-tree", "-r", "--name-only", "-z", ours, tree, "--")
    return MergeCheck(
        tip=theirs,
        clean=not conflicts,
        conflicts=conflicts,
        ahead=ahead,
        behind=behind,
        files=listed.out.count(b"\0"),
    )


def compared_with(repo: Repository, *, tip: str, target: str) -> str | None:
    """Gives the commit from which a merge into a target takes the way to a tip; None for none.

    Mostly it is where the two parted. An agent can have its tip come from both sides of a merge
    that the target has in its past, and have left out what one of them did: then both are best
    ancestors, and a merge compares with what they are together, made here the same way.
    """
    best = merge_bases(repo, tip, target)
    if not best:
        return None
    together, *others = best
    if len(others) > _MOST_BASES:
        return target
    for other in others:
        try:
            tree, conflicts = merge_trees(repo, ours=together, theirs=other)
        except GitError:  # they share no history
            return target
        if conflicts:
            # What is the same in tip and target no merge changes: this shows too much at worst.
            return target
        together = commit(
            repo,
            tree=tree,
            parents=(together, other),
            message="what a merge compares with\n",
            author=NOBODY,
            time=0,
        )
    return together


def merge_trees(repo: Repository, *, ours: str, theirs: str) -> tuple[str, list[str]]:
    """The tree of a merge, and the paths at which it conflicts; makes no commit.

    As in a checkout of `ours`, the attributes there say how a path is merged.
    """
    args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs]
    with merge_attributes.seen(repo, ours) as dirs:
        said = run(args, dirs=dirs, config=_RENAMES, ok=(0, 1, 128), timeout=LONG)
    if said.code == 128 and b"unrelated histories" in said.err:
        raise Unmergeable(
            "the two branches share no history", "was the branch made in another repository?"
        )
    if said.code == 128:
        raise failed(args, said, dirs=repo.dirs)
    tree, *names = long_lists.records(said.out)
    return tree.decode().strip(), sorted({os.fsdecode(name) for name in names if name})


def prepare(
    repo: Repository,
    *,
    source: str,
    target_branch: str,
    message: str,
    author: tuple[str, str],
    time: int,
) -> MergePlan:
    """Makes the merge commit object and moves nothing; the same arguments give the same commit."""
    ref = f"refs/heads/{target_branch}"
    ours, theirs = require(repo, ref), require(repo, source)
    path_count.require_few(repo.dirs, theirs)
    source = source.removeprefix("refs/heads/")
    if is_ancestor(repo, theirs, ours):
        raise Conflict(
            f"{printable_line(target_branch)} already contains {printable_line(source)}",
            "there is nothing to merge; commit work in the workspace first",
        )
    tree, conflicts = merge_trees(repo, ours=ours, theirs=theirs)
    if conflicts:
        raise Conflict(
            f"{printable_line(source)} conflicts with {printable_line(target_branch)}"
            f" in {few(conflicts)}",
            f"merge {printable_line(target_branch)} into it and resolve there, then try again",
        )
    new = commit(repo, tree=tree, parents=(ours, theirs), message=message, author=author, time=time)
    place = checkouts(repo).get(target_branch)
    return MergePlan(target_ref=ref, old=ours, new=new, tree=tree, checkout=place, tip=theirs)


def commit(
    repo: Repository,
    *,
    tree: str,
    parents: tuple[str, ...],
    message: str,
    author: tuple[str, str],
    time: int,
) -> str:
    """Makes a commit; the same arguments give the same one."""
    name, email = author
    who = {"NAME": name, "EMAIL": email, "DATE": f"@{time} +0000"}
    extra = {f"GIT_{role}_{k}": v for role in ("AUTHOR", "COMMITTER") for k, v in who.items()}
    args = ["commit-tree", tree, *(arg for parent in parents for arg in ("-p", parent))]
    said = run(args, dirs=repo.dirs, stdin=message.encode(errors="surrogateescape"), extra=extra)
    return said.out.decode().strip()


def refuse_dirty(
    repo: Repository,
    checkout_path: str,
    *,
    box: Sequence[str] = (),
    read: ReadBox | None = None,
) -> None:
    """Refuses a checkout whose tracked files are modified or staged.

    What a merge that failed left half moved there is put right first: it is nobody's change.
    That is done in `box`, and looked at through `read`, where the checkout is a clone.
    """
    with _locked(repo, _branch_at(repo, checkout_path)) as lock:
        _settle(repo, checkout_path, lock=lock, box=box)
    if names := checkout.dirty(repo, checkout_path, read=read):
        raise Conflict(
            f"{printable_line(checkout_path)} has uncommitted changes in {few(names)}",
            "commit or stash them first",
        )


def _locked(repo: Repository, branch: str) -> contextlib.AbstractContextManager[int]:
    """Holds the lock of whoever moves a branch, by whichever of its names."""
    return workspace_state.locked_branch(repo, stands_for(repo, branch))


def _branch_at(repo: Repository, place: str) -> str:
    """The branch that is checked out in a place; none where its HEAD is on none."""
    return next((branch for branch, at in checkouts(repo).items() if at == place), "")


def rehearse(repo: Repository, plan: MergePlan, *, box: Sequence[str] = ()) -> list[str]:
    """Refuses a plan that the target's checkout could not follow; moves nothing.

    Returns the checkouts that would be left behind, where the plan does that.
    """
    with _locked(repo, plan.target_branch) as lock:
        branch_uses.refuse(repo, plan.target_branch)
        behind = away(repo, plan)
        for place in _places(repo, plan):
            _settle(repo, place, lock=lock, box=box)
            with _held(repo, place, plan=plan, lock=lock, box=box) as follower:
                behind += [place] if _refuse(follower, plan) else []
    return behind


def settle(repo: Repository, plan: MergePlan, *, box: Sequence[str] = ()) -> None:
    """Puts the target's checkout right where `apply` died in it: it shows what the branch has."""
    with _locked(repo, plan.target_branch) as lock:
        for place in _places(repo, plan):
            _settle(repo, place, lock=lock, box=box)


def apply(repo: Repository, plan: MergePlan, *, box: Sequence[str] = ()) -> list[str]:
    """Moves the target ref from `old` to `new`, its checkouts first; safe to repeat after a crash.

    A checkout that did not follow would make the person's next commit revert what was merged.
    Where the checkout is a clone, `box` starts a program in a box that shows the clone, writable,
    and what it borrows; the clone's own branch goes along. Submodules of the person's checkouts
    follow as `submodule_moves` says. Returns the checkouts that were left behind, detached.
    """
    behind = _apply(repo, plan, box=box)
    submodule_moves.follow(repo, plan.target_branch, old=plan.old, new=plan.new)
    return behind


def _apply(repo: Repository, plan: MergePlan, *, box: Sequence[str]) -> list[str]:
    with (
        _locked(repo, plan.target_branch) as lock,
        contextlib.ExitStack() as held,
    ):
        now = read_ref(repo, plan.target_ref)
        if now not in (plan.old, plan.new):
            raise Conflict(
                f"{plan.target_ref} moved to {now or 'nothing'} meanwhile", "look again and retry"
            )
        if now == plan.old:
            branch_uses.refuse(repo, plan.target_branch)
        # Asked again, not taken from the plan: people switch branches.
        found = _places(repo, plan)
        gone = away(repo, plan)
        followers = []
        for place in found:
            _settle(repo, place, lock=lock, box=box)
            opened = _held(repo, place, plan=plan, lock=lock, box=box)
            followers.append(held.enter_context(opened))
        _require_places(repo, plan, found)
        if now == plan.new:
            for follower in followers:
                follower.catch_up()
            return []
        by_place = dict(zip(found, followers, strict=True))
        apart = places_at(repo, plan.new)
        behind = _move(repo, plan, by_place, gone=gone)
        followed = {place: by_place[place] for place in found if place not in behind}
        _follow_who_switched(repo, plan, followed, apart=apart, lock=lock)
        return behind


def _move(
    repo: Repository,
    plan: MergePlan,
    followers: Mapping[str, checkout.Follower],
    *,
    gone: Sequence[str],
) -> list[str]:
    """Moves checkouts and then the branch; what has gone ahead goes back where that fails."""
    refused = [place for place, follower in followers.items() if _refuse(follower, plan)]
    behind = [*refused, *gone]
    back = contextlib.ExitStack()
    try:
        for place in behind:
            branch = branch_at(repo, place) or plan.target_branch
            back.callback(checkout.attach, repo, place, branch=branch)
            checkout.detach(repo, place, at=plan.old)
        for place, follower in followers.items():
            if place not in behind:
                follower.follow()
                back.callback(follower.go_back)
        _require_places(repo, plan, [place for place in followers if place not in behind])
        branch_uses.refuse(repo, plan.target_branch)
        set_ref(repo, plan.target_ref, plan.new, old=plan.old)
    except RefHeld as error:
        back.close()
        raise CheckoutBusy(error.message, error.hint) from error
    except (Conflict, GitError, OSError):
        back.close()
        raise
    return behind


def _require_places(repo: Repository, plan: MergePlan, known: Sequence[str]) -> None:
    """Refuses where somebody has switched branches since: git needs no lock of ours for that."""
    if set(_places(repo, plan)) != set(known):
        raise Conflict(
            f"somebody switches to or from {printable_line(plan.target_branch)} meanwhile",
            "look again and retry",
        )


def _follow_who_switched(
    repo: Repository,
    plan: MergePlan,
    followers: Mapping[str, checkout.Follower],
    *,
    apart: Sequence[str],
    lock: int,
) -> None:
    """Puts right who switched in the moment of the move: files are as their HEAD is.

    `apart` are checkouts of other branches that were at the new commit before: not our business.
    """
    there = places_at(repo, plan.new)
    for place, follower in followers.items():
        if place not in there and head_commit(repo, place) == plan.old:
            follower.go_back()
    for place in there:
        if place not in followers and place not in apart:
            with (
                contextlib.suppress(Conflict),  # a git is at work there, or edits are in the way
                _held(repo, place, plan=plan, lock=lock, box=()) as follower,
            ):
                follower.catch_up()


def _refuse(follower: checkout.Follower, plan: MergePlan) -> bool:
    """Refuses a checkout that cannot follow; says that it is left behind where that is wanted."""
    try:
        follower.refuse()
    except Conflict:
        if not plan.detaches:
            raise
        return True
    return False


def _places(repo: Repository, plan: MergePlan) -> list[str]:
    """Where the target is checked out now."""
    found = places(repo, plan.target_branch)
    return [place for place in found if workspace_state.is_folder(place)]


def away(repo: Repository, plan: MergePlan) -> list[str]:
    """The person's worktrees of the target whose folder is not there: on another disk, mostly.

    They are left behind, detached at the commit that their files show, so that a commit in one that
    comes back takes back nothing. Refuses where it is the main checkout, whose branch others go by.
    """
    found = places(repo, plan.target_branch)
    gone = [place for place in found if not workspace_state.is_folder(place)]
    if repo.root in gone:
        raise Conflict(
            f"{printable_line(repo.root)} is not there, the checkout of"
            f" {printable_line(plan.target_branch)}",
            "bring it back, then try again",
        )
    return [place for place in gone if worktrees.is_of_person(repo, place)]


def _settle(repo: Repository, place: str, *, lock: int, box: Sequence[str]) -> None:
    """Puts a checkout right that an earlier merge left half moved, whichever that was."""
    if registered.branch_of(repo, place) is None:
        checkout.settle(repo, place, lock=lock)
    else:
        cloned.settle(repo, place, lock=lock, box=box)


def _held(
    repo: Repository, place: str, *, plan: MergePlan, lock: int, box: Sequence[str]
) -> contextlib.AbstractContextManager[checkout.Follower]:
    old, new = plan.old, plan.new
    if registered.branch_of(repo, place) is None:
        return checkout.held(repo, place, old=old, new=new, lock=lock)
    ref = plan.target_ref
    return cloned.held(repo, place, ref=ref, old=old, new=new, lock=lock, box=box)
