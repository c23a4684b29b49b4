"""What a session's hooks left in its events file: read by offset, each line kept once.

The offset is kept in the transaction that keeps what was read, so a daemon that dies reads on where
it was, and no line counts twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

import msgspec

from windlass import drivers
from windlass.core import agents_json, states
from windlass.core.crew import Agent
from windlass.core.dialect import Dialect, HookMoment
from windlass.core.events import (
    DECIDERS,
    HOOKS,
    AgentConversation,
    Hook,
    HookGarbage,
    LineSkipped,
    PolicyDecision,
    TurnOver,
)
from windlass.core.policy import tool_policy
from windlass.core.runs import last_words
from windlass.core.states import LATEST, Observation, State
from windlass.daemon.kernel import line_reader, store_share
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.line_reader import FileOffset, Line
from windlass.daemon.mail import admission, questions
from windlass.daemon.spend import backends
from windlass.daemon.states.observations import TOOLS, observe, settle
from windlass.store import rows
from windlass.store.rows import Session
from windlass.store.store import Writing

_READ_AT_ONCE = 256 << 10
_LONGEST_LINE = (8 << 20) + (64 << 10)
"""What a hook was told is kept up to 8 MiB, by the programs that our hooks are."""
_LINES_AT_ONCE = 50
"""Lines kept in one transaction: others write as well, and one agent must not hold them up."""
_DENIAL = "PolicyDecision"
"""What the lines are called in which our hooks tell that a call was denied."""
_KEPT_OF_A_FIELD = 4096
_KEPT_OF_A_DENIAL = 64 << 10
_KEPT_OF_LAST_WORDS = 64 << 10
_SHOWN = tuple(name for name in Hook.__struct_fields__ if name != "name")


def read_on(context: Context, agent: Agent, session: Session) -> bool:
    """Keeps the next lines of a session's events; says whether it moved on in the file.

    What is no plain file is an error: a session whose hooks are not heard is not silent. Of an
    agent that has filled its share of the store nothing is read, until it may have more.
    """
    if store_share.of(context, agent).is_full:
        return False
    path = context.folders.events(agent.uid, session.number)
    known = FileOffset(session.events_offset)
    part = line_reader.plain_lines(
        path,
        known,
        most=_READ_AT_ONCE,
        longest=_LONGEST_LINE,
        below=context.folders.agent(agent.uid),
    )
    batch = _batch(part.lines, part.place.offset)
    if batch.end == session.events_offset:
        return False
    dialect = drivers.dialect(agent.driver)
    asked = [record.event["asked"].get("tool_input") for record in batch.records if _asks(record)]
    rules = admission.question_rules(context, agent.repo) if asked else None

    def change(writing: Writing) -> None:
        taken = rows.session(writing.connection, agent.uid, session.number)
        if taken.events_offset != session.events_offset:
            return  # who gave us the session had it from before somebody else read on
        before = taken.marks.get(TOOLS)
        sights = _Sights(writing, agent)
        for record in batch.records:
            taken = _take(writing, dialect, agent, taken, record, sights=sights)
        sights.settle()
        if rules is not None:
            questions.record_dialogs(writing, agent, asked, rules)
        if batch.garbage:
            _tell_of_garbage(writing, agent, batch.garbage)
        if part.overlong:
            _tell_of_overlong(writing, agent, part.start)
        if (tools := taken.marks.get(TOOLS)) != before:
            rows.set_mark(writing, agent.uid, taken.number, TOOLS, tools)
        rows.change_session(writing, agent.uid, taken.number, events_offset=batch.end)
        store_share.count(writing, agent.uid)

    context.store.write(change)
    return True


class _Record(NamedTuple):
    """One line of events, read."""

    at: float
    name: str
    event: dict[str, Any]


class _Batch(NamedTuple):
    """What is kept in one transaction, and where in the file it ends."""

    records: list[_Record]
    garbage: list[bytes]
    end: int


def _batch(lines: Iterable[Line], end: int) -> _Batch:
    """Reads as many lines as one transaction may keep, before that is begun."""
    records: list[_Record] = []
    garbage: list[bytes] = []
    for line, until in lines:
        end = until
        if not line:
            continue  # two hooks ended what seemed to be cut off (`hooks/event_record.py`)
        try:
            record = agents_json.decode(line)
            event = record["event"]
            records.append(_Record(_moment(record["at"]), _name(event["hook_event_name"]), event))
        except (msgspec.DecodeError, KeyError, TypeError, ValueError, RecursionError):
            garbage.append(line)
        if len(records) == _LINES_AT_ONCE:
            break
    return _Batch(records, garbage, end)


def _moment(at: Any) -> float:
    """Reads when a line was written; agents can write any number there, and text."""
    if not isinstance(at, int | float) or not 0 <= at <= LATEST:
        raise ValueError("no moment")
    return float(at)


def _name(name: Any) -> str:
    """Reads which hook a line is of: one that there can be, or what our own hooks add."""
    if name != _DENIAL and not Hook.may_be_called(name):
        raise ValueError("no hook")
    return str(name)


class _Sights:
    """What the lines of one transaction say of an agent's state.

    Of several in a row that say the same state the first and the last are kept: with tools at work
    these are nearly all.
    """

    def __init__(self, writing: Writing, agent: Agent) -> None:
        self._writing, self._agent = writing, agent
        self._said: State | None = None
        self._again: Observation | None = None

    def take(self, seen: Observation) -> None:
        """Keeps it at once where it is news, and else later."""
        if seen.value is self._said:
            self._again = seen
            return
        self.keep()
        observe(self._writing, self._agent, seen)
        self._said = seen.value

    def keep(self) -> None:
        """Keeps the last one that said the same again."""
        if self._again is not None:
            rows.put_observation(self._writing, self._agent.uid, self._again)
            self._again = None

    def settle(self) -> None:
        """Keeps all of them, and the state that follows."""
        self.keep()
        settle(self._writing, self._agent.uid)


def _take(
    writing: Writing,
    dialect: Dialect,
    agent: Agent,
    session: Session,
    record: _Record,
    *,
    sights: _Sights,
) -> Session:
    """Keeps one line of events; returns the session, with its tool calls counted."""
    at, name, event = record
    kept: Hook | PolicyDecision
    if name == _DENIAL:
        kept = _denial(dialect, event)
    else:
        shown = {key: _cut(event[key]) for key in _SHOWN if event.get(key) not in (None, "")}
        kept = Hook(name=name, **shown)
    # The log's times are ours: no agent's line is from before it began, or from later than now.
    moment_in_log = min(max(at, agent.created_at), writing.now)
    writing.emit(kept, repo=agent.repo, agent=agent.uid, at=moment_in_log)
    moment = dialect.hook_moment(event)
    if moment is HookMoment.TOOL_CALL:
        marks = {**session.marks, TOOLS: session.marks.get(TOOLS, 0) + 1}
        session = msgspec.structs.replace(session, marks=marks)
    told: Mapping[str, Any] = event
    if moment is HookMoment.SESSION_START:
        _follow_conversation(writing, agent, dialect.conversation(event))
        if agent.fork_of is not None and session.number == 1:
            told = dialect.fork_started(event)
    if moment is HookMoment.PERMISSION and agent.mode == "headless":
        return session  # it asks over its output, and may have its answer before the hook speaks
    seen = dialect.from_hook(told, at=at, session=session.number)
    if seen is not None:
        if moment is HookMoment.SESSION_START:
            sights.keep()
            seen = dialect.resumed(seen, rows.observations(writing.connection, agent.uid))
        tools = session.marks.get(TOOLS, 0)
        # State by state: a short turn may be read at once, and its history shall have all of it.
        sights.take(states.claimed(seen, tools=tools))
    if agent.run:
        over = _turn_over(event, moment, seen, session)
        if moment is HookMoment.TOOL_CALL and _is_out_of_turns(agent, session):
            over = TurnOver(session=session.number, said=last_words.OUT_OF_TURNS)
        _tell_run(writing, agent, moment, over)
    return session


def _tell_run(
    writing: Writing, agent: Agent, moment: HookMoment | None, over: TurnOver | None
) -> None:
    """Tells a run of the end of a turn; and all of them that their model answers, where it does."""
    if over is not None:
        writing.emit(over, repo=agent.repo, agent=agent.uid)
    if moment is HookMoment.TOOL_CALL or (over is not None and not over.failed):
        backends.answered(writing, agent.repo, agent.driver)


def _turn_over(
    event: Mapping[str, Any], moment: HookMoment, seen: Observation | None, session: Session
) -> TurnOver | None:
    """What a run hears of its agent's turn, where that has ended; one that goes on has not."""
    failed = seen is not None and seen.reason.kind == "turn_failed"
    if seen is not None and seen.value is states.State.RATE_LIMITED:
        return None  # it goes on by itself when the limit is over
    if not failed and (moment is not HookMoment.TURN_END or _goes_on(seen)):
        return None
    said = str(event.get("last_assistant_message") or "")[-_KEPT_OF_LAST_WORDS:]
    if failed and seen is not None:
        said = seen.evidence
    return TurnOver(session=session.number, said=said, failed=failed)


