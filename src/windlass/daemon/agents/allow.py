"""`wl allow`: a person lifts a denial for an agent that runs, and the agent is told."""

from __future__ import annotations

from typing import Any

import msgspec

from windlass.api.verbs import Caller
from windlass.api.wire.agents import AllowReply, AllowRequest
from windlass.core import config_lists
from windlass.core.crew import Agent
from windlass.core.errors import Conflict, UserError
from windlass.core.events import AgentAllowed
from windlass.core.ids import Uid
from windlass.daemon.agents import endings
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step, of_one_agent
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.mail import from_windlass
from windlass.daemon.policy import decisions
from windlass.store import rows
from windlass.store.store import Writing


class Allowances:
    """The operation `allow`, and the request that begins it."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def operation(self) -> Operation:
        """The daemon decides by the row; the file is what a hook decides by without one."""
        return Operation("allow", (Step("policy", self._write),), of_one_agent, _allowed)

    def begin(self, caller: Caller, request: AllowRequest) -> IntentDraft:
        """Adds patterns to what an agent may use, in the transaction that records it."""
        scope = lookup.scope(self._context, caller, request)
        agent = lookup.agent(self._context, scope, request["agent"])
        patterns = list(dict.fromkeys(pattern.strip() for pattern in request["patterns"]))
        for pattern in patterns:
            problem = config_lists.PATTERN.problem(pattern)
            if problem:
                raise UserError(f"{pattern} {problem}", config_lists.PATTERN.hint)
        return IntentDraft(agent.repo, scope.caller_uid, lambda w: _allow(w, agent.uid, patterns))

    def _write(self, work: RunningIntent) -> None:
        agent = endings.still_live(self._context, Uid(work.data["uid"]))
        decisions.write_policy_file(self._context, agent)


def _allow(writing: Writing, uid: Uid, patterns: list[str]) -> dict[str, Any]:
    agent = rows.agent(writing.connection, uid)
    if agent is None or agent.ended_at is not None:
        raise Conflict("that agent has ended meanwhile", "`wl list` shows who lives")
    fresh = [pattern for pattern in patterns if _changes(agent, pattern)]
    policy = msgspec.structs.replace(
        agent.policy,
        allow=tuple(dict.fromkeys((*agent.policy.allow, *patterns))),
        deny=tuple(pattern for pattern in agent.policy.deny if pattern not in patterns),
    )
    if fresh:
        rows.change_agent(writing, uid, policy=policy)
        writing.emit(AgentAllowed(id=agent.id, patterns=fresh), repo=agent.repo, agent=uid)
        said = ", ".join(fresh)
        from_windlass.say(
            writing,
            agent,
            f"The person allows you from now on: {said}. Try again what was denied.",
            topic=f"allowed:{said[:200]}",
        )
    return {"uid": uid, "id": agent.id, "patterns": patterns, "fresh": fresh}


def _changes(agent: Agent, pattern: str) -> bool:
    return pattern not in agent.policy.allow or pattern in agent.policy.deny


def _allowed(work: RunningIntent) -> AllowReply:
    data = work.data
    return {"agent": data["id"], "patterns": data["patterns"], "fresh": data["fresh"]}
