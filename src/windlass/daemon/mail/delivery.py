"""Getting mail into conversations, by the best way that a session has at the moment.

Best first: a waiting hook, which wakes an idle session, is heard by a busy one before its next call
of a tool, and leaves a person's draft alone; context added to the answer about a tool call, while
it works; the input of a headless session; typing into an empty prompt, where nothing else will do.
What is offered is written down first, and one offer at a time is under way for an agent: so order
is kept, and what a crash swallows is known.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import NamedTuple

from windlass import drivers
from windlass.api.verbs import Caller
from windlass.api.wire.mail import MailReply, MailRequest
from windlass.core import events, limit_reset
from windlass.core.crew import Agent
from windlass.core.errors import Conflict, WindlassError
from windlass.core.events import MailStuck, MessageSent, SessionEnded, SessionStarted
from windlass.core.ids import Uid
from windlass.core.mail import messages
from windlass.core.mail.messages import Message, Offer, Route
from windlass.core.states import IDLE, State
from windlass.daemon.kernel import file_stat
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.keyed_locks import KeyedLocks
from windlass.daemon.launch import keyboard
from windlass.daemon.mail import confirmation, receipts
from windlass.daemon.mail.confirmation import AgentSession, Confirmation
from windlass.daemon.mail.handover import Handover
from windlass.store import mailbox, rows
from windlass.store.store import Event, Writing

log = logging.getLogger(__name__)

_PAUSE = 0.02
_ATTACHED_WITHIN = 0.2
"""Seconds that the answer about a call waits for mail that is to go with it."""
_WATCHED = 1.5
"""Seconds that a conversation is watched closely after something was offered to it."""
_PATIENCE = 2.0
"""Seconds after which a session that is idle, and for which no hook waits, is told by typing.

