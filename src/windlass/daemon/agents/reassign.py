"""`wl reassign`: an agent gets another manager, or none."""

from __future__ import annotations

from typing import Any

from windlass.api.verbs import Caller
from windlass.api.wire.agents import ReassignReply, ReassignRequest
from windlass.core import crew
from windlass.core.errors import Conflict, Denied
from windlass.core.events import AgentReassigned
from windlass.core.ids import Uid
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.mail import notices, receipts
from windlass.store import rows
from windlass.store.store import Writing


class Reassignments:
    """The operation `reassign`, and the request that begins it."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def operation(self) -> Operation:
        """A reassignment has no steps: it is done when it is recorded."""
        return Operation("reassign", (), lambda _: [], _reassigned)

    def begin(self, caller: Caller, request: ReassignRequest) -> IntentDraft:
        """Gives an agent another parent, or none, in the transaction that records it."""
        scope = lookup.scope(self._context, caller, request)
        live = lookup.live(self._context, scope)
        agent = lookup.agent(self._context, scope, request["agent"])
        lookup.require_reachable(scope, agent, live, doing="reassign")
        wanted = request["parent"]
        if scope.caller is not None and (wanted is None or scope.caller.uid == agent.uid):
            raise Denied(
                f"{scope.caller.id} may give those below it to each other, not itself or to nobody",
                "ask the person",
            )
        parent = lookup.agent(self._context, scope, wanted) if wanted else None
        if parent is not None:
            lookup.require_reachable(scope, parent, live, doing="give agents to")
        uid = scope.caller_uid
        new = parent.uid if parent else None
        return IntentDraft(agent.repo, uid, lambda w: reassign(w, agent.uid, new))


def reassign(writing: Writing, uid: Uid, new: Uid | None) -> dict[str, Any]:
    """Puts an agent under another, if both live and no cycle comes of it."""
    agent = rows.agent(writing.connection, uid)
    if agent is None or agent.ended_at is not None:
        raise Conflict("that agent has ended meanwhile", "`wl trash list` has its work")
    parent = rows.agent(writing.connection, new) if new else None
    if new and (parent is None or parent.ended_at is not None):
        raise Conflict("that manager has ended", "name another: wl reassign AGENT MANAGER")
    if parent is not None:
        crew.check_parent(agent, parent, live=rows.agents(writing.connection, repo=agent.repo))
    moved = rows.change_agent(writing, uid, parent=new)
    for question in receipts.readdress_questions(writing, moved):
        notices.on_message(writing, question)
    why = f"to {parent.id}" if parent else "to nobody"
    writing.emit(AgentReassigned(id=agent.id, why=why), repo=agent.repo, agent=uid)
    return {
        "agent": uid,
        "id": agent.id,
        "was": agent.parent,
        "now": new,
        "parent": parent.id if parent else None,
    }


def _reassigned(work: RunningIntent) -> ReassignReply:
    return {"id": work.data["id"], "parent": work.data["parent"]}
