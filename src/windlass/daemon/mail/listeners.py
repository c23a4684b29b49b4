"""`wl listen`: who waits for notices, and is given them at once.

Who waits is known in memory alone, in a `NoticeQueue` for each repository: a daemon that comes
after is asked again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import sqlalchemy as sa

from windlass.api.verbs import Caller
from windlass.api.wire.mail import (
    ListenReply,
    ListenRequest,
    NoticeView,
    TakenReply,
    TakenRequest,
)
from windlass.core import events
from windlass.core.events import IntentDone, NoticePosted
from windlass.core.ids import RepoId
from windlass.core.mail.messages import USER
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.daemon.mail import notices, receipts
from windlass.daemon.mail.notice_queue import HELD, NoticeListener, NoticeQueue
from windlass.daemon.mail.notify_command import NotifyCommand
from windlass.store import mailbox, noticeboard, rows
from windlass.store.noticeboard import Notice
from windlass.store.store import Event, Writing

_AT_ONCE = 100
"""So many notices are given out together."""


class Listeners:
    """The verbs `listen` and `taken`, and whoever waits."""

    def __init__(self, context: Context, *, held: float = HELD) -> None:
        self._context = context
        self._held = held
        self._queues: dict[RepoId, NoticeQueue] = context.memory.per_repo()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._notify_command = NotifyCommand(context)

    def open(self) -> None:
        """Hears of every commit from now on; once, before anything is posted."""
        self._context.store.listen(self._committed)

    def close(self) -> None:
        """Runs no more commands for notices."""
        self._notify_command.close()

    def pulse(self) -> None:
        """Runs the command for notices that had to wait, because their agent has too many."""
        self._notify_command.pulse()

    async def listen(self, caller: Caller, request: ListenRequest) -> ListenReply:
        """Waits for notices of a repository, and offers them to whoever is first."""
        limit = request.get("timeout")
        end = None if limit is None else self._context.clock.monotonic() + limit
        self._loop = asyncio.get_running_loop()
        look = self._context.pools.look
        scope = await look(caller, lookup.scope, self._context, caller, request)
        repo = scope.require_repo().id
        queue = self._queues.setdefault(repo, NoticeQueue(self._context.clock))
        listener = NoticeListener(request)
        other = queue.enter(listener)
        if other is not None:
            return {"notices": [], "why": "busy", "pid": other.pid}
        try:
            return await self._wait(queue, listener, repo, end)
        finally:
            queue.leave(listener)
            self._prune()

    def taken(self, _caller: Caller, request: TakenRequest) -> TakenReply:
        """Takes from the queue what its reader has; twice is as good as once."""
        numbers, by = request["numbers"], request["route"]
        count = self._context.store.write(lambda w: _take(w, numbers, by))
        for queue in list(self._queues.values()):
            self._on_loop(partial(queue.taken, numbers))
        return {"taken": count}

    def armed(self, repo: RepoId) -> bool:
        """Whether somebody waits for news of a repository, or is just about to again."""
        queue = self._queues.get(repo)
        return queue is not None and queue.armed()

    def end_waiting(self, repo: RepoId) -> None:
        """Sends away whoever waits for news of a repository; from any thread."""
        if (queue := self._queues.get(repo)) is not None:
            self._on_loop(queue.dismiss)

    async def _wait(
        self, queue: NoticeQueue, listener: NoticeListener, repo: RepoId, end: float | None
    ) -> ListenReply:
        clock, store = self._context.clock, self._context.store
        while True:
            news = queue.news  # taken before the look: what comes in between is not slept through
            waiting = []
            if queue.is_first(listener):
                waiting = await self._context.pools.run("wait", store.read, _waiting(repo))
            if listener.dismissed:
                return {"notices": [], "why": listener.dismissed}
            if queue.is_first(listener) and (
                offered := queue.give(listener, waiting, held=self._held)
            ):
                views: list[NoticeView] = [
                    {"number": notice.number, "line": notices.line(notice)} for notice in offered
                ]
                return {"notices": views, "why": "notices"}
            if end is not None and clock.monotonic() >= end:
                queue.timed_out(self._held)
                return {"notices": [], "why": "timeout"}
            wakes = [at for at in (end, queue.given_back()) if at is not None]
            pause = clock.real(max(0.0, min(wakes) - clock.monotonic())) if wakes else None
            # Not `wait_for`: it forgets that its caller hung up if the news come at that moment.
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await news.wait()

    def _prune(self) -> None:
        """Drops the queues of repositories where nobody waits; on the loop, so nobody enters one.

        One that still counts as listening for a while is dropped when somebody leaves after that.
        """
        for repo, queue in list(self._queues.items()):
            if queue.is_idle():
                self._queues.pop(repo, None)

    def _committed(self, committed: list[Event]) -> None:
        """Wakes whoever waits; on the writer's thread, so it only passes on."""
        for event in committed:
            if event.kind == NoticePosted.kind:
                self._notify_command.ring(event)
                self._wake(event.repo)
            elif event.kind == IntentDone.kind and events.read(IntentDone, event).what == "end":
                self._context.pools.begin("wait", self._after_ending, event)

    def _wake(self, repo: RepoId | None) -> None:
        queue = self._queues.get(repo) if repo else None
        if queue is not None:
            self._on_loop(queue.wake)

    def _after_ending(self, event: Event) -> None:
        """Where everybody was ended at once there is nothing left to listen for."""
        repo, key = event.repo, events.read(IntentDone, event).intent
        if repo is None:
            return
        intent = self._context.store.read(lambda c: rows.intent(c, key))
        if intent is None or intent.data.get("how") != "nuke":
            return
        if not self._context.store.read(lambda c: rows.agents(c, repo=repo)):
            self.end_waiting(repo)

    def _on_loop(self, work: Callable[[], Any]) -> None:
        """Without a loop nobody has ever waited."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(work)


def _take(writing: Writing, numbers: list[int], by: str) -> int:
    """Takes notices from the queue; the messages that they tell of have arrived."""
    announced = noticeboard.messages(writing.connection, numbers)
    count = noticeboard.take(writing, numbers, by=by)
    for message in (mailbox.find(writing.connection, number) for number in announced):
        if message is not None and message.state == "queued" and message.recipient == USER:
            receipts.delivered(writing, message, "notice")
    return count


def _waiting(repo: RepoId) -> Callable[[sa.Connection], list[Notice]]:
    return lambda connection: noticeboard.waiting(connection, repo, limit=_AT_ONCE)
