"""What the target's last green run of a check left at the paths of `gate.cache`.

Every run sees a throw-away copy of it, so none can hand anything on but a run of the target's own
tree. Nothing of it ever stands in the place of a file of the tree.
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


class RunCache(NamedTuple):
    """The cache of one check, for runs of one tree; without paths where that has files there."""

    folder: Path
    paths: tuple[str, ...]
    is_targets: bool
    """Whether that tree is the target's own, whose green run is kept."""


def of(context: Context, gate: Gate, check_key: str, tree: str) -> RunCache:
    """Finds the cache of a check."""
    places = GatePlaces(context.folders.home, gate.repo.id)
    git = repos.git(gate.repo)
    plain = [path for path in gate.spec.cache if _is_plain(path)]
    free = tuple(path for path in plain if not gate_trees.blobs(git, tree, [path]))
    folder = places.caches / digest([check_key, gate.level, gate.spec.cache])
    return RunCache(folder, free if len(free) == len(plain) else (), tree == gate.target.tree)


def lowers(cache: RunCache) -> list[Path]:
    """What a run is to see of it, above everything else."""
    if not cache.paths or not cache.folder.is_dir():
        return []
    os.utime(cache.folder)
    return [cache.folder]


def keep(context: Context, cache: RunCache, room: Room, *, log: Path, mark: str) -> None:
    """Keeps what a green run of the target's tree has left, before its room is gone.

    Put together by a command in the run's own box, which sees no more than the run did.
    """
    if not cache.paths or not cache.is_targets:
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
    erase(str(cache.folder))
    cache.folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    taken.rename(cache.folder)


def _is_plain(path: str) -> bool:
    """Whether a path names something in the tree, word for word."""
    parts = path.split("/")
    return not set(path) & set("*?[\0") and not {"", ".", "..", ".git"} & set(parts)


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False
