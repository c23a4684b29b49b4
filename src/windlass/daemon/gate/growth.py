"""How much gate commands may write: what they run was written by whoever wants to land it.

No file system of an ordinary user counts for us, so it is looked at now and then, as at agents.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from windlass.core.config import Config
from windlass.daemon.kernel import disk_use
from windlass.daemon.kernel.context import Context


def look(context: Context, config: Config, *folders: Path) -> Callable[[int], str]:
    """Makes a question what stands against a run going on that writes below these folders."""
    most = config.box.disk_mb

    def ask(pid: int) -> str:
        if not most:
            return ""
        try:
            nameless = context.commands.nameless_below(pid, on=folders) >> 20
            taken = disk_use.count(*folders) + nameless
        except (OSError, ValueError):
            return "how much it has written cannot be counted"
        return f"it wrote {taken} MiB, and box.disk_mb is {most}" if taken > most else ""

    return ask
