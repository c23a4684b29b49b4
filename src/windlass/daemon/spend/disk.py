"""Disk: what agents have grown to, and what is kept of them; who takes too much is paused.

Of a boxed agent's own files, its workspace and its folder. Deleted files that its processes hold
open are part of that: they take room until they are closed. No file system of an ordinary user
counts for us, so it is looked at now and then, while they run: one file may not grow beyond
`box.file_mb` at any time, and all of them not for long.

What its commits add to the repository is counted as they come home, by `launch.homecomings`, and
what it fills of the store as that is written.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import NamedTuple

from windlass.core.crew import Agent
from windlass.core.errors import WindlassError
from windlass.core.events import AgentOvergrown
from windlass.core.ids import Uid
from windlass.daemon.kernel import disk_use, repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.spend.limit_pauses import LimitPauses, Overrun
from windlass.store import rows
from windlass.store.rows import Session

log = logging.getLogger(__name__)


_MOST_TOO_LONG = 3
"""Looks in a row that took too long: once a disk may be busy, but who makes so many files would
have no limit any more."""


class _Taken(NamedTuple):
    """MiB that an agent takes; some of it may be in files that no folder has any more."""

    whole: int
    nameless: int


class Disk:
    """Looks at every agent that works."""

    def __init__(self, context: Context, intents: Intents, fetcher: CommitFetcher) -> None:
        self._context = context
        self._fetcher = fetcher
        self._pauses = LimitPauses(context, intents)
        self._uncounted: dict[Uid, str] = context.memory.per_agent()
        self._too_long: dict[Uid, int] = context.memory.per_agent()

    def check(self) -> None:
        """Pauses who has more than its share; a person makes room or raises it, and resumes it."""
        for agent, session in self._context.store.read(rows.open_sessions):
            if agent.isolation == "box":
                self._judge(agent, session)
                self._judge_commits(agent, session)

    def _judge(self, agent: Agent, session: Session) -> None:
        root = repos.by_id(self._context, agent.repo).root
        try:
            limit = settings.load(self._context.folders.home, root).box.disk_mb
        except WindlassError as error:
            log.warning("no limit for the disk of %s: %s", agent.id, error.message)
            return
        taken = self._taken(agent, session) if limit else None
        if self._too_long.get(agent.uid, 0) >= _MOST_TOO_LONG:
            self._too_long.pop(agent.uid)
            why = "its files are too many to be counted in time, and box.disk_mb limits them"
            self._pause(agent, session, "box.disk_mb", why)
            return
        if taken is None or taken.whole <= limit:
            return
        deleted = f", {taken.nameless} of them in deleted files that it holds open"
        why = (
            f"it takes {taken.whole} MiB of disk{deleted if taken.nameless else ''},"
            f" and box.disk_mb is {limit}"
        )
        self._pause(agent, session, "box.disk_mb", why)

    def _judge_commits(self, agent: Agent, session: Session) -> None:
        """Pauses who commits more than may come home: it would go on, and nobody would see it."""
        if error := self._fetcher.too_much(agent):
            more = f"Agent {agent.id} was paused: {error.message}. To go on, {error.hint}"
            ended = f"if it is ended, all of it is kept: wl kill {agent.id}"
            notice = f"{more}; {ended}"
            self._pause(agent, session, "box.home_mb", error.message, notice)

    def _pause(
        self, agent: Agent, session: Session, limit: str, why: str, notice: str = ""
    ) -> None:
        event = AgentOvergrown(id=agent.id, why=f"paused: {why}")
        self._pauses.perform(Overrun(agent, session.number, limit, why, (event,), notice))

    def _taken(self, agent: Agent, session: Session) -> _Taken | None:
        """None for what could not be counted, which is told once and tried again."""
        folders = self._context.folders
        places = [Path(agent.workspace), folders.agent(agent.uid)]
        try:
            folder = folders.session(agent.uid, session.number)
            nameless = self._context.sessions.nameless(folder, on=places) >> 20
            taken = _Taken(disk_use.count(*places) + nameless, nameless)
        except (OSError, ValueError) as error:
            if isinstance(error, disk_use.TooLong):
                self._too_long[agent.uid] = self._too_long.get(agent.uid, 0) + 1
            if agent.uid not in self._uncounted:
                log.warning("not known how much disk %s takes: %s", agent.id, error)
            self._uncounted[agent.uid] = str(error)
            return None
        self._uncounted.pop(agent.uid, None)
        self._too_long.pop(agent.uid, None)
        return taken
