"""What a headless session prints: its output lines become observations, costs and answers.

Lines are read by an offset that moves in the transaction that keeps what they said. A request for
permission is answered before that: a daemon that dies in between answers again, and an answer that
was had already means nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from windlass import drivers
from windlass.core import agents_json, states
from windlass.core.crew import Agent
from windlass.core.dialect import Dialect, LineKind
from windlass.core.errors import Conflict
from windlass.core.events import LineSkipped, OutputGarbage, TurnOver
from windlass.core.ids import Uid
from windlass.core.policy import tool_calls
from windlass.core.policy.tool_calls import Decision, ToolCall
from windlass.core.runs import last_words
from windlass.core.sessions import OUTPUT
from windlass.core.states import Observation, State
from windlass.daemon.kernel import line_reader, store_share
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.line_reader import FileOffset, Part
from windlass.daemon.spend import windows
from windlass.daemon.states import observations
from windlass.store import rows
from windlass.store.rows import Session
from windlass.store.store import Writing

MARK = "output"
_READ_AT_ONCE = 1 << 20
_LINES_AT_ONCE = 50
"""Lines kept in one transaction, beside those that say nothing; see `hook_source`."""
_KEPT_OF_A_LINE = 4096
_MOMENT = 1e-6
_COARSE = 0.02
"""By so much may the time of a file be behind the clock. A model refuses right after a hook."""
_RIGHT_AFTER_A_HOOK = ("turn_failed", "interrupted")
"""So does a turn end that takes one call too many, and no hook of its own tells of that."""
_BOUNDARIES = (LineKind.BEGINNING, LineKind.REQUEST, LineKind.RESULT)
"""Where a turn begins, waits for us, or ends."""
Decide = Callable[[Agent, ToolCall | None], Decision]
"""Decides about a call of an agent; None is what asks permission and is no call."""


class Printed(NamedTuple):
    """How much output there was at one moment, and when the last of it was printed."""

    size: int
    at: float
    looked_at: float


class _Silence(NamedTuple):
    """When a session was last seen to have printed nothing that was not read."""

    session: int
    at: float


class Results(Protocol):
    """Somebody who is told how each turn ended."""

    def take_result(
        self, writing: Writing, agent: Agent, session: Session, result: Mapping[str, Any]
    ) -> None:
        """Takes one result line, in the transaction that marks it as read."""


class OutputSource:
    """Reads the output of headless sessions, each line once."""

    def __init__(self, context: Context, results: Results, decide: Decide) -> None:
        self._context = context
        self._results = results
        self._decide = decide
        self._silences: dict[Uid, _Silence] = context.memory.per_agent()

    def printed(self, agent: Agent, session: Session) -> Printed:
        """How much there is to be read; costs a look at a file."""
        path = self._context.folders.session(agent.uid, session.number) / OUTPUT
        looked_at = self._context.clock.now()
        try:
            status = os.lstat(path)  # one call, no object
        except FileNotFoundError:
            return Printed(0, 0.0, looked_at)
        at = min(self._context.clock.now(), status.st_mtime)
        return Printed(status.st_size, at, looked_at)

    def has_unread(self, agent: Agent, session: Session) -> bool:
        """Whether there is output that was not read."""
        printed = self.printed(agent, session)
        self._note_silence(agent, session, printed)
        return bool(printed.size > session.marks.get(MARK, 0))

    def read_on(self, agent: Agent, session: Session, printed: Printed) -> Session:
        """Keeps the next lines of what was printed by then; returns the session, its mark moved on.

        The same one where there was nothing, or where it does not take our answer to what it asks.
        """
        dialect = drivers.dialect(agent.driver)
        if store_share.of(self._context, agent).is_full:
            return session
        part = self._read(agent, session, printed)
        unanswered = self._context.clock.now()
        said: list[Any] = []
        records = 0
        end = part.start if part.lines else part.place.offset
        for text, until in part.lines:
            line = _decoded(text)
            records += isinstance(line, dict)
            if records > _LINES_AT_ONCE or not self._answer(dialect, agent, session, line):
                break
            if text.strip():
                said.append(line)
            end = until
        if end == session.marks.get(MARK, 0):
            self._note_silence(agent, session, printed)
            return session
        return self._keep(
            dialect,
            agent,
            session,
            said,
            at=printed.at,
            after=self._printed_after(agent, session),
            end=end,
            unanswered=unanswered,
            skipped=_skipped(part),
        )

    def read_ahead(self, agent: Agent, session: Session, printed: Printed) -> Session:
        """Reads up to the end of the turn or a request; for when hooks tell only of that.

        A model that answers again after it refused is told of by no hook but the last of the turn.
        """
        dialect = drivers.dialect(agent.driver)
        lines = self._read(agent, session, printed).lines[:_LINES_AT_ONCE]
        ahead = [_decoded(line.text) for line in lines]
        kinds = map(dialect.line_kind, ahead)
        ends = next((n for n, kind in enumerate(kinds) if kind in _BOUNDARIES), len(ahead))
        if ends == 0:
            return session
        seen = self._context.store.read(lambda c: rows.observations(c, agent.uid))
        # Of what is not the last of the output is known only that it came after what we know.
        known = max(
            (observation.at for observation in seen if observation.session == session.number),
            default=printed.at,
        )
        at = max(known + _MOMENT, printed.at if ends == len(ahead) else 0.0)
        said = [line for line in ahead[:ends] if not isinstance(line, str) or line.strip()]
        return self._keep(dialect, agent, session, said, at=at, after=at, end=lines[ends - 1].end)

    def _read(self, agent: Agent, session: Session, printed: Printed) -> Part:
        """Reads some lines of what was printed by then; no line is ever torn."""
        known = FileOffset(session.marks.get(MARK, 0))
        left = printed.size - known.offset
        if left <= 0:
            return Part(known.offset, [], known)
        path = self._context.folders.session(agent.uid, session.number) / OUTPUT
        below = self._context.folders.agent(agent.uid)
        return line_reader.plain_lines(path, known, most=min(_READ_AT_ONCE, left), below=below)

    def _note_silence(self, agent: Agent, session: Session, printed: Printed) -> None:
        if printed.size <= session.marks.get(MARK, 0):
            self._silences[agent.uid] = _Silence(session.number, printed.looked_at)

    def _printed_after(self, agent: Agent, session: Session) -> float:
        """The latest moment of which we know that the lines to be read were not there."""
        silence = self._silences.get(agent.uid)
        if silence is not None and silence.session == session.number:
            return silence.at
        return session.started_at or 0.0

    def _keep(
        self,
        dialect: Dialect,
        agent: Agent,
        session: Session,
        said: list[Any],
        *,
        at: float,
        after: float,
        end: int,
        unanswered: float = 0.0,
        skipped: LineSkipped | None = None,
    ) -> Session:
        def change(writing: Writing) -> Session:
            marks = rows.session(writing.connection, agent.uid, session.number).marks
            tools = marks.get(observations.TOOLS, 0)
            kinds = [dialect.line_kind(line) for line in said]
            begun = max((n for n, k in enumerate(kinds) if k is LineKind.BEGINNING), default=0)
            for number, (kind, line) in enumerate(zip(kinds, said, strict=True)):
                # By its file a request may seem older than the hook before it, and be passed over;
                # it was still one when we came to answer it.
                since = max(at, unanswered) if kind is LineKind.REQUEST else at
                self._take(writing, dialect, agent, session, line)
                if number < begun:
                    continue  # the end of a turn before this one, which says nothing about now
                seen = _observed(dialect, session, line, at=since)
                if seen is not None and seen.value is State.RUNNING:
                    # A file gets its time before it gets the line. A turn that went on before it
                    # ended must not seem to go on after that.
                    seen = msgspec.structs.replace(seen, at=after)
                if seen is not None and (
                    kind is LineKind.RETRY or seen.reason.kind in _RIGHT_AFTER_A_HOOK
                ):
                    seen = msgspec.structs.replace(seen, at=since + _COARSE)
                if seen is not None:
                    rows.put_observation(writing, agent.uid, states.claimed(seen, tools=tools))
            _tell_of_garbage(writing, agent, [line for line in said if not isinstance(line, dict)])
            if skipped is not None:
                writing.emit(skipped, repo=agent.repo, agent=agent.uid)
            kept = rows.set_mark(writing, agent.uid, session.number, MARK, end)
            observations.settle(writing, agent.uid)
            store_share.count(writing, agent.uid)
            return kept

        return self._context.store.write(change)

    def _take(
        self, writing: Writing, dialect: Dialect, agent: Agent, session: Session, line: Any
    ) -> None:
        if isinstance(line, dict) and (window := dialect.usage_window(line, at=writing.now)):
            windows.note(writing, agent, window)
        if isinstance(line, dict) and dialect.line_kind(line) is LineKind.RESULT:
            writing.emit(dialect.summary(line), repo=agent.repo, agent=agent.uid)
            self._results.take_result(writing, agent, session, line)
            if agent.run and dialect.ran_out_of_turns(line):  # no hook tells of that
                over = TurnOver(session=session.number, said=last_words.OUT_OF_TURNS)
                writing.emit(over, repo=agent.repo, agent=agent.uid)

    def _answer(self, dialect: Dialect, agent: Agent, session: Session, line: Any) -> bool:
        """Answers a request for permission; False where the session takes no answer now.

        It is not waited for: the same line is answered at a later look, when it reads again.
        """
        asked = dialect.permission_asked(line)
        if asked is None:
            return True
        call = tool_calls.read({**asked, "cwd": agent.workspace})
        answer = dialect.permission_line(line, self._decide(agent, call))
        folder = self._context.folders.session(agent.uid, session.number)
        try:
            self._context.sessions.write(folder, answer.encode(), timeout=0.0)
        except Conflict:
            # One that has ended waits for no answer any more.
            return not self._context.sessions.is_open(folder)
        return True


def _tell_of_garbage(writing: Writing, agent: Agent, lines: list[Any]) -> None:
    """One event for all of it: who prints a million of them must not fill the log."""
    if lines:
        event = OutputGarbage(line=str(lines[0])[:_KEPT_OF_A_LINE], lines=len(lines))
        writing.emit(event, repo=agent.repo, agent=agent.uid)


def _skipped(part: Part) -> LineSkipped | None:
    """What is told of a line that was too long, once it is found to be."""
    if not part.overlong:
        return None
    return LineSkipped(file="output", offset=part.start, longest=line_reader.LONGEST_LINE)


def _observed(dialect: Dialect, session: Session, line: Any, *, at: float) -> Observation | None:
    if not isinstance(line, dict):
        return None
    return dialect.from_output(line, at=at, session=session.number)


def _decoded(line: bytes) -> Any:
    try:
        return agents_json.decode(line)
    except (ValueError, RecursionError):
        return line.decode(errors="replace")
