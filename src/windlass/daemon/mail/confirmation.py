"""What conversations say of the messages that were offered to them: whether each arrived.

Nothing but a conversation proves that a message arrived, and nothing but its silence that one did
not: what is missing when its session is followed by another, when the call that it went with is
over, or when an idle session has been silent for long, is queued again.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

import msgspec

from windlass import drivers
from windlass.core.crew import Agent
from windlass.core.dialect import TranscriptLine
from windlass.core.events import MessageRequeued
from windlass.core.ids import Uid
from windlass.core.mail.messages import Message, Offer
from windlass.core.states import IDLE
from windlass.daemon.kernel import line_reader
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.line_reader import FileOffset
from windlass.daemon.launch import keyboard, session_request
from windlass.daemon.mail import receipts
from windlass.store import mailbox, rows
from windlass.store.rows import Session
from windlass.store.store import Writing

_SILENCE = 30.0
"""Seconds of an idle session after which what it was offered cannot be on its way any more."""
_AFTERWARDS = 1.0
"""Seconds after the result of a tool in which what came with its call is surely written."""
_PARTS = 8
"""Of an agent's conversations, at once: others wait for the thread."""
_CONVERSATIONS = 16
"""That an agent was in last, beside those that something was offered to: it says so itself."""


class AgentSession(NamedTuple):
    """An agent and its newest session."""

    agent: Agent
    session: Session

    @property
    def alive(self) -> bool:
        """Whether that session goes on: somebody is there to hear."""
        return self.session.runs


class _OfferWatch:
    """What is known so far of an agent's messages that were offered, from its conversations."""

    def __init__(self) -> None:
        self.offsets: dict[str, FileOffset] = {}
        """How far each conversation was read."""
        self.over: set[str] = set()
        """Messages that went with a call of a tool which is over."""
        self.passed: dict[str, float] = {}
        """Since when the model has gone on without each of those."""
        self.quiet: dict[str, float] = {}
        """Since when a session is idle and has not had a message."""

    def follow(self, path: str, offers: list[Offer]) -> None:
        """Has the conversation that an agent is in be read, and those of what was offered to it."""
        for offer in offers:
            self.offsets.setdefault(offer.path, FileOffset(offer.offset))
        self.offsets[path] = self.offsets.pop(path, FileOffset())
        wanted = {*(offer.path for offer in offers), *list(self.offsets)[-_CONVERSATIONS:]}
        self.offsets = {path: known for path, known in self.offsets.items() if path in wanted}

    def forget(self, message: str) -> None:
        """Watches for a message no longer."""
        self.over.discard(message)
        self.passed.pop(message, None)
        self.quiet.pop(message, None)


