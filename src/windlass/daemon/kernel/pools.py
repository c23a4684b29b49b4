"""The threads of the daemon: who owns each, how many there are, and the one place that ends them.

Whatever blocks is done in a pool of this table. There is no other thread but those of `THREADS`,
and no default executor: who forgets to name a pool is told so. docs/architecture.md shows both
tables, and a test compares them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

log = logging.getLogger(__name__)
T = TypeVar("T")

PoolName = Literal[
    "verb",
    "wait",
    "look",
    "timer",
    "mail",
    "context",
    "fetch",
    "report",
    "budget",
    "notify",
]


class Pool(NamedTuple):
    """Threads of one kind: what they do, for whom, and how many there are at most."""

    name: PoolName
    bound: int
    owner: str
    work: str


POOLS = (
    Pool("verb", 96, "daemon.main", "a request each; most wait for a git or a tmux of their own"),
    Pool("wait", 32, "api.server's waits", "reads of who waits, and whether tmux lives"),
    Pool("look", 32, "states.watcher", "reads what an agent left, once it has poked"),
    Pool("timer", 12, "kernel.timers", "one each for what is done again and again"),
    Pool("mail", 16, "mail.delivery", "an agent each, while its mail is under way"),
    Pool("context", 16, "mail.delivery", "mail that goes with the answer about a call, if quick"),
    Pool("fetch", 16, "launch.commit_fetcher", "a boxed clone each, whose commits are fetched"),
    Pool("report", 4, "states.reports", "news of states, which git is asked for"),
    Pool("budget", 16, "spend.budgets", "an agent each that is paused because it spent too much"),
    Pool("notify", 4, "mail.notify_command", "the person's own program, once for each notice"),
)


class OtherThread(NamedTuple):
    """A thread that is in no pool."""

    name: str
    owner: str
    work: str


THREADS = (
    OtherThread("MainThread", "daemon.main", "the event loop; nothing blocks it once it answers"),
    OtherThread("writer", "store.store", "every write, one transaction after the other"),
    OtherThread("waitpid", "sessions.watch", "asyncio's own: waits for the one tmux client"),
)


class Pools:
    """Every pool of a daemon; threads are made when they are needed."""

    def __init__(self) -> None:
        self._executors: dict[str, ThreadPoolExecutor] = {
            pool.name: ThreadPoolExecutor(pool.bound, thread_name_prefix=pool.name)
            for pool in POOLS
        }
        self._begun: Counter[str] = Counter()
        self._guard = threading.Lock()

    async def run(self, name: PoolName, work: Callable[..., T], *arguments: Any) -> T:
        """Does something in a thread of a pool and waits for its outcome, on an event loop."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executors[name], work, *arguments)

    def begin(self, name: PoolName, work: Callable[..., Any], *arguments: Any) -> bool:
        """Has something done that nobody waits for; False where the daemon is ending.

        What goes wrong is logged: a pool would tell nobody.
        """
        try:
            begun = self._executors[name].submit(work, *arguments)
        except RuntimeError:
            return False
        with self._guard:
            self._begun[name] += 1
        begun.add_done_callback(partial(self._over, name))
        return True

    def under_way(self, name: PoolName) -> int:
        """Returns how much that nobody waits for is being done, or waits for its turn."""
        with self._guard:
            return self._begun[name]

    def _over(self, name: str, done: Future[Any]) -> None:
        with self._guard:
            self._begun[name] -= 1
        if not done.cancelled() and (error := done.exception()) is not None:
            log.error("work that nobody waits for failed", exc_info=error)

    def close(self) -> None:
        """Begins nothing more, and forgets what has not begun. Waits for nobody."""
        for executor in self._executors.values():
            executor.shutdown(wait=False, cancel_futures=True)

    def join(self) -> None:
        """Waits until everything that was begun is over."""
        for executor in self._executors.values():
            executor.shutdown(wait=True)


class NoDefault(ThreadPoolExecutor):
    """Stands where asyncio keeps its default executor, and refuses all work."""

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        """Refuses."""
        raise AssertionError("work for no pool in particular: give it to one of kernel.pools")
