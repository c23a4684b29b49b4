"""What the run that proved the tree which landed last left at the paths of `gate.cache`.

Every run sees a throw-away copy of it. What a green run leaves is kept apart, by its tree, until
that is the target's own: so none hands anything on but what has landed. Nothing of it ever stands
in the place of a file of the tree.
"""

from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path
from typing import NamedTuple

from windlass.core.gate.spec import digest
from windlass.daemon.gate.gates import Gate
from windlass.daemon.gate.places import GatePlaces
from windlass.daemon.gate.rooms import Room
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.git import gate_trees
from windlass.git.erasure import erase

_TAKEN = ".windlass-cache"
"""In the view of a run's tree: where the caches are put together, for us to take them away."""
_SECONDS = 600.0
_LOG_BYTES = 1 << 20
_MOST_LEFT = 8
"""Trees of which something is kept for when they land; a check's oldest go first."""


class RunCache(NamedTuple):
    """The cache of one check, for runs of one tree; without paths where that has files there."""

    folder: Path
    """What runs see: of the tree that landed last."""
    left: Path
    """What this run leaves, for when its tree has landed."""
    paths: tuple[str, ...]


def of(context: Context, gate: Gate, check_key: str, tree: str) -> RunCache:
    """Finds the cache of a check; from the run that proved what is the target's tree by now."""
    places = GatePlaces(context.folders.home, gate.repo.id)
    git = repos.git(gate.repo)
    plain = [path for path in gate.spec.cache if _is_plain(path)]
    free = tuple(path for path in plain if not gate_trees.blobs(git, tree, [path]))
    folder = places.caches / digest([check_key, gate.level, gate.spec.cache])
    with context.locks.holding([f"gate cache {folder}"]):
        if _is_folder(left := _left_by(folder, gate.target.tree)):
            _replace(folder, left)
    return RunCache(folder, _left_by(folder, tree), free if len(free) == len(plain) else ())


def lowers(cache: RunCache) -> list[Path]:
    """What a run is to see of it, above everything else."""
    if not cache.paths or not cache.folder.is_dir():
        return []
    os.utime(cache.folder)
    return [cache.folder]


def keep(context: Context, cache: RunCache, room: Room, *, log: Path, mark: str) -> None:
    """Keeps what a green run has left, before its room is gone, for when its tree has landed.

    Put together by a command in the run's own box, which sees no more than the run did.
    """
    if not cache.paths:
        return
    named = " ".join(shlex.quote(path) for path in cache.paths)
    line = (
        f"mkdir {_TAKEN} || exit 1\n"
        f"for path in {named}; do\n"
        f'[ ! -e "$path" ] || cp -a --parents -- "$path" {_TAKEN} || exit 1\n'
        "done"
    )
    own_log = log.with_suffix(".cache")
    done = context.commands.run_whole(
        line,
        cwd=room.cwd,
        env=room.env,
        log=own_log,
        timeout=_SECONDS,
        mark=mark,
        prefix=room.prefix,
        most=_LOG_BYTES,
    )
    own_log.unlink(missing_ok=True)
    taken = room.written / _TAKEN
    if done.code or done.timed_out or not _is_folder(taken):
        return
    cache.left.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with context.locks.holding([f"gate cache {cache.folder}"]):
        _replace(cache.left, taken)
        os.utime(cache.left)  # its time is the end of the run, and no word of the tests'
        others = cache.folder.parent.glob(f"{cache.folder.name}-*")
        for old in sorted(others, key=lambda other: other.lstat().st_mtime)[:-_MOST_LEFT]:
            erase(str(old))


def _left_by(folder: Path, tree: str) -> Path:
    return folder.with_name(f"{folder.name}-{tree}")


def _replace(folder: Path, new: Path) -> None:
    erase(str(folder))
    new.rename(folder)


def _is_plain(path: str) -> bool:
    """Whether a path names something in the tree, word for word."""
    parts = path.split("/")
    return not set(path) & set("*?[\0") and not {"", ".", "..", ".git"} & set(parts)


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False
