"""What a headless session prints: its output lines become observations, costs and answers.

Lines are read by an offset that moves in the transaction that keeps what they said. A request for
permission is answered before that: a daemon that dies in between answers again, and an answer that
was had already means nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from windlass.core import states
from windlass.core.claude import observations as claude_observations
from windlass.core.crew import Agent
from windlass.core.errors import Conflict
from windlass.daemon.kernel.context import Context
from windlass.daemon.states import observations
from windlass.sessions import record, streams
from windlass.store import rows
from windlass.store.rows import Session
from windlass.store.store import Writing

MARK = "output"
_READ_AT_ONCE = 1 << 20
_MOMENT = 1e-6
_COARSE = 0.02
"""By so much may the time of a file be behind the clock. A model refuses right after a hook."""
Decide = Callable[[Agent, Mapping[str, Any]], Mapping[str, Any]]
"""Given a tool call, says `{"behavior": "allow"}` or `{"behavior": "deny", "message": ...}`."""


class Printed(NamedTuple):
    """How much output there was at one moment, and when the last of it was printed."""

    size: int
    at: float


class Results(Protocol):
    """What is interested in how turns ended."""

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

    def printed(self, agent: Agent, session: Session) -> Printed:
        """How much there is to be read; costs a look at a file."""
        path = self._context.folders.session(agent.uid, session.number) / record.OUTPUT
        try:
            found = os.stat(path)  # noqa: PTH116 - one call, no object
        except FileNotFoundError:
            return Printed(0, 0.0)
        return Printed(found.st_size, min(self._context.clock.now(), found.st_mtime))

    def behind(self, agent: Agent, session: Session) -> bool:
        """Whether there is output that was not read."""
        return bool(self.printed(agent, session).size > session.marks.get(MARK, 0))

    def hear(self, agent: Agent, session: Session, printed: Printed) -> Session:
        """Reads what was printed by then; returns the session with its marks moved."""
        folder = self._context.folders.session(agent.uid, session.number)
        while True:
            offset = session.marks.get(MARK, 0)
            lines, end = _read(folder, offset, printed)
            if end == offset:
                return session
            said = [_decoded(line) for line in lines if line.strip()]
            unanswered = self._context.clock.now()
            for line in said:
                self._answer(agent, session, line)
            session = self._keep(
                agent, session, said, at=printed.at, end=end, unanswered=unanswered
            )

    def hear_ahead(self, agent: Agent, session: Session, printed: Printed) -> Session:
        """Reads up to the end of the turn or a request; for when hooks tell only of that.

        A model that answers again after it refused is told of by no hook but the last of the turn.
        """
        folder = self._context.folders.session(agent.uid, session.number)
        offset = session.marks.get(MARK, 0)
        lines, _ = _read(folder, offset, printed)
        ahead = [_decoded(line) for line in lines]
        ends = next((n for n, line in enumerate(ahead) if _is_boundary(line)), len(ahead))
        end = offset + sum(len(line) + 1 for line in lines[:ends])
        seen = self._context.store.read(lambda c: rows.observations(c, agent.uid))
        # Of what is not the last of the output is known only that it came after what we know.
        known = max((one.at for one in seen if one.session == session.number), default=printed.at)
        at = max(known + _MOMENT, printed.at if ends == len(ahead) else 0.0)
        said = [line for line in ahead[:ends] if not isinstance(line, str) or line.strip()]
        return self._keep(agent, session, said, at=at, end=end) if end > offset else session

    def _keep(
        self,
        agent: Agent,
        session: Session,
        said: list[Any],
        *,
        at: float,
        end: int,
        unanswered: float = 0.0,
    ) -> Session:
        def change(writing: Writing) -> Session:
            marks = rows.session(writing.connection, agent.uid, session.number).marks
            tools = marks.get(observations.TOOLS, 0)
            begun = max((n for n, line in enumerate(said) if _is_beginning(line)), default=0)
            for number, line in enumerate(said):
                # By its file a request may seem older than the hook before it, and be passed over;
                # it was still one when we came to answer it.
                since = max(at, unanswered) if _is_request(line) else at
                self._take(writing, agent, session, line)
                if number < begun:
                    continue  # the end of a turn before this one, which says nothing about now
                self._observe(writing, agent, session, line, at=since, tools=tools)
            # Others move marks of their own in the same row.
            latest = rows.session(writing.connection, agent.uid, session.number)
            kept = msgspec.structs.replace(latest, marks={**latest.marks, MARK: end})
            rows.put_session(writing, kept)
            observations.settle(writing, agent.uid)
            return kept

        return self._context.store.write(change)

    def _take(self, writing: Writing, agent: Agent, session: Session, line: Any) -> None:
        if not isinstance(line, dict):
            writing.emit("output.garbage", repo=agent.repo, agent=agent.uid, line=str(line)[:4096])
            return
        if _is_result(line):
            writing.emit("turn.ended", repo=agent.repo, agent=agent.uid, **_summary(line))
            self._results.take_result(writing, agent, session, line)

    def _observe(
        self, writing: Writing, agent: Agent, session: Session, line: Any, *, at: float, tools: int
    ) -> None:
        if not isinstance(line, dict):
            return
        if line.get("subtype") == "api_retry":
            at += _COARSE
        seen = claude_observations.from_output(line, at=at, session=session.number)
        if seen is not None:
            rows.put_observation(writing, agent.uid, states.claimed(seen, tools=tools))

    def _answer(self, agent: Agent, session: Session, line: Any) -> None:
        if not _is_request(line):
            return
        request = line.get("request")
        if not isinstance(request, dict) or request.get("subtype") != "can_use_tool":
            return
        call = {
            "hook_event_name": "PermissionRequest",
            "tool_name": request.get("tool_name"),
            "tool_input": request.get("input"),
            "cwd": agent.workspace,
        }
        decided = dict(self._decide(agent, call))
        if decided.get("behavior") == "allow":
            decided["updatedInput"] = request.get("input")
        response = {
            "subtype": "success",
            "request_id": line.get("request_id"),
            "response": decided,
        }
        answer = msgspec.json.encode({"type": "control_response", "response": response})
        folder = self._context.folders.session(agent.uid, session.number)
        with contextlib.suppress(Conflict):  # it has ended: nobody waits for the answer
            streams.write(folder, answer + b"\n")


def _read(folder: Path, offset: int, printed: Printed) -> tuple[list[bytes], int]:
    left = printed.size - offset
    return (
        streams.read_lines(folder, offset, min(_READ_AT_ONCE, left)) if left > 0 else ([], offset)
    )


def _is_result(line: Any) -> bool:
    return isinstance(line, dict) and line.get("type") == "result"


def _is_request(line: Any) -> bool:
    return isinstance(line, dict) and line.get("type") == "control_request"


def _is_boundary(line: Any) -> bool:
    """Whether a turn ends here, or begins, or waits for us."""
    return _is_beginning(line) or _is_request(line) or _is_result(line)


def _is_beginning(line: Any) -> bool:
    return isinstance(line, dict) and line.get("subtype") == "init"


def _decoded(line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except (ValueError, RecursionError):
        return line.decode(errors="replace")


def _summary(result: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("subtype", "is_error", "api_error_status", "num_turns", "total_cost_usd", "duration_ms")
    said = {key: result[key] for key in kept if result.get(key) is not None}
    if isinstance(text := result.get("result"), str):
        said["result"] = text[:4096]
    return said