As many does a thread wait for a session that does not read, or for the event loop."""
_STARTING = 10.0
"""Seconds after its start in which a session is looked at before it is woken."""
_END: MailReply = {"text": None}


class _WaitingHook(NamedTuple):
    """A hook that waits for mail, and where its answer goes."""

    session: int
    arm: str
    answer: asyncio.Future[MailReply]


class Delivery:
    """Gets what is queued into conversations."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._loop: asyncio.AbstractEventLoop
        self._confirmation = Confirmation(context)
        self._busy: set[Uid] = set()
        self._working: dict[Uid, bool] = {}
        self._locks = KeyedLocks()
        self._guard = threading.Lock()
        self._waiting: dict[Uid, _WaitingHook] = {}
        self._closed = threading.Event()

    def open(self) -> None:
        """Begins, on the event loop that runs, with what an earlier daemon left."""
        self._loop = asyncio.get_running_loop()
        self._context.store.listen(self._committed)
        for uid in self._context.store.read(mailbox.busy):
            self.stir(Uid(uid))

    def close(self) -> None:
        """Begins nothing more, and ends what only watches."""
        self._closed.set()

    def stir(self, uid: Uid) -> None:
        """Has an agent's mail seen to, by and by; from any thread."""
        with self._guard:
            self._busy.add(uid)
            if uid in self._working:
                self._working[uid] = True
                return
            self._working[uid] = False
        self._submit(uid)

    def pulse(self) -> None:
        """Sees to what nobody is woken for, and gives up what came too late."""
        now = self._context.clock.now()
        if late := self._context.store.read(lambda c: mailbox.expired(c, now)):
            self._context.store.write(lambda w: receipts.expire(w, late))
        if self._busy:
            present = {agent.uid for agent, _ in self._context.store.read(rows.open_sessions)}
            for uid in self._busy & present:
                self.stir(uid)

    def look(self, uid: Uid) -> None:
        """Takes what a conversation tells now; called when an agent was looked at."""
        if uid not in self._busy:
            return
        with self._locks.trying(uid) as held:
            recipient = confirmation.recipient_of(self._context, uid) if held else None
            if recipient is not None:
                self._confirmation.settle(recipient)
                if not recipient.alive:
                    self._loop.call_soon_threadsafe(self._release, uid)
        self.stir(uid)

    def context_for(self, uid: Uid, call: str) -> str | None:
        """What is to be added to the answer about a tool call, written down as offered.

        The answer does not wait for it long: what is ready too late is put back into its queue.
        """
        if uid not in self._busy:
            return None
        handover = Handover()
        if not self._context.pools.begin("context", self._attach, uid, call, handover):
            return None
        return handover.take(within=_ATTACHED_WITHIN)

    def _attach(self, uid: Uid, call: str, handover: Handover) -> None:
        """Offers what is queued with the answer about a call, or takes the offer back."""
        with self._locks.trying(uid) as held:
            in_time = held and not handover.is_late
            recipient = confirmation.recipient_of(self._context, uid) if in_time else None
            offered = self._offer_with_call(recipient, call) if recipient else []
            accepted = handover.give(messages.together(offered) or None)
            if offered and not accepted:
                self._take_back(offered, "the answer about the call went without it")
        if offered and not accepted:
            self.stir(uid)

    def _offer_with_call(self, recipient: AgentSession, call: str) -> list[Message]:
        if not recipient.alive or recipient.agent.mode != "live":
            return []
        if self._confirmation.settle(recipient):
            return []
        batch = messages.batch(self._queued(recipient.agent.uid), messages.ROOM)
        return self._offer(recipient, batch, "context", tool=call) if batch else []

    async def wait(self, caller: Caller, request: MailRequest) -> MailReply:
        """Answers a waiting hook when there is mail; at once where its session is over."""
        uid = caller.require_agent()
        session, arm = request["session"], request["arm"]
        if not await self._context.pools.look(caller, self._may_wait, uid, session, arm):
            return _END
        hook = _WaitingHook(session, arm, self._loop.create_future())
        self._release(uid)
        self._waiting[uid] = hook
        self.stir(uid)
        try:
            return await hook.answer
        finally:
            if self._waiting.get(uid) is hook:
                del self._waiting[uid]

    def _release(self, uid: Uid) -> None:
        """Lets a hook go that waits for nothing any more."""
        hook = self._waiting.pop(uid, None)
        if hook is not None and not hook.answer.done():
            hook.answer.set_result(_END)

    def _may_wait(self, uid: Uid, session: int, arm: str) -> bool:
        recipient = confirmation.recipient_of(self._context, uid)
        if (
            recipient is None
            or recipient.session.number != session
            or recipient.session.ended_at is not None
        ):
            return False
        with self._locks.holding([uid]):
            left = self._confirmation.settle(recipient)
            # It asks again because our answer broke off: it has not had what it was offered.
            unheard = [
                message
                for message in left
                if message.offer is not None and message.offer.arm == arm
            ]
            if unheard:
                self._take_back(unheard, "the hook that was given it asks again")
        return True

    def _committed(self, committed: list[Event]) -> None:
        for event in committed:
            if event.kind == MessageSent.kind:
                self.stir(Uid(events.read(MessageSent, event).recipient))
            elif event.agent is not None and (
                # Who had no session yet when it was written to was given up for the time being.
                event.kind == SessionStarted.kind
                or (event.kind == SessionEnded.kind and event.agent in self._busy)
            ):
                self.stir(event.agent)

    def _submit(self, uid: Uid) -> None:
        self._context.pools.begin("mail", self._work, uid)

    def _work(self, uid: Uid) -> None:
        if self._closed.is_set():
            return  # it waits for the next daemon
        # Here and not only in `stir`: the round before may have found nothing and said so since.
        self._busy.add(uid)
        try:
            self._see_to(uid)
        except Exception as error:
            # One agent's broken files must not hold up the mail of others.
            log.exception("cannot deliver to %s", uid)
            stuck = MailStuck(error=str(error))
            self._context.store.write(lambda w: w.emit(stuck, agent=uid))
        finally:
            with self._guard:
                again = self._working[uid]
                if again:
                    self._working[uid] = False
                else:
                    del self._working[uid]
            if again:
                self._submit(uid)

    def _see_to(self, uid: Uid) -> None:
        clock = self._context.clock
        end = clock.monotonic() + _WATCHED
        while True:
            with self._locks.holding([uid]):
                under_way, offered = self._confirm_and_offer(uid)
            if offered:
                end = clock.monotonic() + _WATCHED
            if not under_way or clock.monotonic() > end or self._closed.wait(clock.real(_PAUSE)):
                return

    def _confirm_and_offer(self, uid: Uid) -> tuple[bool, bool]:
        """Confirms, then offers; returns whether something is under way, and if that is new."""
        recipient = confirmation.recipient_of(self._context, uid)
        if recipient is None:
            self._busy.discard(uid)
            return False, False
        if self._confirmation.settle(recipient):
            return True, False
        queued = self._queued(uid)
        if not queued:
            if not self._context.store.read(lambda c: mailbox.watched(c, uid)):
                self._busy.discard(uid)
            return False, False
        offered = recipient.alive and self._by_best_way(recipient, queued)
        return offered, offered

    def _by_best_way(self, recipient: AgentSession, queued: list[Message]) -> bool:
        """Offers what is queued by the best way there is; False where it has to wait."""
        agent, batch = recipient.agent, messages.batch(queued, messages.BATCH)
        if agent.mode == "headless":
            return self._by_stdin(recipient, batch)
        hook = self._waiting.get(agent.uid)
        if hook is not None and hook.session == recipient.session.number:
            return self._is_up(recipient) and self._by_hook(recipient, batch, hook)
        rested = self._context.clock.now() - max(agent.state_at, queued[0].created_at)
        # Before now by the clock: it was set back since, and nobody knows how long ago that was.
        if _hears(agent, queued) and not 0 <= rested < _PATIENCE:
            return self._by_typing(recipient, batch[:1])
        return False

    def _is_up(self, recipient: AgentSession) -> bool:
        """Whether a session can be woken: a hook that ends before its screen is drawn may fail."""
        age = self._context.clock.now() - (recipient.session.started_at or 0.0)
        return age > _STARTING or keyboard.is_up(self._context, recipient.agent)

    def _by_stdin(self, recipient: AgentSession, batch: list[Message]) -> bool:
        folder = self._context.folders.session(recipient.agent.uid, recipient.session.number)
        if not self._context.sessions.is_open(folder):
            return False  # not yet, or no more
        text = messages.together(self._offer(recipient, batch, "stdin"))
        if not text:
            return False
        try:
            line = drivers.dialect(recipient.agent.driver).user_line(text)
            self._context.sessions.write(folder, line.encode(), timeout=_PATIENCE)
        except Conflict:
            return False  # it has ended: the next session gets it
        return True

    def _by_hook(self, recipient: AgentSession, batch: list[Message], hook: _WaitingHook) -> bool:
        text = messages.together(self._offer(recipient, batch, "rewake", arm=hook.arm))
        if not text:
            return False
        answering = asyncio.run_coroutine_threadsafe(_give(hook, text), self._loop)
        try:
            accepted = answering.result(_PATIENCE)
        except TimeoutError:
            return True  # the daemon ends, or has much to do: it may be given yet
        if accepted:
            return True
        self._take_back(batch, "the hook that was to have it was gone")
        return False

    def _by_typing(self, recipient: AgentSession, batch: list[Message]) -> bool:
        if not keyboard.is_free(self._context, recipient.agent):
            return False
        text = messages.together(self._offer(recipient, batch, "paste"))
        if not text:
            return False
        try:
            keyboard.say(self._context, recipient.agent, keyboard.harmless(text))
        except WindlassError as error:
            # It may stand there, or have been taken before its terminal went: the conversation
            # will tell, and never this.
            log.info("typing into %s: %s", recipient.agent.id, error.message)
        return True

    def _offer(
        self, recipient: AgentSession, batch: list[Message], route: Route, **more: str
    ) -> list[Message]:
        """Writes down what is about to be offered; returns that.

        What was outdated, acknowledged or given up since it was read is left out: empty where
        that is all.
        """
        path = self._confirmation.path(recipient.agent)
        offer = Offer(
            route=route,
            session=recipient.session.number,
            at=self._context.clock.now(),
            path=path,
            offset=file_stat.size(path),
            **more,
        )

        def change(writing: Writing) -> list[Message]:
            fresh = (mailbox.find(writing.connection, message.id) for message in batch)
            return [
                mailbox.change(writing, message, offer=offer)
                for message in fresh
                if message is not None and message.state == "queued" and message.offer is None
            ]

        offered = self._context.store.write(change)
        if offered:
            self._context.failpoints.reached(f"mail.{route}.offered")
        return offered

    def _take_back(self, batch: list[Message], why: str) -> None:
        def change(writing: Writing) -> None:
            for message in batch:
                confirmation.offer_again(writing, message, why)

        self._context.store.write(change)

    def _queued(self, uid: Uid) -> list[Message]:
        queued = self._context.store.read(lambda c: mailbox.queued(c, uid))
        return [message for message in queued if message.offer is None]


def _hears(agent: Agent, queued: list[Message]) -> bool:
    """Whether an agent is idle; at a limit it is so for who tells it that the limit is over."""
    if agent.state is State.RATE_LIMITED:
        return any(m.sender == messages.WINDLASS and m.topic == limit_reset.TOPIC for m in queued)
    return agent.state in IDLE


async def _give(hook: _WaitingHook, text: str) -> bool:
    """Answers a waiting hook; False where it is gone or has its answer."""
    if hook.answer.done():
        return False
    hook.answer.set_result({"text": text})
    return True
