"""News of states, sent as messages: to managers, and to agents that claim too much.

Which state is news is decided where the state changes, and kept as an intent in that transaction;
it is told after the commit, because what is not committed has to be counted, and git is slow. A
daemon that dies in between is followed by one that tells it. Notices of roots are posted at once;
what git or the configuration has to be asked for comes after.
"""

from __future__ import annotations

import logging
import threading
from typing import Any

import msgspec
import sqlalchemy as sa

from windlass import drivers
from windlass.core import crew, events, limit_reset, shapes
from windlass.core.config import Config
from windlass.core.crew import Agent
from windlass.core.dialect import HookMoment
from windlass.core.errors import WindlassError
from windlass.core.events import (
    AgentReported,
    AgentState,
    Hook,
    IntentOpen,
    NotifyFailed,
    WorkUncommitted,
)
from windlass.core.ids import Uid
from windlass.core.mail import messages, reports
from windlass.core.mail.messages import Message
from windlass.core.mail.reminders import is_idle
from windlass.core.mail.reports import Report, Uncommitted
from windlass.core.reasons import Reason
from windlass.core.states import State
from windlass.daemon.kernel import repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step, set_out
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.launch import setup_files
from windlass.daemon.mail import from_windlass, notices
from windlass.daemon.states import reminders
from windlass.store import mailbox, rows
from windlass.store.noticeboard import STATES_BACK
from windlass.store.store import Event, Writing

log = logging.getLogger(__name__)


class Reports:
    """Tells managers, agents themselves and the person what a change of state means to them."""

    def __init__(self, context: Context, intents: Intents) -> None:
        self._context = context
        self._intents = intents
        self._closed = threading.Event()

    def open(self) -> None:
        """Begins; what an earlier daemon left is taken up with its other intents."""
        self._context.store.listen(self._committed)

    def close(self) -> None:
        """Begins nothing more; what is left is the next daemon's."""
        self._closed.set()

    def _committed(self, committed: list[Event]) -> None:
        opened = [events.read(IntentOpen, e) for e in committed if e.kind == IntentOpen.kind]
        for intent in opened:
            if intent.what == OPERATION.kind:
                self._context.pools.begin("report", self._perform, intent.intent)

    def _perform(self, key: str) -> None:
        if self._closed.is_set():
            return
        intent = self._context.store.read(lambda c: rows.intent(c, key))
        if intent is not None:
            self._intents.resume(intent)


def _count(work: RunningIntent) -> None:
    context = work.context
    agent = context.store.read(lambda c: rows.agent(c, _uid(work)))
    if agent is None:
        return
    config = _config(context, agent)
    news: dict[str, Any] = {"everyone": config is not None and config.notices == "all"}
    if reports.counts_files(agent, _report(work)):
        news["left"] = msgspec.to_builtins(uncommitted(context, agent))
        news["reminds"] = config is None or config.nudges.uncommitted
    work.keep(**news)


def _tell(work: RunningIntent) -> None:
    work.context.store.write(lambda w: _send(w, work))


def _told(work: RunningIntent) -> dict[str, Any]:
    return {"told": work.data["told"]}


_TRIES = 10
"""Messages of ours among which one that a limit is over is looked for."""
OPERATION = Operation("report", (Step("count", _count), Step("tell", _tell)), lambda _: [], _told)
"""Telling is two steps, so that git is asked once and outside of any transaction."""


def on_state(writing: Writing, before: Agent, after: Agent, reason: Reason) -> None:
    """Posts the notices of a change of state, and sets out to tell others what they should know.

    What was told since an agent was at work last is not told again, however its state wavers.
    """
    if after.state is State.RATE_LIMITED and _is_tried(writing, after.uid):
        return  # that it is at a limit was told before it was tried whether that is over
    notices.on_state(writing, before, after, reason)
    if after.run:
        return
    report = Report(state=after.state, reason=reason, ending=_ending(writing, before, after))
    if not reports.is_news(after, report):
        return
    since = _last_at_work(writing.connection, after.uid)
    if _is_reported(writing.connection, after, since):
        return
    if is_idle(after.state, reason) and reminders.tried(writing.connection, after.uid):
        return  # a reminder set it going: who is told of that is decided by how many there were
    ends = Hook.kind_of(drivers.dialect(after.driver).hook_names[HookMoment.TURN_END])
    said = rows.events(writing.connection, after=since, agent=after.uid, kind=ends, last=1)
    if said and reports.is_said(report):
        words = str(events.read(Hook, said[0]).last_assistant_message or "")
        report = msgspec.structs.replace(report, said=words)
    writing.emit(AgentReported(state=after.state), repo=after.repo, agent=after.uid)
    _set_out(writing, after, report)


def _is_tried(writing: Writing, uid: Uid) -> bool:
    """Whether an agent was told a while ago at most that its limit is over."""
    tried = mailbox.inbox(writing.connection, recipient=uid, sender=messages.WINDLASS, last=_TRIES)
    return any(
        message.topic == limit_reset.TOPIC
        and writing.now - message.created_at < 2 * limit_reset.LAST_TRY
        for message in tried
    )


def uncommitted(context: Context, agent: Agent) -> Uncommitted:
    """What is not committed in an agent's workspace. Runs git: not for a loop or a transaction."""
    try:
        work = setup_files.work_status(context, agent)
        return reports.uncommitted(msgspec.to_builtins(work))
    except WindlassError as error:
        return Uncommitted(problem=error.message)


