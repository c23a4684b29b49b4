"""The daemon's threads: each has an owner, a name and a bound that are written down."""

from __future__ import annotations

import ast
import asyncio
import re
import threading
from pathlib import Path

import pytest
from tests.support.contexts import lent
from tests.support.ground import until

import windlass.daemon
from windlass.api import client, places
from windlass.daemon.kernel.clock import SystemClock
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.daemon_lock import Lock
from windlass.daemon.kernel.pools import POOLS, THREADS, Pools
from windlass.daemon.main import Daemon
from windlass.sessions.tmux import Tmux

DAEMON = Path(windlass.daemon.__file__).parent
BOUNDS: dict[str, int] = {pool.name: pool.bound for pool in POOLS}
_STARTERS = {"Thread", "ThreadPoolExecutor", "to_thread", "run_in_executor"}
"""Whatever they are imported as: `threading.Thread`, or `from threading import Thread as T`."""


def test_no_module_starts_threads_but_the_pools() -> None:
    paths = [path for path in DAEMON.rglob("*.py") if starters(path.read_text())]
    assert {str(path.relative_to(DAEMON)) for path in paths} == {"kernel/pools.py"}


@pytest.mark.parametrize(
    "source",
    [
        "import threading\nthreading.Thread(target=print).start()",
        "import threading as t\nt.Thread(target=print).start()",
        "from threading import Thread\nThread(target=print).start()",
        "from threading import Thread as Worker\nWorker(target=print).start()",
        "import threading\nclass Worker(threading.Thread): ...",
        "async def work(loop): await loop.run_in_executor(None, print)",
        "from asyncio import to_thread",
    ],
)
def test_a_thread_is_found_in_whichever_way_it_is_spelt(source: str) -> None:
    assert starters(source)


def starters(source: str) -> set[str]:
    """What a module names that starts threads, by itself, of a module or in an import."""
    named = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(attr=name) | ast.alias(name=name):
                named.add(name.rpartition(".")[2])
    return named & _STARTERS


def test_a_daemon_at_work_has_no_thread_but_the_declared_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    others = set(threading.enumerate()) - {threading.main_thread()}
    with lent(SystemClock(20.0)) as context:
        monkeypatch.setenv("WINDLASS_HOME", str(context.folders.home))
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(context.folders.home))
        places.settle()
        kinds = asyncio.run(_kinds_at_work(context, others))
    assert kinds <= {*BOUNDS, *(thread.name for thread in THREADS)}
    assert kinds >= {"MainThread", "writer", "person", "resume", "wait", "timer", "notify"}


async def _kinds_at_work(context: Context, others: set[threading.Thread]) -> set[str]:
    """The threads of a daemon that has answered, waited, notified and run its timers."""
    tmux = Tmux(context.folders.home / "tmux")
    lock = Lock(context.folders.home / "daemon.lock")
    lock.take({}, context.clock)
    daemon = Daemon(context, tmux, asyncio.get_running_loop(), lock=lock)
    await daemon.start()
    shop = str(context.folders.home / "shop")
    run = context.pools.run
    listen = {"cwd": shop, "route": "listen", "listener": "a", "timeout": 0.1}
    await run("person", client.ask, "notify", {"cwd": shop, "text": "done"})
    await run("person", client.ask, "listen", listen)

    def kinds() -> set[str]:
        ours = set(threading.enumerate()) - others
        return {re.sub(r"[-_]\d+$", "", thread.name) for thread in ours}

    await run("person", lambda: until(lambda: "timer" in kinds(), what="the first timer"))
    found = kinds()
    assert len(daemon.timers()) < BOUNDS["timer"], "each has a thread, and so has one more"
    with pytest.raises(AssertionError, match=r"give it to one of kernel\.pools"):
        await asyncio.to_thread(kinds)
    await daemon.stop()
    lock.release()
    return found


def test_a_pool_has_no_more_threads_than_it_says_and_each_bears_its_name() -> None:
    pools = Pools()
    go, bound, names = threading.Event(), BOUNDS["notify"], []

    def work() -> None:
        names.append(threading.current_thread().name)
        go.wait(60)

    for _ in range(3 * bound):
        assert pools.begin("notify", work)
    until(lambda: len(names) == bound, what="as many as there may be")
    assert pools.under_way("notify") == 3 * bound
    go.set()
    pools.join()
    assert pools.under_way("notify") == 0
    assert len(names) == 3 * bound
    assert set(names) == {f"notify_{number}" for number in range(bound)}


def test_closed_pools_begin_nothing_and_say_so() -> None:
    pools = Pools()
    pools.close()
    assert not pools.begin("mail", pytest.fail)


def test_what_fails_in_a_pool_while_nobody_waits_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pools = Pools()

    def work() -> None:
        raise ValueError("a clone is broken")

    pools.begin("fetch", work)
    pools.join()
    assert "a clone is broken" in caplog.text


def test_one_agent_alone_never_takes_what_all_agents_may_begin_at_once() -> None:
    shared = [pool for pool in POOLS if pool.share]
    assert {pool.name for pool in shared} == {"agent", "agent_store", "agent_wait", "model"}
    assert all(pool.share < pool.fresh <= pool.bound for pool in shared)
