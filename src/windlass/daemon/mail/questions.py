"""Questions of agents: asked with `wl ask`, or by a dialog that nobody would have seen.

A question blocks nothing. It is a message: a root agent's to the person, another's to its parent.
It is open until somebody answers or acknowledges it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from windlass.api.verbs import Caller
from windlass.api.wire.mail import AskReply, AskRequest, QuestionsRequest, QuestionView
from windlass.core.crew import Agent
from windlass.core.errors import WindlassError
from windlass.core.events import QuestionRefused
from windlass.core.ids import Uid
from windlass.core.mail.messages import Message
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.mail import (
    admission,
    from_windlass,
    inbox,
    notices,
    receipts,
    recipients,
)
from windlass.daemon.mail.admission import QuestionRules
from windlass.daemon.mail.receipts import Party
from windlass.store import mailbox, rows
from windlass.store.store import Writing

_REFUSED = "question"
"""The topic of what an agent is told of questions that were not passed on."""


class Questions:
    """Records the questions of agents, and lists those that wait for an answer."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def operation(self) -> Operation:
        """A question is asked when it is recorded."""
        return Operation("ask", (), lambda _: [], _reply)

    def begin(self, caller: Caller, request: AskRequest) -> IntentDraft:
        """Records a question of the calling agent."""
        scope = lookup.scope(self._context, caller, request)
        agent = scope.require_caller()
        scope.require_repo()
        rules = admission.question_rules(self._context, agent.repo)
        text = request["text"]
        return IntentDraft(agent.repo, agent.uid, lambda w: record(w, agent, text, rules))

    def view(self, caller: Caller, request: QuestionsRequest) -> list[QuestionView]:
        """What `listed` finds, for somebody who reads it: the person has then seen it."""
        scope = lookup.scope(self._context, caller, request)
        questions = self._read(scope, request)
        if scope.caller is None:
            inbox.shown_to_person(self._context, questions)
        return self._views(questions)

    def listed(self, caller: Caller, request: QuestionsRequest) -> list[QuestionView]:
        """The questions that wait for an answer, oldest first: the person's, or a manager's own.

        For whoever only looks whether there are any: no receipt says that somebody has seen them.
        """
        scope = lookup.scope(self._context, caller, request)
        return self._views(self._read(scope, request))

    def _read(self, scope: lookup.Scope, request: QuestionsRequest) -> list[Message]:
        me = recipients.caller(scope).uid
        repo = scope.repo_id

        def read(connection: sa.Connection) -> list[Message]:
            if not request.get("all"):
                return mailbox.questions(connection, repo=repo, recipient=me)
            return mailbox.inbox(connection, repo=repo, recipient=me, kind="question")

        return self._context.store.read(read)

    def _views(self, questions: list[Message]) -> list[QuestionView]:
        now = self._context.clock.now()
        return [_view(question, now) for question in questions]


def record(writing: Writing, agent: Agent, text: str, rules: QuestionRules) -> dict[str, Any]:
    """Keeps a question that may be asked, and says whose it is to answer."""
    to = receipts.manager_or_person(writing.connection, agent)
    asker = Party(agent.uid, agent.id)
    text = admission.admit_question(writing, agent.repo, asker, to, text=text, rules=rules)
    draft = receipts.draft(agent.repo, asker, to, text, kind="question", now=writing.now)
    question = receipts.post(writing, draft)
    notices.on_message(writing, question)
    manager = rows.agent(writing.connection, Uid(to.uid))
    if manager is not None:
        notices.on_deaf_manager(writing, question, manager)
    return {
        "message": question.id,
        "agent": agent.id,
        "to": to.id,
        "state": manager.state if manager else None,
        "asked": text,
    }


def record_dialogs(
    writing: Writing, agent: Agent, dialogs: Iterable[object], rules: QuestionRules
) -> None:
    """Keeps what dialogs would have asked that a session was denied, as far as it may be asked.

    The session was told that its questions are passed on, so it is told of those that are not. The
    lines that tell of dialogs are the agent's own: it may have forged any number of them.
    """
    refused: list[str] = []
    for tool_input in dialogs:
        try:
            record(writing, agent, spelled(tool_input), rules)
        except WindlassError as error:
            refused.append(error.message)
    if refused:
        event = QuestionRefused(questions=len(refused), why=refused[0])
        writing.emit(event, repo=agent.repo, agent=agent.uid)
        text = f"Your question was not passed on after all: {refused[0]}. Nobody will answer it."
        from_windlass.say(writing, agent, text, topic=_REFUSED)


def spelled(tool_input: object) -> str:
    """What a dialog would have asked, in words; the input is the agent's, and may be anything."""
    asked = tool_input.get("questions") if isinstance(tool_input, dict) else None
    lines = []
    for question in asked if isinstance(asked, list) else []:
        if not isinstance(question, dict):
            continue
        options = question.get("options")
        labels = [
            str(option.get("label"))
            for option in (options if isinstance(options, list) else [])
            if isinstance(option, dict)
        ]
        choice = f" ({' / '.join(labels)})" if labels else ""
        lines.append(str(question.get("question", "")) + choice)
    return "\n".join(line for line in lines if line) or "(a question without words)"


def _view(message: Message, now: float) -> QuestionView:
    return {
        "id": message.id,
        "repo": message.repo,
        "agent": message.sender_id,
        "text": message.body,
        "state": message.state,
        "at": message.created_at,
        "age": now - message.created_at,
    }


def _reply(work: RunningIntent) -> AskReply:
    data = work.data
    return {
        "message": data["message"],
        "agent": data["agent"],
        "to": data["to"],
        "state": data["state"],
        "asked": data["asked"],
    }
