"""The files that an agent can write and its state and costs are read from: whether they are sound.

Each is a plain file of a size that could be, or not there yet. Whoever makes a link, a pipe or
terabytes of one, or holds it by a lease, hides what it does and spends; nothing of it is read, and
the agent is paused. So is one that has told so much that its share of the store is full.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from windlass.core.crew import Agent
from windlass.core.events import AgentOvergrown, AgentUnsound
from windlass.core.sessions import OUTPUT
from windlass.daemon.kernel import store_share, untrusted_files
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.store_share import MEBIBYTE, Share
from windlass.daemon.spend.conversations import Flaw
from windlass.daemon.spend.limit_pauses import LimitPauses, Overrun
from windlass.daemon.states.screen_source import LARGEST_STATUS
from windlass.store.rows import Session

LIMIT = "evidence"
LARGEST = 4 << 30
"""Bytes of what grows as long as an agent works; the longest of real ones had some hundred MiB."""


class _File(NamedTuple):
    """One of those files: what people call it, where it is, and how large it may be."""

    name: str
    path: str | Path
    most: int = LARGEST


class Evidence:
    """Looks at what agents leave behind before it is read, and has those paused who forge it."""

    def __init__(self, context: Context, pauses: LimitPauses) -> None:
        self._context = context
        self._pauses = pauses

    def is_sound(
        self, agent: Agent, session: Session, *, conversation: str | None, status: str | None
    ) -> bool:
        """Whether all of it can be read; who has a session that runs is paused where it cannot.

        Does not wait for the pause: whoever looks may hold a lock that it needs.
        """
        share = store_share.of(self._context, agent)
        if share.is_full:
            if session.runs:
                self._pauses.begin(_filled(agent, session, share))
            return False
        below = self._context.folders.agent(agent.uid)
        for file in self._files(agent, session, conversation, status):
            flaw = untrusted_files.flaw(file.path, most=file.most, below=below)
            if flaw:
                if session.runs:
                    self._pauses.begin(_overrun(agent, session, file, flaw))
                return False
        return True

    def pause_for_hidden(self, agent: Agent, session: Session, flaw: Flaw) -> None:
        """Has an agent paused whose spending cannot be read, if its session runs."""
        if session.runs:
            file = _File(flaw.of, flaw.path)
            self._pauses.begin(_overrun(agent, session, file, flaw.what))

    def _files(
        self, agent: Agent, session: Session, conversation: str | None, status: str | None
    ) -> list[_File]:
        folders = self._context.folders
        files = [_File("hook events", folders.events(agent.uid, session.number))]
        if agent.mode == "headless":
            files.append(_File("output", folders.session(agent.uid, session.number) / OUTPUT))
        if conversation is not None:
            files.append(_File("conversation", conversation))
        if status is not None:
            files.append(_File("status file", status, LARGEST_STATUS))
        return files


def _filled(agent: Agent, session: Session, share: Share) -> Overrun:
    filled, limit = share.filled // MEBIBYTE, share.limit // MEBIBYTE
    why = f"it has filled {filled} MiB of Windlass's store, and {store_share.KEY} is {limit}"
    event = AgentOvergrown(id=agent.id, why=f"paused: {why}")
    notice = (
        f"Agent {agent.id} was paused: {why}. See what it tells: wl log {agent.id}; to go on,"
        f" raise it: wl config set {store_share.KEY} {2 * limit}, then wl resume {agent.id}"
    )
    return Overrun(agent, session.number, store_share.KEY, why, (event,), notice)


def _overrun(agent: Agent, session: Session, file: _File, flaw: str) -> Overrun:
    why = f"its {file.name} {flaw}: {file.path}"
    event = AgentUnsound(id=agent.id, file=file.name, path=str(file.path), why=flaw)
    notice = (
        f"Agent {agent.id} was paused: {why}. Nothing of that is read. See what it did (wl diff"
        f" {agent.id}, wl log {agent.id}); to go on, take that away, then wl resume {agent.id}"
    )
    return Overrun(agent, session.number, LIMIT, why, (event,), notice)