def _config(context: Context, agent: Agent) -> Config | None:
    """What is configured where an agent is; a broken file is no reason to be mute."""
    try:
        root = repos.by_id(context, agent.repo).root
        return settings.load(context.folders.home, root)
    except WindlassError as error:
        how = f"cannot read the configuration: {error.message}"
        event = NotifyFailed(how=how)
        context.store.write(lambda w: w.emit(event, repo=agent.repo, agent=agent.uid))
        return None


def _set_out(writing: Writing, agent: Agent, report: Report) -> None:
    key = f"{OPERATION.kind}:{writing.events[-1].id}"
    data = {"uid": agent.uid, "since": writing.events[-1].id, **msgspec.to_builtins(report)}
    set_out(writing, OPERATION, key, IntentDraft(agent.repo, None, lambda _: data))


def _send(writing: Writing, work: RunningIntent) -> None:
    """Sends everything, in one transaction; a second time it finds that it did."""
    if "told" in work.data:
        return
    agent = rows.agent(writing.connection, _uid(work))
    sent: list[str] = []
    if agent is not None and not _has_gone_on(writing, agent, work.data["since"]):
        reminds = work.data.get("reminds", True)
        sent = _tell_all(writing, agent, _report(work), _left(work), reminds=reminds)
        if work.data.get("everyone"):
            notices.on_report(writing, agent, _report(work))
    work.keep_in(writing, told=sent)


def _tell_all(
    writing: Writing, agent: Agent, report: Report, left: Uncommitted, *, reminds: bool
) -> list[str]:
    live = rows.agents(writing.connection, repo=agent.repo)
    children = [child for child in live if child.parent == agent.uid]
    if report.state is State.COMPLETE or report.ending == "quit":
        _tell_of_left(writing, agent, report, left, reminds=reminds)
    sent = []
    own = left if reminds else Uncommitted()
    if report.state is State.COMPLETE and (claim := reports.to_itself(left=own, children=children)):
        sent.append(_unless_repeated(writing, agent, claim))
    manager = next((other for other in live if other.uid == agent.parent), None)
    news = reports.to_manager(
        agent, report, left=left, children=crew.below(agent, live), asked=reminds
    )
    if manager is not None and news is not None:
        sent.append(from_windlass.say(writing, manager, news, topic=messages.state_of(agent.uid)))
    return [message.id for message in sent if message is not None]


def _tell_of_left(
    writing: Writing, agent: Agent, report: Report, left: Uncommitted, *, reminds: bool
) -> None:
    """Points uncommitted work out to the person: of roots, and of a session that it left."""
    if left.files == 0:
        return
    event = WorkUncommitted(state=report.state, files=left.files, names=list(left.names))
    writing.emit(event, repo=agent.repo, agent=agent.uid)
    if report.ending == "quit":
        text = reports.left_in_session(agent.id, left)
        notices.post(writing, agent.repo, agent.id, "waiting", text, agent=agent.uid)
    elif agent.parent is None:
        text = reports.left_at_completion(agent, left, asked=reminds)
        notices.post(writing, agent.repo, agent.id, "complete", text, agent=agent.uid)


def _unless_repeated(writing: Writing, agent: Agent, claim: str) -> Message | None:
    """Tells an agent what its claim leaves open, unless that is what it was told last.

    It has heard that, and claims the same again: to repeat it would go on for ever.
    """
    last = mailbox.inbox(writing.connection, recipient=agent.uid, last=1)
    if last and last[0].topic == reports.CLAIM and last[0].body == claim:
        return None
    return from_windlass.say(writing, agent, claim, topic=reports.CLAIM)


def _ending(writing: Writing, before: Agent, after: Agent) -> reports.Ending:
    if after.state is not State.STOPPED or before.session == 0:
        return ""
    if not notices.is_nobodys_doing(writing, before):
        return ""
    code = rows.session(writing.connection, before.uid, before.session).exit_code
    return "quit" if code == 0 else "failed"


def _last_at_work(connection: sa.Connection, uid: Uid) -> int:
    """The event with which an agent was set to work last."""
    changes = rows.events(connection, agent=uid, kind=AgentState.kind, last=STATES_BACK)
    running = [event.id for event in changes if events.read(AgentState, event).now is State.RUNNING]
    return running[-1] if running else 0


def _is_reported(connection: sa.Connection, agent: Agent, since: int) -> bool:
    reported = rows.events(
        connection, after=since, agent=agent.uid, kind=AgentReported.kind, last=STATES_BACK
    )
    return any(events.read(AgentReported, event).state is agent.state for event in reported)


def _has_gone_on(writing: Writing, agent: Agent, since: int) -> bool:
    """Whether what was to be told is over: it works again, which will end with news, or is gone."""
    return agent.ended_at is not None or _last_at_work(writing.connection, agent.uid) > since


def _uid(work: RunningIntent) -> Uid:
    return Uid(work.data["uid"])


def _report(work: RunningIntent) -> Report:
    data = work.data
    if "reason" not in data:  # an older Windlass set out, and kept its sentence
        data = {**data, "reason": {"kind": "words", "text": data.get("evidence", "")}}
    return shapes.convert(data, Report)


def _left(work: RunningIntent) -> Uncommitted:
    return shapes.convert(work.data.get("left", Uncommitted()), Uncommitted)
