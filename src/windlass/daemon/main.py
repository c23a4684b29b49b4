"""The daemon: wiring, start, what it does when woken, and a clean end.

Started with the write end of a pipe in `WINDLASS_READY`: one line of JSON goes there, either that
it answers or why it cannot, so whoever starts it waits for an event and not for a file.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import json
import logging
import logging.handlers
import os
import random
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from windlass import __version__
from windlass.api import answers, daemon_record, doors, places
from windlass.api.identity import IDENTITY
from windlass.api.server import Server
from windlass.api.verbs import Caller
from windlass.box import wrapper
from windlass.core import jobs
from windlass.core.crew import Agent
from windlass.core.errors import ConfigError, WindlassError
from windlass.core.ids import Uid
from windlass.core.leaks import without_leaks
from windlass.core.ports import Clock
from windlass.core.schema import SCHEMA
from windlass.daemon.agents import limit_waits
from windlass.daemon.kernel import clock as clocks
from windlass.daemon.kernel import git_lock, open_files, repos, timers
from windlass.daemon.kernel.callers import Callers
from windlass.daemon.kernel.context import Context, Folders
from windlass.daemon.kernel.daemon_lock import Lock
from windlass.daemon.kernel.failpoints import Failpoints
from windlass.daemon.kernel.git_lock import GitLock
from windlass.daemon.kernel.pools import NoDefault
from windlass.daemon.kernel.timers import Timer
from windlass.daemon.launch import environment
from windlass.daemon.person.status_files import StatusFiles
from windlass.daemon.repair.missing_repositories import MissingRepositories
from windlass.daemon.repair.reconciliation import reconcile
from windlass.daemon.routes import routes
from windlass.daemon.services import Services
from windlass.daemon.spend.disk import Disk
from windlass.daemon.states.reminders import Reminders
from windlass.daemon.views.event_stream import EventStream
from windlass.sessions import commands
from windlass.sessions.daemon_watch import STEADY
from windlass.sessions.session import TmuxSessions
from windlass.sessions.tmux import Tmux
from windlass.sessions.watch import Watcher
from windlass.store import rows
from windlass.store.rows import Intent
from windlass.store.store import Store

log = logging.getLogger("windlass")

_BETWEEN_LOOKS = 0.03
_LONGEST_TURN = 0.001
"""Seconds that a thread has the interpreter while others want it; a fifth of what is usual, because
the event loop and every read of the store wait for those that compute."""
_SUSPECT = 2
"""Daemons that died in an intent before it is thought to be the reason."""


class Daemon:
    """Everything that runs, and the event loop that it runs on."""

    def __init__(
        self, context: Context, tmux: Tmux, loop: asyncio.AbstractEventLoop, *, lock: Lock
    ) -> None:
        self._context = context
        self._lock = lock
        self._tmux = tmux
        self._loop = loop
        loop.set_default_executor(NoDefault())
        self._services = Services(context, self)
        self._watcher = self._services.watcher
        self._services.listeners.open()
        self._services.delivery.open()
        self._services.reports.open()
        self._events = EventStream(context, loop)
        table = routes(self._services)
        callers = Callers(context)
        self._server = Server(
            table, self._events, schema=SCHEMA, run=context.pools.answer, find=callers.find
        )
        self._wakes: dict[Uid, socket.socket] = {}
        self._woken_again: dict[Uid, bool] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self.stopping = asyncio.Event()
        self.failure: WindlassError | None = None
        """Why it ends by itself, where that is not in good order."""

    async def start(self, *, is_behind: bool = False) -> None:
        """Reads what happened meanwhile, answers, then goes on with what was begun.

        In this order no answer depends on whether a daemon ran all the time. What is open in a
        store that is behind what lives may be done by now, and is set aside instead.
        """
        store, pools = self._context.store, self._context.pools
        await self._in_thread(lambda: repos.clear_leftovers(self._context))
        live = await self._in_thread(lambda: store.read(rows.agents))
        for agent in live:
            await self._open(agent.uid)
        await self._in_thread(lambda: self._find_tmux_again(live))
        await self._in_thread(self._services.intents.say_what_stops)
        await self._in_thread(self._watcher.look_at_all)
        await self._server.listen(Path(places.person_socket()), Caller(None))
        if is_behind:
            await self._in_thread(self._services.intents.doubt_open)
        self._begin(self._go_on())
        engine = await self._in_thread(self._services.open_jobs)
        self._begin(engine.run())
        watcher = Watcher(self._tmux, in_thread=partial(pools.run, "wait"))
        self._begin(watcher.run(self._sessions_changed))
        for timer in self.timers():
            self._begin(timers.repeat(timer, self._context.clock, pools))

    def timers(self) -> tuple[Timer, ...]:
        """Returns everything that is done again and again, and how often."""
        context, services = self._context, self._services
        disk = Disk(context, services.intents, services.fetcher)
        return (
            Timer("looking at screens and output", 1.0, self._watcher.pulse),
            Timer("mail that nobody is woken for", 1.0, services.delivery.pulse),
            Timer("notices that were too many", 1.0, services.listeners.pulse),
            Timer("a clock that was set", 1.0, services.clock_steps.check),
            Timer("states that fade", 60.0, self._let_fade),
            Timer("clones and mirrors", 1.0, services.fetcher.keep_in_step),
            Timer("room on the disk", 15.0, disk.check),
            Timer("the person's status files", 1.0, StatusFiles(context).refresh),
            Timer("reminders to idle agents", 5.0, Reminders(context).look),
            Timer("agents whose limit is over", limit_waits.STAGGER, services.limit_waits.look),
            Timer("agents that stall", 15.0, services.stalls.look),
            Timer("the machine's sleep", 15.0, services.sleep_inhibitor.look),
            Timer("what is remembered of who is gone", 60.0, context.memory.sweep),
            Timer("what could not be recorded", 5.0, services.intents.take_up_unrecorded),
            Timer("what is older than it is kept, once a day", 600.0, services.retention.daily),
            Timer("repositories that are missing", 15.0, MissingRepositories(context).look),
            Timer("a copy of the database each day", 60.0, context.store.copy_daily),
            Timer("lock and database in their places", 1.0, self._stop_without_files),
        )

    def _let_fade(self) -> None:
        """Has states fade by how long nobody spoke, and not because the clock was set just now."""
        self._services.clock_steps.check()
        self._watcher.refold()

    async def stop(self) -> None:
        """Stops answering and watching; sessions go on without us."""
        self._events.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._services.relay.stop()
        await self._server.stop(comes_back=not daemon_record.is_stopped())
        for uid in list(self._wakes):
            self._deafen(uid)
        self._services.listeners.close()
        self._services.delivery.close()
        self._services.reports.close()
        self._services.sleep_inhibitor.close()
        self._context.pools.close()
        if self.failure is None:
            self._services.intents.close()
        self._leave_no_empty_server()  # on the loop, which has nothing else to do any more

    def _stop_without_files(self) -> None:
        """Ends a daemon that nobody finds any more, or whose database is lost.

        Commands could neither stop nor replace the one, and the other can record nothing.
        """
        try:
            self._context.store.require_file()
        except WindlassError as error:
            log.error("%s: this daemon ends", error.message)  # noqa: TRY400 - told, not traced
            self.failure = error
            self._loop.call_soon_threadsafe(self.stopping.set)
        if not self._lock.is_in_place():
            log.error(
                "the lock of this daemon was moved away: it ends, the next command starts one"
            )
            self._loop.call_soon_threadsafe(self.stopping.set)

    def _find_tmux_again(self, live: list[Agent]) -> None:
        sessions, folders = self._context.sessions, self._context.folders
        if live and not self._tmux.alive():
            any(sessions.find_server_again(folders.session(a.uid, a.session)) for a in live)

    def _leave_no_empty_server(self) -> None:
        with contextlib.suppress(WindlassError):
            if self._tmux.alive() and not self._tmux.sessions():
                self._tmux.shutdown()

    def open(self, uid: Uid) -> None:
        """Opens an agent's sockets, from any thread."""
        asyncio.run_coroutine_threadsafe(self._open(uid), self._loop).result()

    def close(self, uid: Uid) -> None:
        """Closes an agent's sockets, from any thread."""
        asyncio.run_coroutine_threadsafe(self._close(uid), self._loop).result()

    async def _open(self, uid: Uid) -> None:
        folder = self._context.folders.sockets(uid)
        places.make_private(str(folder))
        await self._server.listen(folder / "api", Caller(uid))
        await self._services.relay.listen(folder / wrapper.MODEL_SOCKET, uid)
        if uid not in self._wakes:
            path = folder / "wake"
            path.unlink(missing_ok=True)
            listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            doors.refuse_files(listening)
            listening.setblocking(False)  # noqa: FBT003 - the socket's own signature
            listening.bind(str(path))
            self._wakes[uid] = listening
            self._loop.add_reader(listening, self._woken, uid, listening)

    async def _close(self, uid: Uid) -> None:
        folder = self._context.folders.sockets(uid)
        await self._server.close(folder / "api")
        await self._services.relay.close(folder / wrapper.MODEL_SOCKET)
        self._deafen(uid)
        with contextlib.suppress(OSError):
            folder.rmdir()

    def _deafen(self, uid: Uid) -> None:
        listening = self._wakes.pop(uid, None)
        if listening is not None:
            self._loop.remove_reader(listening)
            listening.close()
            (self._context.folders.sockets(uid) / "wake").unlink(missing_ok=True)

    def _woken(self, uid: Uid, listening: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            while listening.recv(4096):
                pass
        if uid in self._woken_again:
            self._woken_again[uid] = True
        else:
            self._woken_again[uid] = False
            self._begin(self._look(uid))

    async def _look(self, uid: Uid) -> None:
        """Looks once for many pokes: a busy agent pokes a hundred times a second."""
        run = self._context.pools.run
        try:
            await run("look", self._watcher.heed, uid)
            while self._woken_again[uid]:
                self._woken_again[uid] = False
                await asyncio.sleep(self._context.clock.real(_BETWEEN_LOOKS))
                await run("look", self._watcher.heed, uid)
        finally:
            del self._woken_again[uid]

    async def _sessions_changed(self) -> None:
        await self._context.pools.run("look", self._watcher.look_at_all)

    async def _go_on(self) -> None:
        """Completes or takes back what an earlier daemon began; effects of jobs are the engine's.

        What two daemons died in comes last, and one after the other: the next death is then of one
        of them, and not of those that happened to be under way beside it.
        """
        unfinished = await self._in_thread(lambda: self._context.store.read(rows.open_intents))
        left = [intent for intent in unfinished if jobs.owner(intent.id) is None]
        for intent in left:
            if intent.tries < _SUSPECT:
                self._begin(self._resume(intent))
        for intent in left:
            if intent.tries >= _SUSPECT:
                await self._resume(intent)

    async def _resume(self, intent: Intent) -> None:
        log.info("going on with %s %s after step %d", intent.kind, intent.id, intent.step)
        await self._in_thread(partial(self._services.intents.resume, intent))

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        return await self._context.pools.run("resume", work)

    def _begin(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("background work failed", exc_info=error)


def run() -> int:
    """Runs the daemon in the foreground until it is told to stop."""
    faulthandler.enable()
    open_files.allow_enough()
    home = Path(places.home())
    lock = Lock(home / "daemon.lock")
    try:
        places.settle()
        _log_to(home / "daemon.log")
        clock = clocks.from_variable(os.environ.get(clocks.VARIABLE))
        note = {"version": __version__, "identity": IDENTITY, "socket": places.person_socket()}
        lock.take(note, clock)
        asyncio.run(_serve(home, clock, lock))
    except WindlassError as error:
        log.error("cannot start: %s", error.message)  # noqa: TRY400 - the cause is told, not traced
        _ready({"kind": error.kind, "message": error.message, "hint": error.hint})
        sys.stderr.write(f"windlass daemon: {error.message}\n{error.hint}\n")
        return error.exit_code
    except Exception as error:  # noqa: BLE001 - told to who starts it, a defect also to the log
        told = answers.told("the start", error)
        _ready({"kind": told.kind, "message": told.message, "hint": told.hint})
        sys.stderr.write(f"windlass daemon: {told.message}\n{told.hint}\n")
        return told.exit_code
    finally:
        lock.release()
    return 0


async def _serve(home: Path, clock: Clock, lock: Lock) -> None:
    sys.setswitchinterval(_LONGEST_TURN)
    loop = asyncio.get_running_loop()
    failpoints = Failpoints(os.environ.get("WINDLASS_FAILPOINTS"))
    store = Store(home / "windlass.db", clock=clock, reached=failpoints.reached)
    store.open()
    ended = GitLock(home / "git.lock", commands, clock).take(lambda what: lock.tell(waits=what))
    lock.tell(waits=None)
    environment.point_wl(home)
    runtime = Path(places.runtime())
    seed = os.environ.get("WINDLASS_SEED")
    tmux = Tmux(runtime / "tmux")
    context = Context(
        store=store,
        folders=Folders(home, runtime),
        sessions=TmuxSessions(tmux, home=home, steady=clock.real(STEADY)),
        commands=commands,
        clock=clock,
        dice=random.Random(seed) if seed else random.SystemRandom(),  # noqa: S311 - names, not secrets
        failpoints=failpoints,
        env=without_leaks(os.environ),
    )
    daemon = Daemon(context, tmux, loop, lock=lock)
    is_behind = reconcile(context)  # before any event is added: it goes by their numbers
    git_lock.record(store, ended)
    loop.add_signal_handler(signal.SIGTERM, daemon.stopping.set)
    loop.add_signal_handler(signal.SIGINT, _interrupted, daemon)
    await daemon.start(is_behind=is_behind)
    log.info("windlass %s answers, pid %d", __version__, os.getpid())
    _ready({"pid": os.getpid()})
    await daemon.stopping.wait()
    log.info("stopping")
    await daemon.stop()
    store.leave()
    # A step that is still under way is finished by the next daemon; waiting could take minutes.
    logging.shutdown()
    os._exit(daemon.failure.exit_code if daemon.failure is not None else 0)


def _interrupted(daemon: Daemon) -> None:
    """Ends a daemon in the foreground: who presses Ctrl-C there wants none to come back."""
    try:
        daemon_record.mark_stopped()
    except WindlassError as error:
        log.error("it may be brought back: %s", error.message)  # noqa: TRY400 - as above
    daemon.stopping.set()


def _ready(word: dict[str, Any]) -> None:
    given = os.environ.pop("WINDLASS_READY", None)
    if given is None:
        return
    with contextlib.suppress(OSError), os.fdopen(int(given), "w") as pipe:
        pipe.write(json.dumps(word) + "\n")


def _log_to(path: Path) -> None:
    try:
        handler = logging.handlers.RotatingFileHandler(path, maxBytes=4 << 20, backupCount=2)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}", "remove it") from None
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    level = os.environ.get("WINDLASS_LOG", "info").upper()
    known = logging.getLevelNamesMapping()
    logging.basicConfig(level=known.get(level, logging.INFO), handlers=[handler])
