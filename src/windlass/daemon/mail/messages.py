"""Mail: who is meant, what is kept, and what became of it.

A message is sent when it is recorded, in the transaction of the request that sent it; getting it
into a conversation is `delivery`'s. Receipts are changed here and there, each with its event.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec
import sqlalchemy as sa

from windlass.api.verbs import Caller
from windlass.api.wire.mail import (
    AckReply,
    AnswerRequest,
    InboxRequest,
    MessageReply,
    MessageRequest,
    MessagesRequest,
    MessageStep,
    MessageView,
    NotedMessage,
    ReceiptsRequest,
    SendReply,
    SendRequest,
)
from windlass.core.ages import age
from windlass.core.errors import Conflict, Denied, NotFound, UserError, WindlassError
from windlass.core.ids import Uid, match
from windlass.core.mail import messages as mail
from windlass.core.mail.messages import USER, MailLimits, Message
from windlass.daemon.kernel import lookup, repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import IntentDraft, Operation, RunningIntent, Step
from windlass.daemon.mail import admission, from_windlass, notices, recipients
from windlass.daemon.mail.receipts import PERSON, Party, acknowledge, delivered, draft, post
from windlass.store import mailbox, rows
from windlass.store.rows import Repo
from windlass.store.store import Event, Writing

_LONGEST_WAIT = 86_400.0
_ALL = 1_000_000
_TELLING = ("why", "reason", "route", "by")


class Messages:
    """Sends, lists, shows and acknowledges messages."""

    def __init__(self, context: Context, resume: Callable[[Uid, str, Uid | None], None]) -> None:
        self._context = context
        self._resume = resume

    def operations(self) -> tuple[Operation, ...]:
        """A message is sent when it is recorded; waking its recipient comes after that."""
        return (
            Operation("send", (Step("wake", self._wake, needed=_wakes),), lambda _: [], self._sent),
            Operation("ack", (), lambda _: [], _acked),
        )

    def begin_send(self, caller: Caller, request: SendRequest) -> IntentDraft:
        """Finds everyone who is meant; records a message to each."""
        where = lookup.scope(self._context, caller, request)
        hint = f"wl send {request['agent']} 'text', or the text on stdin"
        answered = self._answered(where, request.get("reply_to"))
        to = recipients.meant(self._context, where, request["agent"])
        text = admission.checked(request["text"], hint)
        return self._begin(where, to, request, text, answered)

    def begin_answer(self, caller: Caller, request: AnswerRequest) -> IntentDraft:
        """Finds the question that is meant, by its id or by who asks; its asker gets the answer."""
        where = lookup.scope(self._context, caller, request)
        question = self._question(where, request["question"])
        hint = f"wl answer {question.id} 'text', or the text on stdin"
        text = admission.checked(request["text"], hint)
        asker = self._context.store.read(lambda c: rows.agent(c, Uid(question.sender)))
        if asker is None or asker.ended_at is not None:
            raise Conflict(
                f"{question.sender_id}, who asked, has ended", f"wl acknowledge {question.id}"
            )
        told: SendRequest = {"agent": asker.id, "text": text, "wake": request.get("wake", False)}
        return self._begin(where, [Party(asker.uid, asker.id)], told, text, question)

    def _begin(
        self,
        where: lookup.Scope,
        to: list[Party],
        request: SendRequest,
        text: str,
        answered: Message | None,
    ) -> IntentDraft:
        repo = self._repo(where, to)
        given = settings.load(self._context.folders.home, repo.root)
        limits = MailLimits(given.mail.rate, given.mail.inbox)
        kind, body = mail.sorted_by_prefix(text) if where.caller is not None else ("status", text)
        if PERSON in to and kind == "question":
            self._refuse_question(where, allowed=given.allow_agent_questions)
        sender = recipients.caller(where)
        seconds = request.get("expires")
        if seconds is not None and not 0 < seconds < 1e9:
            raise UserError(f"expiring after {seconds} s makes no sense", "give more than 0")

        def prepare(writing: Writing) -> dict[str, Any]:
            admission.refuse_flood(writing, repo.id, sender, to, limits)
            sent = []
            for one in to:
                what, words = (kind, body) if one == PERSON else ("note", text)
                message = msgspec.structs.replace(
                    draft(repo.id, sender, one, words, kind=what, now=writing.now),
                    urgent=request.get("urgent", False),
                    topic=request.get("topic"),
                    reply_to=answered.id if answered else None,
                    expires_at=writing.now + seconds if seconds is not None else None,
                )
                sent.append(post(writing, message))
                notices.on_message(writing, sent[-1])
            if answered is not None and _settles(answered, sender, to):
                acknowledge(writing, answered, by=sender)
            wake = [one.uid for one in to if one != PERSON] if request.get("wake") else []
            by = where.caller_uid
            return {"sent": [one.id for one in sent], "wake": wake, "by": by}

        return IntentDraft(repo.id, where.caller_uid, prepare)

    def begin_ack(self, caller: Caller, request: MessagesRequest) -> IntentDraft:
        """Marks messages as dealt with; without any, all that the caller has."""
        where = lookup.scope(self._context, caller, request)
        named = [self._found(where, one) for one in request.get("messages", [])]
        by = recipients.caller(where)
        if not named and request.get("all"):
            repo = where.require_repo().id
            had = mail.OPEN if by == PERSON else ("delivered", "read")
            named = self._context.store.read(
                lambda c: mailbox.inbox(c, repo=repo, recipient=by.uid, states=had, last=_ALL)
            )
        elif not named:
            raise UserError("which message?", "name one, or --all; `wl inbox` shows them")
        for one in named:
            _refuse_unread(where, one)

        def prepare(writing: Writing) -> dict[str, Any]:
            acked = [one for one in named if acknowledge(writing, one, by=by)]
            for one in acked:
                _tell_asker(writing, one, by)
            return {"acked": [one.id for one in acked]}

        return IntentDraft(
            named[0].repo if named else where.require_repo().id, where.caller_uid, prepare
        )

    def inbox(self, caller: Caller, request: InboxRequest) -> list[MessageView]:
        """The messages to somebody, or from somebody; the person has seen what it is shown."""
        where = lookup.scope(self._context, caller, request)
        agent = where.caller
        wanted = request.get("agent")
        if wanted and not (where.caller is None and recipients.is_person(wanted)):
            agent = lookup.any_agent(self._context, where, wanted)
            lookup.require_reachable(
                where, agent, lookup.live(self._context, where), doing="read mail of"
            )
        who = agent.uid if agent else USER
        last = request.get("last")
        if last is not None and last < 1:
            raise UserError(f"the newest {last} messages are none", "give 1 or more")
        states = None if request.get("all") or request.get("sent") else mail.OPEN
        found = self._context.store.read(
            lambda c: mailbox.inbox(
                c,
                repo=where.repo.id if where.repo else None,
                recipient=None if request.get("sent") else who,
                sender=who if request.get("sent") else None,
                states=states,
                last=last or 200,
            )
        )
        unseen = request.get("sent") or request.get("peek")
        if where.caller is None and who == USER and not unseen:
            shown_to_person(self._context, found)
        return [self.view(one) for one in found]

    def show(self, caller: Caller, request: MessageRequest) -> MessageReply:
        """One message with everything that is known about it, and what it belongs to."""
        where = lookup.scope(self._context, caller, request)
        message = self._found(where, request["message"])
        self._refuse_foreign(where, message, also_sender=True)
        if where.caller is None:
            shown_to_person(self._context, [message])
        thread = self._context.store.read(lambda c: mailbox.thread(c, message))
        past = self._context.store.read(lambda c: mailbox.history(c, message))
        return {
            **self.view(message),
            "note": self._note(message, None) or self._why(message),
            "thread": [self.view(one) for one in thread],
            "history": [_step(event) for event in past],
        }

    async def wait_for_receipts(
        self, caller: Caller, request: ReceiptsRequest
    ) -> list[NotedMessage]:
        """What became of messages, as soon as none is queued any more, or the time is over."""
        loop, news = asyncio.get_running_loop(), asyncio.Event()
        clock = self._context.clock
        end = clock.monotonic() + min(max(request["timeout"], 0.0), _LONGEST_WAIT)

        def committed(events: list[Event]) -> None:
            if any(event.kind.startswith("message.") for event in events):
                loop.call_soon_threadsafe(news.set)

        ask = partial(self._receipts, caller, request)
        with self._context.store.listening(committed):
            while True:
                news.clear()
                found = await self._context.pools.run("wait", ask)
                left = end - clock.monotonic()
                if left <= 0 or all(one["state"] != "queued" or one["note"] for one in found):
                    return found
                with suppress(TimeoutError):
                    async with asyncio.timeout(clock.real(left)):
                        await news.wait()

    def _receipts(self, caller: Caller, request: ReceiptsRequest) -> list[NotedMessage]:
        where = lookup.scope(self._context, caller, request)
        found = [self._found(where, one) for one in request["messages"]]
        for one in found:
            self._refuse_foreign(where, one, also_sender=True)
        return [{**self.view(one), "note": self._note(one, None)} for one in found]

    def view(self, message: Message) -> MessageView:
        """A message as faces show it."""
        now = self._context.clock.now()
        return {
            "id": message.id,
            "repo": message.repo,
            "from": message.sender_id,
            "to": message.recipient_id,
            "kind": message.kind,
            "urgent": message.urgent,
            "text": message.body,
            "topic": message.topic,
            "reply_to": message.reply_to,
            "state": message.state,
            "reason": message.reason,
            "survivor": message.survivor,
            "route": message.route,
            "created_at": message.created_at,
            "expires_at": message.expires_at,
            "delivered_at": message.delivered_at,
            "read_at": message.read_at,
            "acked_at": message.acked_at,
            "ended_at": message.ended_at,
            "age": now - message.created_at,
            "under_way": message.offer is not None and message.state == "queued",
        }

    def _refuse_question(self, where: lookup.Scope, *, allowed: bool) -> None:
        if recipients.above(self._context, where) != PERSON:
            raise Denied("only root agents ask the person", "your manager: wl ask 'your question'")
        admission.refuse_question(allowed=allowed)

    def _repo(self, where: lookup.Scope, to: list[Party]) -> Repo:
        if where.repo is not None:
            return where.repo
        wanted = {one.uid for one in to}
        there = {one.repo for one in self._context.store.read(rows.agents) if one.uid in wanted}
        if len(there) != 1:
            return where.require_repo()
        return repos.by_id(self._context, there.pop())

    def _answered(self, where: lookup.Scope, wanted: str | None) -> Message | None:
        if wanted is None:
            return None
        message = self._found(where, wanted)
        self._refuse_foreign(where, message, also_sender=True)
        return message

    def _question(self, where: lookup.Scope, wanted: str) -> Message:
        me = recipients.caller(where).uid
        repo = where.repo.id if where.repo else None
        found = self._context.store.read(lambda c: mailbox.questions(c, repo=repo, recipient=me))
        askers = [one for one in found if one.sender_id == wanted]
        askers = askers or [one for one in found if one.sender_id.startswith(wanted)]
        if len({one.sender for one in askers}) > 1:
            named = ", ".join(sorted({one.sender_id for one in askers}))
            raise UserError(f"{wanted!r} fits several who ask: {named}", "type more of the id")
        if len(askers) > 1:
            named = ", ".join(one.id for one in askers)
            asker = askers[0].sender_id
            raise UserError(f"{asker} asks {len(askers)} things: {named}", "name the one you mean")
        if askers:
            return askers[0]
        message = self._found(where, wanted, what="question", hint="`wl questions` shows them")
        self._refuse_foreign(where, message)
        if message.kind != "question":
            raise UserError(f"{message.id} is no question", f"wl send {message.sender_id} '...'")
        if message.state not in mail.OPEN:
            raise Conflict(
                f"{message.id} is settled: {message.reason or 'it was answered'}",
                f"say more: wl send {message.sender_id} '...'",
            )
        return message

    def _found(
        self,
        where: lookup.Scope,
        wanted: str,
        *,
        what: str = "message",
        hint: str = "`wl inbox` shows them",
    ) -> Message:
        """By its whole id; else by how one begins that is the caller's, and of that kind."""
        party = where.caller.uid if where.caller else None
        kind = "question" if what == "question" else None

        def find(connection: sa.Connection) -> Message | None:
            if (exact := mailbox.find(connection, wanted)) is not None:
                return exact
            known = mailbox.ids(connection, wanted, party=party, kind=kind)
            return mailbox.find(connection, match(wanted, known, what=what, hint=hint))

        message = self._context.store.read(find)
        if message is None or (where.caller is not None and message.repo != where.caller.repo):
            raise NotFound(f"no {what} {wanted!r}", hint)
        return message

    def _refuse_foreign(
        self, where: lookup.Scope, message: Message, *, also_sender: bool = False
    ) -> None:
        me = where.caller
        if me is None or message.recipient == me.uid or (also_sender and message.sender == me.uid):
            return
        raise Denied(f"{message.id} is not yours", "`wl inbox` shows what is")

    def _wake(self, work: RunningIntent) -> None:
        kept: dict[str, str] = dict(work.data.get("asleep", {}))
        for uid in work.data["wake"]:
            try:
                self._resume(Uid(uid), f"{work.intent.id}:{uid}", work.data.get("by"))
            except Conflict:
                continue  # it is awake
            except WindlassError as error:
                kept[uid] = error.message
        if kept:
            work.keep(asleep=kept)

    def _sent(self, work: RunningIntent) -> SendReply:
        def find(connection: Any) -> list[Message]:
            found = [mailbox.find(connection, one) for one in work.data["sent"]]
            return [one for one in found if one is not None]

        messages = work.read(find)
        asleep = work.data.get("asleep", {})
        return {
            "messages": [
                {**self.view(one), "note": self._note(one, asleep.get(one.recipient))}
                for one in messages
            ]
        }

    def _why(self, message: Message) -> str:
        """What a message waits for, as far as that can be told."""
        uid, now = message.recipient, self._context.clock.now()
        if message.state != "queued" or uid == USER:
            return ""
        agent = self._context.store.read(lambda c: rows.agent(c, Uid(uid)))
        doing = f"{agent.id} is {agent.state}" if agent else ""
        if agent is not None and agent.state == "asking":
            doing += f", with a dialog open: wl attach {agent.id}"
        if message.offer is not None:
            ago = age(now - message.offer.at)
            return f"offered by {message.offer.route} {ago} ago, and not taken yet; {doing}"
        first = self._context.store.read(lambda c: mailbox.queued(c, uid))[:1]
        behind = f"it comes after {first[0].id}; " if first and first[0].id != message.id else ""
        return behind + doing

    def _note(self, message: Message, asleep: str | None) -> str:
        """Why it may take a while."""
        if message.recipient == USER:
            return ""
        agent = self._context.store.read(lambda c: rows.agent(c, Uid(message.recipient)))
        if asleep:
            return f"it could not be woken: {asleep}"
        if agent is None or agent.state not in ("stopped", "paused") or message.state != "queued":
            return ""
        return f"{agent.id} is {agent.state}: it waits for `wl resume {agent.id}`"