def _is_out_of_turns(agent: Agent, session: Session) -> bool:
    """Whether a live session has just used up its turns, or as many once more since it was told.

    Headless ones are counted by the agent CLI. Nobody counts the model's calls of a live one: each
    call of a tool stands for one.
    """
    most = session.part.turns if session.part is not None else 0
    over = session.marks.get(TOOLS, 0) - 1
    return agent.mode == "live" and 0 < most <= over and over % most == 0


def _goes_on(seen: Observation | None) -> bool:
    return seen is not None and seen.value not in states.IDLE


def _asks(record: _Record) -> bool:
    """Whether a line tells of a dialog that was denied, in which the person was to be asked."""
    asked = record.event.get("asked") if record.name == _DENIAL else None
    return isinstance(asked, Mapping) and asked.get("tool_name") == tool_policy.QUESTION


def _tell_of_garbage(writing: Writing, agent: Agent, lines: list[bytes]) -> None:
    """One event for all of it: who writes a million of them must not fill the log."""
    shown = lines[0][:_KEPT_OF_A_FIELD].decode(errors="replace")
    event = HookGarbage(line=shown, lines=len(lines))
    writing.emit(event, repo=agent.repo, agent=agent.uid)


def _tell_of_overlong(writing: Writing, agent: Agent, offset: int) -> None:
    event = LineSkipped(file="hook events", offset=offset, longest=_LONGEST_LINE)
    writing.emit(event, repo=agent.repo, agent=agent.uid)


