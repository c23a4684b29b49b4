"""Questions of agents: asked with `wl ask`, or by a dialog that nobody would have seen.

A question blocks nothing. A root agent's goes to the person, another's to its parent. It is open
until somebody has said something to the agent since.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from windlass.api.server import Caller
from windlass.api.wire import AskRequest, ListRequest
from windlass.core.crew import Agent
from windlass.core.errors import Denied, UserError
from windlass.daemon import finding
from windlass.daemon.context import Context
from windlass.daemon.intents import Begin, Operation, Work
from windlass.store import rows
from windlass.store.store import Event, Writing

ASKED = "question.asked"
_ANSWERS = "message.received"
_MOST = 1000


class Questions:
    """Records and lists them."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def operation(self) -> Operation:
        """A question is asked when it is recorded."""
        return Operation("ask", (), lambda _: [], _asked)

    def begin(self, caller: Caller, request: AskRequest) -> Begin:
        """Records a question of the calling agent."""
        where = finding.scope(self._context, caller, request)
        agent = where.caller
        if agent is None:
            raise Denied("questions are asked by agents", "say it to one: wl send AGENT '...'")
        text = request["text"].strip()
        if not text:
            raise UserError("nothing to ask", 'wl ask "what do you want to know?"')
        return Begin(agent.repo, agent.uid, lambda writing: record(writing, agent, text))

    def view(self, caller: Caller, request: ListRequest) -> list[dict[str, Any]]:
        """The questions that wait for an answer, oldest first: the person's, or a manager's own."""
        where = finding.scope(self._context, caller, request)
        return self._context.store.read(lambda c: self._open(c, where))

    def _open(self, connection: sa.Connection, where: finding.Scope) -> list[dict[str, Any]]:
        repo = where.repo.id if where.repo else None
        found = []
        for agent in rows.agents(connection, repo=repo):
            if agent.parent != where.caller_uid:
                continue
            heard = rows.events(connection, agent=agent.uid, kind=_ANSWERS, limit=_MOST)
            since = max((event.id for event in heard), default=0)
            asked = rows.events(connection, agent=agent.uid, kind=ASKED, after=since, limit=_MOST)
            found += [_told(agent, event, self._context.clock.now()) for event in asked]
        return sorted(found, key=lambda one: -one["age"])


def record(writing: Writing, agent: Agent, text: str) -> dict[str, Any]:
    """Keeps a question, and says whose it is to answer."""
    parent = rows.agent(writing.connection, agent.parent) if agent.parent else None
    to = parent.id if parent is not None and parent.ended_at is None else "user"
    writing.emit(ASKED, repo=agent.repo, agent=agent.uid, id=agent.id, to=to, text=text)
    return {"id": agent.id, "to": to, "text": text}


def spelled(given: object) -> str:
    """What a dialog would have asked, in words; the input is the agent's, and may be anything."""
    asked = given.get("questions") if isinstance(given, dict) else None
    lines = []
    for one in asked if isinstance(asked, list) else []:
        if not isinstance(one, dict):
            continue
        options = one.get("options")
        labels = [
            str(option.get("label"))
            for option in (options if isinstance(options, list) else [])
            if isinstance(option, dict)
        ]
        lines.append(str(one.get("question", "")) + (f" ({' / '.join(labels)})" if labels else ""))
    return "\n".join(line for line in lines if line) or "(a question without words)"


def _told(agent: Agent, event: Event, now: float) -> dict[str, Any]:
    return {"agent": agent.id, "text": event.data["text"], "at": event.at, "age": now - event.at}


def _asked(work: Work) -> dict[str, Any]:
    return {"agent": work.data["id"], "to": work.data["to"], "asked": work.data["text"]}
