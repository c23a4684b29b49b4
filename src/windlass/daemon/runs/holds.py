"""Why no task is begun at all now: money, a usage window, the model, memory or disk.

All of that passes by itself.
"""

from __future__ import annotations

from windlass import disk_room
from windlass.core.config import Config
from windlass.core.errors import Denied, Unavailable
from windlass.core.runs import room
from windlass.daemon.kernel.context import Context
from windlass.daemon.spend import backends, budgets, windows
from windlass.store.rows import Repo

_MEMORY = "/proc/meminfo"
_MEBIBYTE = 1 << 20


def why(context: Context, repo: Repo, driver: str, config: Config) -> str:
    """What is in the way of every task; nothing where nothing is."""
    try:
        budgets.refuse_spent(context, repo.id)
        windows.refuse_full(context, driver, {"goal": ""}, most=config.budget.window, by=None)
    except (Denied, Unavailable) as refused:
        return refused.message
    backend = context.store.read(lambda c: backends.of(c, driver))
    if backend.failures and context.clock.now() < backend.until:
        return f"the model of {driver} cannot be asked: {backend.why}"
    disk = disk_room.free(context.folders.home)
    return room.lacks(memory=_memory(), disk=None if disk is None else disk // _MEBIBYTE)


def _memory() -> int | None:
    """MiB that programs could still get; None where the system does not say."""
    try:
        with open(_MEMORY, encoding="ascii") as file:  # noqa: PTH123 - a line at a time
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) >> 10
    except (OSError, ValueError, IndexError):
        return None
    return None
