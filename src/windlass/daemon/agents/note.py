"""`wl note`: a line that somebody writes into an agent's log."""

from __future__ import annotations

from typing import Any

from windlass.api.verbs import Caller
from windlass.api.wire.agents import NoteReply, NoteRequest
from windlass.core.crew import Agent
from windlass.core.errors import Conflict, Denied
from windlass.core.events import Note
from windlass.daemon.kernel import lookup, repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.mail import admission
from windlass.store import rows
from windlass.store.store import Writing

_MINUTE = 60.0


class Notes:
    """The operation `note`, and the request that begins it."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def operation(self) -> Operation:
        """A note has no steps: it is done when it is recorded."""
        return Operation("note", (), lambda _: [], _noted)

    def begin(self, caller: Caller, request: NoteRequest) -> IntentDraft:
        """Writes a line into an agent's log, in the transaction that records it."""
        scope = lookup.scope(self._context, caller, request)
        agent = lookup.agent(self._context, scope, request.get("agent"))
        if scope.caller is not None and scope.caller.uid != agent.uid:
            raise Denied("an agent writes into its own log only", f"wl send {agent.id} '...'")
        by = scope.caller.id if scope.caller else "user"
        text = admission.checked(request["text"], f"wl note --agent {agent.id} 'text'")
        root = repos.by_id(self._context, agent.repo).root
        most = settings.usable(self._context.folders.home, root).config.mail.rate

        def prepare(writing: Writing) -> dict[str, Any]:
            if scope.caller is not None:
                _refuse_flood(writing, agent, most)
            writing.emit(Note(text=text, by=by), repo=agent.repo, agent=agent.uid)
            return {"id": agent.id, "text": text}

        return IntentDraft(agent.repo, scope.caller_uid, prepare)


def _refuse_flood(writing: Writing, agent: Agent, most: int) -> None:
    """Refuses an agent that writes more into its log in a minute than it may say."""
    now = writing.now
    written = rows.count_events(
        writing.connection, agent=agent.uid, kind=Note.kind, since=now - _MINUTE, now=now
    )
    if written >= most:
        raise Conflict(
            f"{written} notes within a minute, and {most} is the limit",
            "say more in one note, or wait; mail.rate is the limit",
        )


def _noted(work: RunningIntent) -> NoteReply:
    return {"agent": work.data["id"], "noted": work.data["text"]}