def _wakes(data: Mapping[str, Any]) -> bool:
    return bool(data.get("wake"))


def _settles(answered: Message, sender: Party, to: list[Party]) -> bool:
    """Whether a reply deals with what it answers: the one who wrote that gets it.

    The person may answer what an agent asked another.
    """
    if answered.sender not in {one.uid for one in to}:
        return False
    asked = answered.kind == "question" and sender == PERSON
    return asked or answered.recipient == sender.uid


def _tell_asker(writing: Writing, question: Message, by: Party) -> None:
    """Says to an agent that its question was put away: it might wait for an answer for ever."""
    asker = rows.agent(writing.connection, Uid(question.sender))
    if question.kind != "question" or asker is None or asker.ended_at is not None:
        return
    text = (
        f"{by.id} has put your question {question.id} away without an answer here. Go on as you"
        " think best and say what you decided; if you cannot, ask again."
    )
    from_windlass.say(writing, asker, text, topic=f"put-away:{question.id}")


def _refuse_unread(where: lookup.Scope, message: Message) -> None:
    """Refuses to acknowledge what is another's, or what an agent has not been given yet."""
    if where.caller is not None and message.recipient != where.caller.uid:
        raise Denied(f"{message.id} is to {message.recipient_id}", "`wl inbox` shows what is yours")
    if message.state == "queued" and message.recipient != USER:
        raise Conflict(f"{message.id} has not been delivered yet", "it comes by itself; go on")


def shown_to_person(context: Context, messages: Iterable[Message]) -> None:
    """Records that the person has had messages before its eyes."""
    unseen = [one.id for one in messages if one.recipient == USER and one.state == "queued"]

    def change(writing: Writing) -> None:
        for message in (mailbox.find(writing.connection, one) for one in unseen):
            if message is not None and message.state == "queued":
                delivered(writing, message, "inbox")

    if unseen:
        context.store.write(change)


def _acked(work: RunningIntent) -> AckReply:
    return {"acked": work.data["acked"]}


def _step(event: Event) -> MessageStep:
    why = next((event.data[key] for key in _TELLING if event.data.get(key)), "")
    return {"at": event.at, "what": event.kind.removeprefix("message."), "why": why}
