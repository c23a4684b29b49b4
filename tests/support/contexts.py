"""A daemon's context for tests that start no daemon: real folders, a real store, a clock to turn.

Sessions are those of `fake_sessions`, which the test plays. Sockets and the loop that looks at
agents are for the tests on a ground.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

import sqlalchemy as sa
from tests.support.fake_sessions import FakeSessions

from windlass.core.ids import RepoId, Uid
from windlass.core.ports import Clock, Sessions
from windlass.daemon.kernel.clock import SystemClock
from windlass.daemon.kernel.context import Context, Folders
from windlass.daemon.kernel.failpoints import Failpoints
from windlass.sessions import commands
from windlass.store import tables
from windlass.store.store import Store, Writing

NOW = 1_790_000_000.0
_DATABASE = "windlass.db"
REPO, OTHER = RepoId("deadbeef"), RepoId("0badcafe")
SHOP = {REPO: "shop"}
SHOP_AND_BANK = {REPO: "shop", OTHER: "bank"}


class Turned(SystemClock):
    """A clock that a test turns.

    Between that it stands still, or moves by a tick whenever it is looked at: then no two moments
    are the same. Timers hear of it when it is turned forward: as much more time has passed.
    """

    def __init__(self, time: float = NOW, *, tick: float = 0.0) -> None:
        super().__init__()
        self.time = time
        self._first = time
        self._set_by = 0.0
        self._tick = tick

    def now(self) -> float:
        """The time it was set to, and the ticks since."""
        self.time += self._tick
        return self.time

    def set(self, seconds: float) -> None:
        """Sets the hour, forward or back, while no time passes."""
        self.time += seconds
        self._first += seconds
        self._set_by += seconds

    def offset(self) -> float:
        """By how much the hour was set."""
        return self._set_by

    def monotonic(self) -> float:
        """The machine's seconds, and how far it was turned forward."""
        return super().monotonic() + max(0.0, self.time - self._first)


class NoSockets:
    """Nobody comes in: there are no sessions."""

    def open(self, uid: Uid) -> None:
        """Opens nothing."""

    def close(self, uid: Uid) -> None:
        """Closes nothing."""


@contextmanager
def lent(clock: Clock, repos: Mapping[RepoId, str] = SHOP) -> Iterator[Context]:
    """A context on a state folder of its own, in which the repositories lie too, by their names.

    The folder is not pytest's: below that one the path of a socket would be too long.
    """
    with tempfile.TemporaryDirectory(prefix="wl-") as made:
        folder = Path(made).resolve()
        (folder / _DATABASE).write_bytes(_new_database())
        context = opened(folder, clock)
        with closing(context.store):
            for repo, name in repos.items():
                _add(context, repo, folder / name)
            try:
                yield context
            finally:
                context.pools.close()
                context.pools.join()  # nobody uses the store any more when it is closed


@cache
def _new_database() -> bytes:
    """What a store makes that finds none, made once: its migrations take longer than most tests."""
    with tempfile.TemporaryDirectory(prefix="wl-new-") as made:
        path = Path(made) / _DATABASE
        store = Store(path, clock=Turned())
        store.open()
        store.close()
        return path.read_bytes()


def opened(folder: Path, clock: Clock, sessions: Sessions | None = None) -> Context:
    """A context as every daemon that is started on a folder makes one; its store is open.

    Sessions outlive a daemon: give those of the last one to go on with them.
    """
    store = Store(folder / _DATABASE, clock=clock)
    store.open()
    return Context(
        store=store,
        folders=Folders(folder, folder / "rt"),
        sessions=sessions or FakeSessions(clock),
        commands=commands,
        clock=clock,
        dice=random.Random(1),  # noqa: S311 - names, not secrets
        failpoints=Failpoints(None),
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
    )


def _add(context: Context, repo: RepoId, root: Path) -> None:
    git_dir = root / ".git"
    git_dir.mkdir(parents=True)
    values = {"id": repo, "root": str(root), "git_dir": str(git_dir), "added_at": 0.0}

    def change(writing: Writing) -> None:
        writing.connection.execute(sa.insert(tables.repos).values(values))

    context.store.write(change)
