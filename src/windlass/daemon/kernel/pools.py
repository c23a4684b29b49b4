"""The threads of the daemon: who owns each, how many there are, and the one place that ends them.

Whatever blocks is done in a pool of this table. The person, agents and what the daemon does by
itself have pools of their own, and in those of the agents each has a share: nobody waits for a
thread because of somebody else. Few of theirs compute at once, because the interpreter runs one
thread at a time and starts one program at a time: the person would wait for all of them. There is
no other thread but those of `THREADS`, and no default executor: who forgets to name a pool is told
so. docs/architecture.md shows both tables, and a test compares them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

from windlass.api.verbs import Caller, Needs
from windlass.core.ids import Uid

log = logging.getLogger(__name__)
T = TypeVar("T")

PoolName = Literal[
    "person",
    "caller",
    "agent",
    "agent_store",
    "resume",
    "wait",
    "agent_wait",
    "look",
    "timer",
    "mail",
    "context",
    "fetch",
    "report",
    "budget",
    "model",
    "notify",
    "job",
    "effect",
    "gate",
    "landing",
    "run",
    "crew",
    "halt",
    "status",
]


class Pool(NamedTuple):
    """Threads of one kind: what they do, for whom, and how many there are at most.

    `share` is how many of them one agent may have at once; 0 where no agent asks for them. `fresh`
    is how many may have begun within the last `FRESH` seconds: older ones mostly wait.
    """

    name: PoolName
    bound: int
    owner: str
    work: str
    share: int = 0
    fresh: int = 0


FRESH = 3.0
"""Seconds after which what is done for an agent waits for a program, in all likelihood."""
POOLS = (
    Pool("person", 32, "daemon.main", "a request of the person each"),
    Pool("caller", 8, "kernel.callers", "finds out whose process has come to the person's socket"),
    Pool("agent", 64, "daemon.main", "a request of an agent each that waits for git or tmux", 3, 4),
    Pool("agent_store", 8, "daemon.main", "a request of an agent each that needs neither", 1, 3),
    Pool("resume", 8, "daemon.main", "the start, and what an earlier daemon left open"),
    Pool("wait", 8, "api.server's waits", "reads of a person who waits, and whether tmux lives"),
    Pool("agent_wait", 8, "api.server's waits", "reads of agents that wait", 1, 2),
    Pool("look", 32, "states.watcher", "reads what an agent left, once it has poked"),
    Pool("timer", 24, "kernel.timers", "one each for what is done again and again"),
    Pool("mail", 16, "mail.delivery", "an agent each, while its mail is under way"),
    Pool("context", 16, "mail.delivery", "mail that goes with the answer about a call, if quick"),
    Pool("fetch", 16, "launch.commit_fetcher", "a boxed clone each, whose commits are fetched"),
    Pool("report", 4, "states.reports", "news of states, which git is asked for"),
    Pool("budget", 16, "spend.budgets", "an agent each that is paused because it spent too much"),
    Pool("model", 16, "relay.relay", "who asks the model and what it used, an agent each", 2, 4),
    Pool("notify", 4, "mail.notify_command", "the person's own program, once for each notice"),
    Pool("job", 4, "engine.embedded", "a job each, while it takes in what happened"),
    Pool("effect", 8, "daemon.services", "what a job has done, each within seconds"),
    Pool("gate", 8, "daemon.services", "a gate's command each, most of which wait for a slot"),
    Pool("landing", 8, "daemon.services", "what a queue has done by git, remotes and agents"),
    Pool("run", 8, "daemon.services", "an agent each, which a run makes, begins or closes"),
    Pool("crew", 4, "agents.endings", "an agent each of many that the person ends together"),
    Pool("halt", 64, "agents.session_life", "a session each of many that end, mostly waited for"),
    Pool("status", 4, "views.agents", "an agent each of many whose work the person looks at"),
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
        self._shared = {pool.name: _Turns(pool) for pool in POOLS if pool.share}
        self._begun: Counter[str] = Counter()
        self._guard = threading.Lock()

    async def run(self, name: PoolName, work: Callable[..., T], *arguments: Any) -> T:
        """Does something in a thread of a pool and waits for its outcome, on an event loop."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executors[name], work, *arguments)

    async def answer(self, caller: Caller, needs: Needs, work: Callable[[], T]) -> T:
        """Answers a request in a thread of its caller's pool, as `run` does."""
        if caller.agent is None:
            return await self.run("person", work)
        name: PoolName = "agent_store" if needs == "store" else "agent"
        return await self._in_turn(name, caller.agent, work)

    async def look(self, caller: Caller, work: Callable[..., T], *arguments: Any) -> T:
        """Reads something for a caller who waits for it to change, as `run` does."""
        if caller.agent is None:
            return await self.run("wait", work, *arguments)
        return await self._in_turn("agent_wait", caller.agent, partial(work, *arguments))

    async def for_agent(self, name: PoolName, agent: Uid, work: Callable[..., T], *said: Any) -> T:
        """Does something for an agent in a pool in which each has a share, as `run` does."""
        return await self._in_turn(name, agent, partial(work, *said))

    async def _in_turn(self, name: PoolName, agent: Uid, work: Callable[[], T]) -> T:
        """Does something for an agent as soon as there is a thread of its share.

        Who is cancelled before that has never asked. Afterwards the thread goes on, and counts
        as the agent's until it is done: nobody can end it.
        """
        loop, turns = asyncio.get_running_loop(), self._shared[name]
        turn = await turns.take(agent)
        try:
            begun = self._executors[name].submit(work)
        except RuntimeError:  # the daemon ends
            turn.close()
            raise

        def over(_: Future[T]) -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(turn.close)

        begun.add_done_callback(over)
        return await asyncio.wrap_future(begun)

    def each(
        self, name: PoolName, work: Callable[..., T], several: Iterable[tuple[Any, ...]]
    ) -> list[Future[T]]:
        """Does the same with each of several, and waits for all; for who is in another pool."""
        begun = [self._executors[name].submit(work, *one) for one in several]
        wait(begun)
        return begun

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


