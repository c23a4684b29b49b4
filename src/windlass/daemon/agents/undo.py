"""`wl undo`: the last ending or reassignment is reversed.

What an ending took is brought back as the trash is restored; what nobody can reverse any more is
passed over.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping
from typing import Any, cast

import sqlalchemy as sa

from windlass.api.verbs import Caller
from windlass.api.wire.agents import RestoredAgent, RestoreReply
from windlass.api.wire.request import AnyRequest
from windlass.core import crew
from windlass.core.errors import Conflict, Denied, NotFound
from windlass.core.events import AgentReassigned
from windlass.core.ids import RepoId, Uid
from windlass.core.landing import job as landing_job
from windlass.daemon.agents.endings import UNSAID
from windlass.daemon.agents.reassign import reassign
from windlass.daemon.agents.restore import LostAgent, Restores, drop_dead_parent, mark_undone
from windlass.daemon.kernel import lookup, repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import PATIENCE, Intents
from windlass.daemon.kernel.lookup import Scope
from windlass.daemon.kernel.operations import IntentDraft, Operation
from windlass.daemon.kernel.requests import own_key
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.git import trash
from windlass.git.trash import TrashEntry
from windlass.store import rows
from windlass.store.rows import Intent
from windlass.store.store import Writing

UNDOABLE = ("end", "merge", "reassign", landing_job.RETIRE)
"""The kinds of intents that `wl undo` reverses."""
PASSED_OVER = "passed_over"
"""What the data of an ending says that nobody asked for, and that left no work: nobody means it."""


class Undos:
    """The operation `reassign-undo`, and the request that begins it or a restoration."""

    def __init__(self, context: Context, restores: Restores) -> None:
        self._context = context
        self._restores = restores

    def operation(self) -> Operation:
        """The way back of a reassignment has no steps: it is done when it is recorded."""
        return Operation("reassign-undo", (), lambda _: [], _reassigned_back, unsaid=UNSAID)

    def undo(self, intents: Intents, caller: Caller, request: AnyRequest) -> RestoreReply:
        """Reverses the last ending or reassignment of this caller that can be reversed."""
        scope = lookup.scope(self._context, caller, request)
        repo = scope.require_repo()
        kept = {entry.id: entry for entry in trash.entries(repos.git(repo))}
        key = own_key(caller, request) or str(uuid.uuid4())
        last = self._context.store.read(lambda c: last_undoable(c, repo.id, scope.caller_uid, kept))
        if last is not None and last.kind == "reassign":
            back = last
            done = intents.perform(
                "reassign-undo", key, lambda: _begin_back(repo.id, scope, back, key)
            )
            return cast("RestoreReply", done)
        taken = repos.agent_branches(repos.git(repo))

        def begin() -> IntentDraft:
            if last is None:
                raise NotFound("there is nothing to undo here", "`wl trash list` shows older work")
            return IntentDraft(
                repo.id, scope.caller_uid, lambda w: self._take_back(w, last, key, kept, taken)
            )

        return cast("RestoreReply", intents.perform("restore", key, begin, patience=PATIENCE))

    def _take_back(
        self,
        writing: Writing,
        last: Intent,
        key: str,
        kept: Mapping[str, TrashEntry],
        taken: set[str],
    ) -> dict[str, Any]:
        _require_undoable(writing, last, kept)
        lost = _lost(writing.connection, last, kept)
        mark_undone(writing, last.id, key)
        plans = [self._restores.reserve(writing, agent, taken, None) for agent in lost]
        for child, parent in last.data.get("orphans", {}).items():
            _reattach(writing, Uid(child), Uid(parent))
        for plan in plans:
            drop_dead_parent(writing, Uid(plan["uid"]))
        return {"agents": plans, "undoes": last.id, "how": last.data["how"]}


def is_undoable(connection: sa.Connection, intent: Intent, kept: Mapping[str, TrashEntry]) -> bool:
    """Whether there is still something that `wl undo` could reverse of a finished intent."""
    if intent.kind not in UNDOABLE or intent.status != "done" or intent.undone_by is not None:
        return False
    if intent.data.get(PASSED_OVER):
        return False
    if intent.kind == "reassign":
        return _can_go_back(connection, intent)
    return bool(_lost(connection, intent, kept))


def _lost(
    connection: sa.Connection, ending: Intent, kept: Mapping[str, TrashEntry]
) -> list[LostAgent]:
    """Whom an ending really ended and nobody brought back yet, as far as they can be."""
    lost = []
    for uid in ending.data.get("closed", []):
        row = rows.agent(connection, Uid(uid))
        if row is None or row.ended_at is None:
            continue
        salvaged = ending.data.get("trash", {}).get(uid)
        if salvaged is None and row.branch is None:
            lost.append(LostAgent(row, None))
        elif salvaged is not None and salvaged["id"] in kept:
            lost.append(LostAgent(row, kept[salvaged["id"]]))
    return lost


def last_undoable(
    connection: sa.Connection, repo: RepoId, caller: Uid | None, kept: Mapping[str, TrashEntry]
) -> Intent | None:
    """The newest that still has something to reverse; what has not is passed over."""
    for intent in rows.undoable(connection, repo=repo, kinds=UNDOABLE, caller=caller):
        if is_undoable(connection, intent, kept):
            return intent
    return None


def _require_undoable(writing: Writing, last: Intent, kept: Mapping[str, TrashEntry]) -> None:
    """Refuses what somebody else undid since it was found, or what changed so that nobody can."""
    now = rows.intent(writing.connection, last.id)
    if now is None or not is_undoable(writing.connection, now, kept):
        raise Conflict("that was undone already", "`wl list` shows who is there")


def _can_go_back(connection: sa.Connection, intent: Intent) -> bool:
    """Whether a reassigned agent is still where it was put, and whose it was still lives."""
    agent = rows.agent(connection, Uid(intent.data["agent"]))
    was = intent.data["was"]
    above = rows.agent(connection, Uid(was)) if was else None
    if agent is None or agent.ended_at is not None or agent.parent != intent.data["now"]:
        return False
    return was is None or (above is not None and above.ended_at is None)


def _begin_back(repo: RepoId, scope: Scope, last: Intent, key: str) -> IntentDraft:
    def prepare(writing: Writing) -> dict[str, Any]:
        was = last.data["was"]
        _require_undoable(writing, last, {})
        mark_undone(writing, last.id, key)
        return reassign(writing, Uid(last.data["agent"]), Uid(was) if was else None)

    return IntentDraft(repo, scope.caller_uid, prepare)


def _reassigned_back(work: RunningIntent) -> RestoreReply:
    agent: RestoredAgent = {
        "id": work.data["id"],
        "uid": work.data["agent"],
        "parent": work.data["parent"],
    }
    return {"restored": [agent], "failed": [], "notes": [], "undoes": "reassign"}


def _reattach(writing: Writing, child: Uid, parent: Uid) -> None:
    """Puts a child below its manager again, if it is still where the ending had put it."""
    agent, manager = rows.agent(writing.connection, child), rows.agent(writing.connection, parent)
    if agent is None or agent.ended_at is not None:
        return
    if manager is None or manager.ended_at is not None or agent.parent != manager.parent:
        return
    live = rows.agents(writing.connection, repo=agent.repo)
    with contextlib.suppress(Conflict, Denied):  # it stays where it is
        crew.check_parent(agent, manager, live=live)
        rows.change_agent(writing, child, parent=parent)
    event = AgentReassigned(id=agent.id, why=f"its manager {manager.id} is back")
    writing.emit(event, repo=agent.repo, agent=child)
