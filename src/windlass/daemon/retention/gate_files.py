"""What gates leave on the disk: logs of runs by their age, dependencies by when they were wanted.

A layer that was wanted within the last day stays, however much there is: a run may be at it. What
is in one was written by whoever wants to land something, and may be changed while it is looked at:
nothing of it keeps anything else from being removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from windlass.core.errors import GitError
from windlass.daemon.gate.places import READY
from windlass.daemon.kernel import disk_use
from windlass.daemon.kernel.context import Context
from windlass.daemon.retention.ended_agents import Over, bytes_in
from windlass.git.erasure import erase

_DAY = 86_400.0


class _Kept(NamedTuple):
    """A folder of dependencies or of a cache, when it was wanted last, and its size."""

    folder: Path
    wanted: float
    size: int


def old_logs(context: Context, *, before: float, removes: bool) -> Iterator[Over]:
    """Finds logs of runs and setups that ended before then, and removes them."""
    for log in sorted(_gates(context).glob("*/logs/*")):
        try:
            info = log.lstat()
        except FileNotFoundError:  # a setup begins its log anew
            continue
        if info.st_mtime < before:
            if removes:
                log.unlink(missing_ok=True)
            yield Over(log.name, info.st_size)


def old_layers(context: Context, *, most: int, removes: bool) -> Iterator[Over]:
    """Finds what is more than so many bytes of layers and caches, and removes it, oldest first.

    Also what a daemon was making when it died.
    """
    now, taken = context.clock.now(), 0
    for kept in sorted(_layers(context), key=lambda kept: -kept.wanted):
        taken += kept.size
        is_whole = not kept.folder.name.startswith(".")
        if (taken <= most and is_whole) or kept.wanted > now - _DAY:
            continue
        stays = _removed(kept.folder) if removes else ""
        yield Over(kept.folder.name, kept.size, stays)


def _removed(folder: Path) -> str:
    """Removes a layer or a cache; says why it is still there, if it is."""
    try:
        (folder / READY).unlink(missing_ok=True)  # nobody takes half of it for whole
        erase(str(folder))
    except (GitError, OSError) as error:
        return f"it cannot be removed: {error}"
    return ""


def _layers(context: Context) -> Iterator[_Kept]:
    gates = _gates(context)
    for folder in (*gates.glob("*/layers/*"), *gates.glob("*/caches/*")):
        ready = folder / READY
        mark = ready if ready.exists() else folder
        with suppress(FileNotFoundError):  # it was being made, and is somewhere else by now
            yield _Kept(folder, mark.lstat().st_mtime, _size(folder))


def _size(folder: Path) -> int:
    """However deep it is; of what cannot be counted as a whole, what can be named."""
    try:
        return disk_use.count_bytes(folder)
    except (OSError, ValueError):
        return bytes_in(folder)


def _gates(context: Context) -> Path:
    return context.folders.home / "gates"
