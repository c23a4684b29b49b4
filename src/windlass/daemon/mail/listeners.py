"""Who waits for notices, and is given them at once.

A notice leaves the queue only when its reader says that it has it. Until then it is held back for
a few seconds from everybody else, and then offered again: a reader that dies as it prints loses
nothing. Who waits is known in memory alone: a daemon that comes after is asked again.

One `wl listen` waits per repository, and goes before the waiting hooks of sessions: somebody has
started it by hand. Of several sessions the one that began to wait last is woken.
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
    NotifyRequest,
    TakenReply,
    TakenRequest,
)
from windlass.core import events
from windlass.core.errors import Conflict
from windlass.core.events import IntentDone, NoticePosted
from windlass.core.ids import RepoId
from windlass.core.mail.messages import USER
from windlass.core.mail.notices import checked
from windlass.core.ports import Clock
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import IntentDraft, Operation, RunningIntent
from windlass.daemon.mail import notices, receipts
from windlass.daemon.mail.notify_command import NotifyCommand
from windlass.store import mailbox, noticeboard, rows
from windlass.store.noticeboard import Notice
from windlass.store.store import Event, Writing

HELD = 5.0
"""Seconds that a reader has to say that it has what it was given."""
_AT_WORK = 600.0
"""A session that was woken waits again when its turn is over, which may be so long after."""
_AT_ONCE = 100
_MOST = 500
"""So many notices may wait before nobody may add to them by hand."""


class Waiter:
    """Somebody who waits: a `wl listen`, or the waiting hook of a session."""

    def __init__(self, request: ListenRequest) -> None:
        self.route = request["route"]
        self.listener = request["listener"]
        self.pid = request.get("pid")
        self.only_looks = request.get("timeout") == 0
        """Whether it does not wait at all: nobody else has to go for it."""
        self.dismissed = ""
        """Why it need not wait any longer."""

    @property
    def is_going(self) -> bool:
        """Whether its place is free for another."""
        return self.only_looks or bool(self.dismissed)


class Desk:
    """Who waits for the notices of one repository, and what was given out. Of one event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.waiters: list[Waiter] = []
        self.news = asyncio.Event()
        self._given: dict[int, float] = {}
        self._armed_until = 0.0

    def enter(self, waiter: Waiter) -> Waiter | None:
        """Lets somebody wait; returns who does so already, where there is only one place."""
        for other in self.waiters:
            if (other.route, other.listener) == (waiter.route, waiter.listener):
                other.dismissed = other.dismissed or "replaced"
            elif other.route == waiter.route == "listen" and not other.is_going:
                return other
        self.waiters.append(waiter)
        self.wake()
        return None

    def leave(self, waiter: Waiter) -> None:
        """Lets the next one have what this one has not been given."""
        self.waiters.remove(waiter)
        self.wake()

    def wake(self) -> None:
        """Has everybody look again."""
        self.news.set()
        self.news = asyncio.Event()

    def is_first(self, waiter: Waiter) -> bool:
        """Whether it is this one's turn: the `wl listen`, else the session that came last."""
        there = [one for one in self.waiters if not one.dismissed]
        first = [one for one in there if one.route == "listen"] or there
        return bool(first) and first[-1] is waiter

    def give(self, waiter: Waiter, found: list[Notice], *, held: float) -> list[Notice]:
        """Gives what nobody else was given a moment ago."""
        now = self._clock.monotonic()
        self._given = {number: end for number, end in self._given.items() if end > now}
        free = [one for one in found if one.number not in self._given]
        self._given |= {one.number: now + held for one in free}
        if free:
            self._armed_until = now + (held if waiter.route == "listen" else _AT_WORK)
        return free

    def given_back(self) -> float | None:
        """When the next of what was given out, and not taken, is free again."""
        return min(self._given.values(), default=None)

    def taken(self, numbers: list[int]) -> None:
        """Holds back what was acknowledged: who read the queue before that still lists it."""
        end = self._clock.monotonic() + HELD
        self._given |= dict.fromkeys(numbers, end)

    def dismiss(self) -> None:
        """Ends all waiting."""
        for waiter in self.waiters:
            waiter.dismissed = waiter.dismissed or "ended"
        self._armed_until = 0.0
        self.wake()

    def answered(self, held: float) -> None:
        """Counts a listener whose time was over as present for `held` more seconds."""
        self._armed_until = max(self._armed_until, self._clock.monotonic() + held)

    def armed(self) -> bool:
        """Whether news would be heard; safe from any thread."""
        return bool(self.waiters) or self._clock.monotonic() < self._armed_until