class Confirmation:
    """Reads conversations from where messages were offered; for one thread an agent at a time."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._watches: dict[Uid, _OfferWatch] = context.memory.per_agent()
        self._paths: dict[Uid, tuple[tuple[int, str], str]] = context.memory.per_agent()

    def path(self, agent: Agent) -> str:
        """Where an agent's conversation is."""
        current = (agent.session, agent.conversation)
        known = self._paths.get(agent.uid)
        if known is None or known[0] != current:
            path = session_request.transcript(self._context, agent)
            known = self._paths[agent.uid] = (current, path)
        return known[1]

    def settle(self, recipient: AgentSession) -> list[Message]:
        """Records what the conversation tells; returns what is still under way."""
        agent = recipient.agent
        watched = self._context.store.read(lambda c: mailbox.watched(c, agent.uid))
        if not watched:
            self._watches.pop(agent.uid, None)
            return []
        ids = {message.id for message in watched}
        watch = self._watches.setdefault(agent.uid, _OfferWatch())
        new_lines = self._new_lines(agent, watch, watched)
        for lines in islice(new_lines, _PARTS):
            if any(line.ids or line.answers for line in lines):
                confirm = partial(_confirm, watched=watched, lines=lines)
                watched = self._context.store.write(confirm)
            self._note_results(watch, watched, lines)
        is_read = next(new_lines, None) is None
        under_way = [
            message
            for message in watched
            if message.state == "queued" and message.offer is not None
        ]
        lost = [
            (message, why)
            for message in (under_way if is_read else ())
            if (why := self._why_lost(recipient, watch, message))
        ]
        if lost:
            self._context.store.write(lambda w: _queue_again(w, lost))
        lost_ids = {message.id for message, _ in lost}
        left = [message for message in under_way if message.id not in lost_ids]
        for message_id in ids - {message.id for message in left}:
            watch.forget(message_id)
        return left

    def _new_lines(
        self, agent: Agent, watch: _OfferWatch, watched: list[Message]
    ) -> Iterator[list[TranscriptLine]]:
        """Lines that were not looked at, of every conversation that may tell of these.

        Some at a time; what is missing in them is missing when there are no more.
        """
        watch.follow(self.path(agent), [message.offer for message in watched if message.offer])
        dialect = drivers.dialect(agent.driver)
        below = self._context.folders.agent(agent.uid)
        for path, known in watch.offsets.items():
            place = known
            while (part := line_reader.whole_lines(path, place, below=below)).place != place:
                yield dialect.transcript_lines([line.text for line in part.lines], part.start)
                watch.offsets[path] = place = part.place

    def _note_results(
        self, watch: _OfferWatch, watched: list[Message], lines: list[TranscriptLine]
    ) -> None:
        """Notes whose call of a tool is over, and then whether the model went on without it.

        What went with a call is written after its result: that it is missing there says nothing
        before the model has been asked again.
        """
        now = self._context.clock.unscaled.monotonic()
        for line in lines:
            for message in watched:
                if message.offer is not None and message.offer.tool in line.result_of:
                    watch.over.add(message.id)
                elif line.answers and message.id in watch.over:
                    watch.passed.setdefault(message.id, now)

    def _why_lost(self, recipient: AgentSession, watch: _OfferWatch, message: Message) -> str:
        """Why a message that is under way will not arrive; empty while it may."""
        offer = message.offer
        if offer is None:
            return ""
        if offer.session < recipient.session.number:
            started = recipient.session.started_at is not None
            return "its session ended before it was there" if started else ""
        if not recipient.alive:
            return ""
        clock = self._context.clock
        passed = watch.passed.get(message.id)
        if passed is not None and clock.unscaled.monotonic() - passed >= _AFTERWARDS:
            return "the call that it went with went without it"
        if recipient.agent.state not in IDLE:
            watch.quiet.pop(message.id, None)
            return ""
        if self._is_held_up(recipient):
            watch.quiet.pop(message.id, None)
            return ""
        # Not by the wall clock, which goes on while a machine sleeps.
        now = clock.monotonic()
        if now - watch.quiet.setdefault(message.id, now) < _SILENCE:
            return ""
        if offer.route == "paste" and not keyboard.is_free(self._context, recipient.agent):
            return ""  # it may stand there still, and be sent off by whoever presses Enter
        return "the session is idle and has not had it"

    def _is_held_up(self, recipient: AgentSession) -> bool:
        """Whether the session is stopped by a signal: it goes on where it was, and hears then."""
        folder = self._context.folders.session(recipient.agent.uid, recipient.session.number)
        return self._context.sessions.is_suspended(folder)


def offer_again(writing: Writing, message: Message, why: str) -> None:
    """Puts a message that was under way back into its queue."""
    fresh = mailbox.find(writing.connection, message.id)
    if fresh is None or fresh.state != "queued":
        return
    mailbox.change(writing, fresh, offer=None)
    recipient = Uid(message.recipient)
    writing.emit(MessageRequeued(id=message.id, why=why), repo=message.repo, agent=recipient)


def _queue_again(writing: Writing, lost: list[tuple[Message, str]]) -> None:
    for message, why in lost:
        offer_again(writing, message, why)


def _confirm(
    writing: Writing, watched: list[Message], lines: list[TranscriptLine]
) -> list[Message]:
    """Records what became of messages, line by line; what was answered is watched no more."""
    fresh = (mailbox.find(writing.connection, message.id) for message in watched)
    messages = {message.id: message for message in fresh if message is not None}
    for line in lines:
        for message_id in line.ids:
            message = messages.get(message_id)
            if message is not None and message.state == "queued" and message.offer is not None:
                after = msgspec.structs.replace(message.offer, offset=line.end)
                arrived = receipts.delivered(writing, message, message.offer.route)
                messages[message_id] = mailbox.change(writing, arrived, offer=after)
        if line.answers:
            for message in [each for each in messages.values() if each.state == "delivered"]:
                messages[message.id] = receipts.mark_read(writing, message)
    return [message for message in messages.values() if message.offer is not None]


def recipient_of(context: Context, uid: Uid) -> AgentSession | None:
    """An agent that lives and has a session."""
    pair = context.store.read(lambda c: rows.live_session(c, uid))
    return AgentSession(*pair) if pair else None