class _Turns:
    """Who may have a thread of a pool that agents share; on the event loop alone.

    Nothing waits inside of the pool: what waits here and is given up leaves nothing behind.
    """

    def __init__(self, pool: Pool) -> None:
        self._share = pool.share
        self._threads = asyncio.Semaphore(pool.bound)
        self._fresh = asyncio.Semaphore(pool.fresh)
        self._of_agents: dict[Uid, asyncio.Semaphore] = {}
        self._users: Counter[Uid] = Counter()

    async def take(self, agent: Uid) -> ExitStack:
        """Returns when a thread of an agent's share is free; the agent has it until that is closed.

        The agent's own comes first: what it has too much waits for itself, in nobody's way.
        """
        own = self._of_agents.setdefault(agent, asyncio.Semaphore(self._share))
        self._users[agent] += 1
        with ExitStack() as turn:
            turn.callback(self._forget, agent)
            for wanted in (own, self._threads):
                await wanted.acquire()
                turn.callback(wanted.release)
            await self._fresh.acquire()
            turn.callback(self._no_longer_fresh())
            return turn.pop_all()

    def _no_longer_fresh(self) -> Callable[[], None]:
        """Returns what lets the next one begin; after `FRESH` seconds that is called by itself."""
        is_fresh = True

        def over() -> None:
            nonlocal is_fresh
            if is_fresh:
                is_fresh = False
                self._fresh.release()
                later.cancel()

        later = asyncio.get_running_loop().call_later(FRESH, over)
        return over

    def _forget(self, agent: Uid) -> None:
        self._users[agent] -= 1
        if not self._users[agent]:
            del self._users[agent], self._of_agents[agent]


class NoDefault(ThreadPoolExecutor):
    """Stands where asyncio keeps its default executor, and refuses all work."""

    def submit(self, *_: Any, **__: Any) -> Future[Any]:
        """Refuses."""
        raise AssertionError("work for no pool in particular: give it to one of kernel.pools")
