# ruff: noqa: PTH103, PTH108, PTH208
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Carries objects from the main repository into a git folder of ours: what some tips reach.

Owns the way there and the packs that it leaves. Only ever for a folder that no agent can write.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from windlass.core.errors import GitError
from windlass.git import workspace_state
from windlass.git.blobs import kinds
from windlass.git.bounds import LONG
from windlass.git.environment import Dirs
from windlass.git.runner import run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from windlass.git.repository import Repository

_PARTIAL = "--missing=allow-promisor"
_MANY = 50


def carry(repo: Repository, git_dir: str, *, wanted: Iterable[str], had: Iterable[str]) -> set[str]:
    """Brings what `wanted` reaches and `had` does not; gives those of `wanted` that came whole.

    What `had` reaches has to be there. Tips that the repository lacks, or lacks a part of, stay.
    """
    asked, known = set(wanted), set(had)
    present = kinds(repo.dirs, asked | known)
    tips, known = asked & present.keys(), known & present.keys()
    if not tips:
        return set()
    try:
        _send(repo, git_dir, _walk(tips, known))
    except GitError:
        # A ref to what is not there, or is there in part, must not keep the others from coming.
        whole = {tip for tip in sorted(tips) if _is_whole(repo, tip, known)}
        if whole == tips:
            raise
        if whole:
            _send(repo, git_dir, _walk(whole, known))
        return whole
    return tips


def carry_tree(repo: Repository, git_dir: str, commit: str) -> None:
    """Brings all of a commit's files that are here, whatever was brought of it earlier.

    A partial repository gets files later than the commits that have them.
    """
    args = ["rev-list", "--objects", "--no-object-names", "--missing=print", f"{commit}^{{tree}}"]
    listed = run(args, dirs=repo.dirs, timeout=LONG).out.decode().split()
    here = {oid for oid in listed if not oid.startswith("?")}
    lacking = here - kinds(Dirs(git_dir=git_dir), here).keys()
    if lacking:
        _send(repo, git_dir, "\n".join(sorted(lacking)).encode() + b"\n", how=())


def _walk(tips: set[str], but: set[str]) -> bytes:
    lines = [*sorted(tips), *(f"^{oid}" for oid in sorted(but))]
    return "\n".join(lines).encode() + b"\n"


def _is_whole(repo: Repository, tip: str, but: set[str]) -> bool:
    args = ["rev-list", "--objects", "--quiet", _PARTIAL, "--stdin"]
    walk = _walk({tip}, but)
    return run(args, dirs=repo.dirs, stdin=walk, ok=range(256), timeout=LONG).code == 0


def _send(
    repo: Repository, git_dir: str, walk: bytes, *, how: tuple[str, ...] = ("--revs", _PARTIAL)
) -> None:
    """Has git write a pack where it is to lie; one that is sent would be read whole once more."""
    objects = f"{git_dir}/objects"
    os.makedirs(f"{objects}/pack", exist_ok=True)
    there = workspace_state.quoted_alternate(f"{repo.git_dir}/objects")
    run(
        ["pack-objects", "-q", *how, "--non-empty", "--delta-base-offset", f"{objects}/pack/pack"],
        dirs=msgspec.structs.replace(repo.dirs, new_objects=objects, objects=there),
        stdin=walk,
        timeout=LONG,
    )


def packs(git_dir: str) -> list[str]:
    """Names the packs that a git folder of ours has, in order."""
    try:
        names = os.listdir(f"{git_dir}/objects/pack")
    except FileNotFoundError:
        return []
    listed = set(names)
    stems = (name.removesuffix(".pack") for name in names if name.endswith(".pack"))
    return sorted(stem for stem in stems if f"{stem}.idx" in listed)


def tidy(git_dir: str) -> None:
    """Makes few packs of many, with everything that is in them, where that can be done."""
    folder = f"{git_dir}/objects/pack"
    for name in os.listdir(folder):
        # Left by a git that was killed; whoever calls this works here alone.
        if name.startswith(("tmp_", ".tmp-")):
            os.unlink(f"{folder}/{name}")
    number = len(packs(git_dir))
    if number and number % _MANY == 0:
        # Not `-a`: that would write all of a large repository again.
        args = ["repack", "-d", "-q", "-n", "--geometric=2"]
        config = {"repack.writeBitmaps": "false"}
        run(args, dirs=Dirs(git_dir=git_dir), config=config, ok=range(256), timeout=LONG)
