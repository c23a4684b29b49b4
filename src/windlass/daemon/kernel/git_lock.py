"""The lock that every git of a daemon holds: the git of two daemons never writes at the same time.

Git goes on when its daemon is killed. The lock is on an open file that it inherits, as does what it
starts itself, so the system lets go of it when the last of them has ended and not before. A daemon
takes it before it goes on with anything. Git that does not end is ended.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

from windlass.core.errors import Unavailable
from windlass.core.events import GitEnded
from windlass.core.ports import Clock, Commands
from windlass.daemon.kernel import daemon_lock
from windlass.git import inheritance
from windlass.store import rows
from windlass.store.store import Store, Writing

log = logging.getLogger(__name__)
_SOON = 2.0
"""Seconds after which it is told what is waited for; hardly any git takes so long."""
_PATIENCE = 30.0
"""Seconds after which git is ended: it may be hung, and whoever wanted it waits for the daemon."""
_LAST_PATIENCE = 5.0
"""Seconds after which something holds the lock that was not found, or will not die."""


class GitLock:
    """The lock of one state folder."""

    def __init__(self, path: Path, commands: Commands, clock: Clock) -> None:
        self._path = path
        self._mark = f"git of {path.resolve()}"
        self._commands = commands
        self._clock = clock.unscaled

    def take(self, say: Callable[[str], None]) -> list[str]:
        """Waits for the git of an earlier daemon, then has that of this one hold the lock.

        What is waited for is said after a moment. Returns what had to be ended.
        """
        try:
            lock = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            is_free = self._free(lock, _SOON)
        except OSError as error:  # no room to make it, or a file system that locks nothing
            log.warning("%s cannot be locked, so no git is waited for: %s", self._path, error)
            return []
        ended = [] if is_free else self._outlast(lock, say)
        inheritance.give(lock=lock, mark=self._commands.marked(self._mark))
        return ended

    def _outlast(self, lock: int, say: Callable[[str], None]) -> list[str]:
        left = self._commands.running(self._mark)
        try:
            say(f"git of an earlier daemon, which is still at work: {_listed(left)}")
        except OSError as error:  # a full disk: it is waited for all the same
            log.warning("nobody can be told what is waited for: %s", error)
        log.warning("waiting for git of an earlier daemon: %s", _listed(left))
        if self._free(lock, _PATIENCE):
            return []
        ended = self._commands.running(self._mark)
        log.warning("ending git of an earlier daemon: %s", _listed(ended))
        survivors = self._commands.end_run(self._mark).survivors
        if self._free(lock, _LAST_PATIENCE):
            return ended
        raise Unavailable(
            f"something that an earlier daemon started still holds {self._path}:"
            f" {_listed(survivors)}",
            f"end it by hand (`fuser -v {self._path}` shows it), then try again",
        )

    def _free(self, lock: int, patience: float) -> bool:
        return daemon_lock.locked(lock, patience, self._clock)


def record(store: Store, ended: list[str]) -> None:
    """Tells of git that was ended, in each repository where something goes on now without it."""
    if not ended:
        return
    unfinished = {intent.repo for intent in store.read(rows.open_intents)}

    def tell(writing: Writing) -> None:
        for repo in unfinished or (None,):
            writing.emit(GitEnded(programs=ended), repo=repo)

    store.write(tell)


def _listed(programs: list[str] | tuple[str, ...]) -> str:
    return ", ".join(programs) or "it cannot be seen which"
