"""What earlier sessions of a live agent printed: the newest of it is kept, up to a size.

What one session prints is a ring already (`sessions/recorder.sh`); an agent that was paused and
resumed a thousand times has a thousand of these.
"""

from __future__ import annotations

from collections.abc import Iterator

from windlass.core.sessions import EARLIER_SCREEN, SCREEN
from windlass.daemon.kernel.context import Context
from windlass.daemon.retention.ended_agents import Over
from windlass.store import rows

_LOGS = (SCREEN, EARLIER_SCREEN)


def old_screens(context: Context, *, most: int, removes: bool) -> Iterator[Over]:
    """Finds logs of screens beyond so many bytes of an agent, and removes them, oldest first.

    Those of the newest session stay, whatever size they have.
    """
    for agent in context.store.read(rows.agents):
        folders = (context.folders.session(agent.uid, n) for n in range(agent.session, 0, -1))
        taken = 0
        for number, folder in enumerate(folders):
            logs = [log for name in _LOGS if (log := folder / name).is_file()]
            size = sum(log.lstat().st_size for log in logs)
            taken += size
            if number == 0 or taken <= most or not logs:
                continue
            if removes:
                for log in logs:
                    log.unlink(missing_ok=True)
            yield Over(f"{agent.id} session {folder.name}", size)
