"""What Windlass takes of the disk, kind by kind, for `wl doctor`.

Counting stops after a moment: of what is larger than that only a part was counted, and it says so.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from windlass.api.wire.setup import DiskView
from windlass.core.sessions import EARLIER_SCREEN, SCREEN
from windlass.daemon.kernel.context import Context
from windlass.store import backups

_PATIENCE = 2.0
"""Seconds for all of it."""


def taken(context: Context) -> list[DiskView]:
    """Counts the store, its copies, and what agents have and had."""
    folders, deadline = context.folders, context.clock.monotonic() + _PATIENCE

    def in_time() -> bool:
        return context.clock.monotonic() < deadline

    database = folders.home / "windlass.db"
    beside = [Path(f"{database}{end}") for end in ("", "-wal", "-shm")]
    agents = folders.home / "agents"
    screens = [
        *agents.glob(f"*/sessions/*/{SCREEN}"),
        *agents.glob(f"*/sessions/*/{EARLIER_SCREEN}"),
    ]
    of_screens = _counted("screens", agents, screens, in_time)
    of_agents = _counted("agents", agents, [agents], in_time)
    of_agents["bytes"] = max(0, of_agents["bytes"] - of_screens["bytes"])
    gates = folders.home / "gates"
    copies, kept = backups.folder_of(database), folders.archive
    return [
        _counted("store", database, beside, in_time),
        _counted("copies of the store", copies, [copies], in_time),
        of_screens,
        of_agents,
        _counted("archive", kept, [kept], in_time),
        _counted("mirrors", folders.mirrors, [folders.mirrors], in_time),
        _counted("workspaces", folders.workspaces, [folders.workspaces], in_time),
        _counted("layers of gates", gates, _of(gates, "layers", "caches"), in_time),
        _counted("logs of gates", gates, _of(gates, "logs"), in_time),
        _counted("trees of gates", gates, _of(gates, "trees", "runs"), in_time),
    ]


def _of(gates: Path, *names: str) -> list[Path]:
    return [path for name in names for path in gates.glob(f"*/{name}")]


def _counted(
    kind: str, place: Path, paths: Iterable[Path], in_time: Callable[[], bool]
) -> DiskView:
    total, whole = 0, True
    left = [os.fsencode(path) for path in paths]
    while left and whole:
        path = left.pop()
        try:
            if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114 - bytes
                with os.scandir(path) as entries:
                    left += [entry.path for entry in entries]
            total += os.lstat(path).st_blocks * 512
        except OSError:  # it is gone by now, or closed to us: it is not counted
            continue
        whole = in_time()
    return {"kind": kind, "path": str(place), "bytes": total, "whole": whole}
