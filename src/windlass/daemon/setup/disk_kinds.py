"""What Windlass takes of the disk, kind by kind, for `wl doctor`.

Counting stops after a moment: of what is larger than that only a part was counted, and it says so.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

from windlass.api.wire.setup import DiskView
from windlass.core.sessions import EARLIER_SCREEN, SCREEN
from windlass.daemon.kernel.context import Context
from windlass.store import backups

_PATIENCE = 2.0
"""Seconds for all of it."""


def taken(context: Context) -> list[DiskView]:
    """Counts the store, its copies, and what agents have and had."""
    folders, deadline = context.folders, time.monotonic() + _PATIENCE
    database = folders.home / "windlass.db"
    beside = [Path(f"{database}{end}") for end in ("", "-wal", "-shm")]
    agents = folders.home / "agents"
    screens = [
        *agents.glob(f"*/sessions/*/{SCREEN}"),
        *agents.glob(f"*/sessions/*/{EARLIER_SCREEN}"),
    ]
    of_screens = _counted("screens", agents, screens, deadline)
    of_agents = _counted("agents", agents, [agents], deadline)
    of_agents["bytes"] = max(0, of_agents["bytes"] - of_screens["bytes"])
    copies, kept = backups.folder_of(database), folders.archive
    return [
        _counted("store", database, beside, deadline),
        _counted("copies of the store", copies, [copies], deadline),
        of_screens,
        of_agents,
        _counted("archive", kept, [kept], deadline),
        _counted("mirrors", folders.mirrors, [folders.mirrors], deadline),
        _counted("workspaces", folders.workspaces, [folders.workspaces], deadline),
    ]


def _counted(kind: str, place: Path, paths: Iterable[Path], deadline: float) -> DiskView:
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
        whole = time.monotonic() < deadline
    return {"kind": kind, "path": str(place), "bytes": total, "whole": whole}