def _denial(dialect: Dialect, event: Mapping[str, Any]) -> PolicyDecision:
    """What was denied, whole if it is not very long: a person may want to allow exactly that."""
    asked, answered = event.get("asked"), dialect.read_answer(event.get("answered"))
    by, hook = event.get("by"), answered.hook
    shown = {
        "by": by if by in DECIDERS else None,
        "hook": hook if hook in HOOKS else None,
        "reason": _words(answered.reason),
    }
    if not isinstance(asked, Mapping):
        return PolicyDecision(**shown, asked=_cut(asked, _KEPT_OF_A_DENIAL))
    names = ("tool_name", "tool_input", "cwd")
    return PolicyDecision(
        **shown, **{name: _cut(asked.get(name), _KEPT_OF_A_DENIAL) for name in names}
    )


def _follow_conversation(writing: Writing, agent: Agent, conversation: str | None) -> None:
    """A person who types /clear goes on in a new conversation; that is the one to resume."""
    now = rows.agent(writing.connection, agent.uid)
    if now is None or conversation is None:
        return
    if agent.fork_of is not None and PurePath(agent.fork_of).stem == conversation:
        return  # a fork starts by naming the conversation that it takes over, not its own
    if conversation != now.conversation:
        rows.change_agent(writing, agent.uid, conversation=conversation)
        writing.emit(AgentConversation(now=conversation), repo=agent.repo, agent=agent.uid)


def _words(value: Any) -> str | None:
    """What is to be words, cut; an agent can write anything in their place."""
    return None if value is None else str(_cut(value, _KEPT_OF_A_DENIAL))


def _cut(value: Any, most: int = _KEPT_OF_A_FIELD) -> Any:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return value if len(text) <= most else text[:most] + "…"