class Listeners:
    """The verbs `notify`, `listen` and `taken`, and whoever waits."""

    def __init__(self, context: Context, *, held: float = HELD) -> None:
        self._context = context
        self._held = held
        self._desks: dict[RepoId, Desk] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._bell = NotifyCommand(context)

    def open(self) -> None:
        """Hears of every commit from now on; once, before anything is posted."""
        self._context.store.listen(self._committed)

    def close(self) -> None:
        """Runs no more commands for notices."""
        self._bell.close()

    def operation(self) -> Operation:
        """A notice is posted when it is recorded."""
        return Operation("notify", (), lambda _: [], _posted)

    def begin(self, caller: Caller, request: NotifyRequest) -> IntentDraft:
        """Posts a notice of an agent, of the person, or of whom the person names."""
        where = lookup.scope(self._context, caller, request)
        repo = where.require_repo().id
        agent = where.caller
        sender = agent.id if agent else request.get("sender") or "user"
        text = checked(sender=sender, text=request["text"])
        kind = request.get("type", "complete")

        def prepare(writing: Writing) -> dict[str, Any]:
            _refuse_too_many(writing, repo)
            posted = notices.post(
                writing, repo, sender, kind, text, agent=where.caller_uid, by_hand=True
            )
            return {"number": posted.number, "line": notices.line(posted)}

        return IntentDraft(repo, where.caller_uid, prepare)

    async def listen(self, caller: Caller, request: ListenRequest) -> ListenReply:
        """Waits for notices of a repository, and offers them to whoever is first."""
        limit = request.get("timeout")
        end = None if limit is None else self._context.clock.monotonic() + limit
        self._loop = asyncio.get_running_loop()
        pools = self._context.pools
        where = await pools.run("wait", lookup.scope, self._context, caller, request)
        repo = where.require_repo().id
        desk = self._desks.setdefault(repo, Desk(self._context.clock))
        waiter = Waiter(request)
        other = desk.enter(waiter)
        if other is not None:
            return {"notices": [], "why": "busy", "pid": other.pid}
        try:
            return await self._wait(desk, waiter, repo, end)
        finally:
            desk.leave(waiter)

    def taken(self, _caller: Caller, request: TakenRequest) -> TakenReply:
        """Takes from the queue what its reader has; twice is as good as once."""
        numbers, by = request["numbers"], request["route"]
        count = self._context.store.write(lambda w: _take(w, numbers, by))
        for desk in list(self._desks.values()):
            self._on_loop(partial(desk.taken, numbers))
        return {"taken": count}

    def armed(self, repo: RepoId) -> bool:
        """Whether somebody waits for news of a repository, or is just about to again."""
        desk = self._desks.get(repo)
        return desk is not None and desk.armed()

    def end_waiting(self, repo: RepoId) -> None:
        """Sends away whoever waits for news of a repository; from any thread."""
        if (desk := self._desks.get(repo)) is not None:
            self._on_loop(desk.dismiss)

    async def _wait(
        self, desk: Desk, waiter: Waiter, repo: RepoId, end: float | None
    ) -> ListenReply:
        clock, store = self._context.clock, self._context.store
        while True:
            news = desk.news  # taken before the look: what comes in between is not slept through
            found = []
            if desk.is_first(waiter):
                found = await self._context.pools.run("wait", store.read, _waiting(repo))
            if waiter.dismissed:
                return {"notices": [], "why": waiter.dismissed}
            if desk.is_first(waiter) and (given := desk.give(waiter, found, held=self._held)):
                told: list[NoticeView] = [
                    {"number": one.number, "line": notices.line(one)} for one in given
                ]
                return {"notices": told, "why": "notices"}
            if end is not None and clock.monotonic() >= end:
                desk.answered(self._held)
                return {"notices": [], "why": "timeout"}
            wakes = [at for at in (end, desk.given_back()) if at is not None]
            pause = clock.real(max(0.0, min(wakes) - clock.monotonic())) if wakes else None
            # Not `wait_for`: it forgets that its caller hung up if the news come at that moment.
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await news.wait()

    def _committed(self, committed: list[Event]) -> None:
        """Wakes whoever waits; on the writer's thread, so it only passes on."""
        for event in committed:
            if event.kind == NoticePosted.kind:
                self._bell.ring(event)
                self._wake(event.repo)
            elif event.kind == IntentDone.kind and events.read(IntentDone, event).what == "end":
                self._context.pools.begin("wait", self._after_ending, event)

    def _wake(self, repo: RepoId | None) -> None:
        desk = self._desks.get(repo) if repo else None
        if desk is not None:
            self._on_loop(desk.wake)

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
    told = noticeboard.messages(writing.connection, numbers)
    count = noticeboard.take(writing, numbers, by=by)
    for message in (mailbox.find(writing.connection, one) for one in told):
        if message is not None and message.state == "queued" and message.recipient == USER:
            receipts.delivered(writing, message, "notice")
    return count


def _waiting(repo: RepoId) -> Callable[[sa.Connection], list[Notice]]:
    return lambda connection: noticeboard.waiting(connection, repo, limit=_AT_ONCE)


def _refuse_too_many(writing: Writing, repo: RepoId) -> None:
    if noticeboard.count_waiting(writing.connection, repo) >= _MOST:
        raise Conflict(
            f"{_MOST} notices wait already, and nobody listens", "the person reads them: wl listen"
        )


def _posted(work: RunningIntent) -> NoticeView:
    return {"number": work.data["number"], "line": work.data["line"]}
