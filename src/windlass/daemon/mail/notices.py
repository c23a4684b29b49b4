"""Notices as they are posted, whatever is their cause. Who waits for them is in `listeners`."""

from __future__ import annotations

from datetime import datetime

import msgspec

from windlass.core import crew
from windlass.core.crew import Agent
from windlass.core.events import NoticePosted
from windlass.core.ids import RepoId, Uid
from windlass.core.mail import notices, reports
from windlass.core.mail.messages import USER, WINDLASS, Message
from windlass.core.mail.notices import Type
from windlass.core.mail.reports import Report
from windlass.core.reasons import Reason
from windlass.core.states import State
from windlass.daemon.kernel import operations
from windlass.store import noticeboard, rows
from windlass.store.noticeboard import ENDED, SUPERSEDED, Notice, Unread
from windlass.store.store import Writing


def on_message(writing: Writing, message: Message) -> None:
    """Posts a notice of a message to the person, unless it only tells how things are.

    Nor of what the person says to itself: it knows.
    """
    kind = notices.BY_KIND.get(message.kind)
    if message.recipient != USER or kind is None or message.state != "queued":
        return
    if message.sender == USER:
        return
    text = notices.of_message(message.sender_id, message.kind, message.body)
    agent = Uid(message.sender) if message.sender != WINDLASS else None
    post(writing, message.repo, message.sender_id, kind, text, message.id, agent=agent)


def post(  # noqa: PLR0917 - what makes a notice, in the order of its line
    writing: Writing,
    repo: RepoId,
    sender_id: str,
    type: Type,  # noqa: A002 - as the line of JSON calls it
    text: str,
    message: str | None = None,
    *,
    agent: Uid | None = None,
    state: State | None = None,
    by_hand: bool = False,
) -> Notice:
    """Posts a notice in the caller's transaction; with its commit whoever waits is woken.

    `agent` puts it into that agent's log; `state` says that a change of state is all that it tells.
    What was written `by_hand` is no news of a state, and outlives its agent.
    """
    text = text if len(text) <= notices.LONGEST else text[: notices.LONGEST] + "…"
    posted = noticeboard.put(writing, repo, sender=sender_id, kind=type, text=text, message=message)
    event = NoticePosted(
        number=posted.number,
        sender=sender_id,
        type=type,
        text=text,
        state=state,
        by_hand=by_hand,
    )
    writing.emit(event, repo=repo, agent=agent)
    return posted


def on_state(writing: Writing, before: Agent, after: Agent, reason: Reason) -> None:
    """Posts at once what a change of a root's state is worth telling."""
    if after.run and after.state is not State.ASKING:
        return  # its run speaks for it
    if after.parent is None:
        failed = after.state is State.STOPPED and _failed_by_itself(writing, before)
        _post_state(writing, after, reason=reason, failed=failed)


def on_report(writing: Writing, agent: Agent, report: Report) -> None:
    """Posts what became of an agent below another; for those who want the notices of all."""
    manager = rows.agent(writing.connection, agent.parent) if agent.parent else None
    if manager is not None:
        reported = msgspec.structs.replace(agent, state=report.state)
        failed = report.ending == "failed"
        _post_state(writing, reported, reason=report.reason, failed=failed, manager=manager.id)


def _post_state(
    writing: Writing, agent: Agent, *, reason: Reason, failed: bool, manager: str | None = None
) -> None:
    """Posts a state in place of what nobody has read of earlier ones, and of the work then.

    What was told since an agent was at work last is not told again, however its state wavers. Who
    waits for agents below it is not told of: what becomes of them sets it going.
    """
    news = notices.news(agent, reason=reason, failed=failed, manager=manager)
    live = rows.agents(writing.connection, repo=agent.repo)
    below = crew.below(agent, live)
    if news is None or (agent.state is State.WAITING and reports.at_work(below)):
        return
    if agent.state in noticeboard.states_noticed_since_work(writing.connection, agent.uid):
        return
    kind, text = news
    text += reports.undone_below(agent, [child for child in live if child.parent == agent.uid])
    unread = noticeboard.unread_of(writing.connection, agent)
    older = [item.notice.number for item in unread if _is_ours(item)]
    noticeboard.take(writing, older, by=SUPERSEDED)
    post(writing, agent.repo, agent.id, kind, text, agent=agent.uid, state=agent.state)


def on_deaf_manager(writing: Writing, question: Message, manager: Agent) -> None:
    """Posts a question to a manager that does not hear it: nobody else would know of it."""
    if manager.state not in (State.PAUSED, State.STOPPED) or question.state != "queued":
        return
    asker = question.sender_id
    text = notices.to_deaf(asker, question.body, manager=manager.id, state=manager.state)
    post(writing, question.repo, asker, "question", text, question.id, agent=Uid(question.sender))


def forget(writing: Writing, agent: Agent) -> None:
    """Takes from the queue what nobody has to know of an agent that has ended.

    That is what we wrote of its states and its work; what it asked went with its question. What it
    said otherwise stays.
    """
    unread = noticeboard.unread_of(writing.connection, agent)
    needless = [item.notice.number for item in unread if _is_ours(item)]
    noticeboard.take(writing, needless, by=ENDED)


def _is_ours(unread: Unread) -> bool:
    """Whether we wrote it, of an agent's state or its work: it said nothing of that itself."""
    return unread.notice.message is None and not unread.posting.by_hand


def line(notice: Notice) -> str:
    """A notice as its readers get it, in the machine's own time zone."""
    at = datetime.fromtimestamp(notice.at).astimezone()
    return notices.line(at=at, sender=notice.sender, type=notice.type, text=notice.text)


def _failed_by_itself(writing: Writing, agent: Agent) -> bool:
    if agent.session == 0 or agent.ended_at is not None:
        return False
    if rows.session(writing.connection, agent.uid, agent.session).exit_code == 0:
        return False
    return is_nobodys_doing(writing, agent)


def is_nobodys_doing(writing: Writing, agent: Agent) -> bool:
    """Whether nothing that we do at the moment ends the session of an agent."""
    under_way = rows.open_intents(writing.connection)
    return not any(operations.stops(intent, agent.uid) for intent in under_way)
