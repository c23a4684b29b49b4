"""Bringing back: trash restored, endings and reassignments undone.

What is restored is the agent itself where its name is free again, with its history and its
conversation; else a new agent with a name like it. Nothing that exists is ever overwritten.
"""

from __future__ import annotations

import os
import shutil
import stat
import uuid
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple, cast

import msgspec
import sqlalchemy as sa

from windlass.api.verbs import Caller
from windlass.api.wire.agents import RestoredAgent, RestoreReply
from windlass.api.wire.request import AnyRequest
from windlass.api.wire.trash import EmptyReply, TrashRequest
from windlass.core import crew, shapes
from windlass.core.crew import Agent
from windlass.core.errors import Conflict, Internal, NotFound, UserError
from windlass.core.events import AgentReassigned, AgentRestored, TrashEmptied
from windlass.core.ids import AgentId, RepoId, Uid, agent_id
from windlass.core.reasons import Reason
from windlass.core.states import Observation, Source, State
from windlass.daemon.agents.pause_resume import reassign
from windlass.daemon.agents.session_life import AgentSockets
from windlass.daemon.kernel import lookup, repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import IntentDraft, Intents, Operation, RunningIntent, Step
from windlass.daemon.kernel.lookup import Scope
from windlass.daemon.kernel.requests import own_key
from windlass.daemon.launch import clones
from windlass.daemon.mail import notices, receipts
from windlass.daemon.states import observations
from windlass.git import trash
from windlass.git.trash import TrashEntry
from windlass.store import rows, tables
from windlass.store.rows import Intent
from windlass.store.store import Writing

UNDOABLE = ("end", "merge", "reassign")


class Restores:
    """The operation `restore`, and the requests that begin it.

    The agent's row is alive again from the first transaction on, which reserves its name and slot;
    if the rest fails, it ends as it had.
    """

    def __init__(self, context: Context, doors: AgentSockets) -> None:
        self._context = context
        self._doors = doors

    def operations(self) -> tuple[Operation, ...]:
        """Of an ending: files, the agent's folder, its sockets. Of a reassignment: none."""
        return self._restore(), Operation("reassign-undo", (), lambda _: [], _reassigned_back)

    def _restore(self) -> Operation:
        return Operation(
            kind="restore",
            steps=(
                Step("files", self._files, self._give_up),
                Step("folder", self._folder),
                Step("open", self._open),
            ),
            locks=lambda data: [Uid(plan["uid"]) for plan in data["agents"]],
            result=_restored,
        )

    def begin(self, caller: Caller, request: TrashRequest) -> IntentDraft:
        """Restores one trash entry."""
        scope = lookup.scope(self._context, caller, request)
        repo = scope.require_repo()
        git = repos.git(repo)
        wanted = request.get("entries", [])
        if len(wanted) != 1:
            raise UserError("name one trash entry", "`wl trash list` shows them")
        entry = trash.find(git, wanted[0])
        name = agent_id(wanted_name) if (wanted_name := request.get("name")) else None
        taken = repos.agent_branches(git)

        def prepare(writing: Writing) -> dict[str, Any]:
            lost = _Lost(_row_of(entry), entry)
            return {"agents": [self._reserve(writing, lost, taken, name)]}

        return IntentDraft(repo.id, scope.caller_uid, prepare)

    def undo(self, intents: Intents, caller: Caller, request: AnyRequest) -> RestoreReply:
        """Reverses the last ending or reassignment of this caller that can be reversed."""
        scope = lookup.scope(self._context, caller, request)
        repo = scope.require_repo()
        kept = {entry.id: entry for entry in trash.entries(repos.git(repo))}
        key = own_key(caller, request) or str(uuid.uuid4())
        last = self._context.store.read(
            lambda c: _last_undoable(c, repo.id, scope.caller_uid, kept)
        )
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

        return cast("RestoreReply", intents.perform("restore", key, begin))

    def _take_back(
        self,
        writing: Writing,
        last: Intent,
        key: str,
        kept: Mapping[str, TrashEntry],
        taken: set[str],
    ) -> dict[str, Any]:
        lost = _lost(writing.connection, last, kept)
        if not lost:
            raise Conflict("that was undone already", "`wl list` shows who is there")
        _mark(writing, last.id, key)
        plans = [self._reserve(writing, agent, taken, None) for agent in lost]
        for child, parent in last.data.get("orphans", {}).items():
            _reattach(writing, Uid(child), Uid(parent))
        for plan in plans:
            _drop_dead_parent(writing, Uid(plan["uid"]))
        return {"agents": plans, "undoes": last.id, "how": last.data["how"]}

    def _reserve(
        self, writing: Writing, lost: _Lost, taken: set[str], name: AgentId | None
    ) -> dict[str, Any]:
        """Brings the agent's row back to life, under its own name where that is free."""
        known = rows.agent(writing.connection, lost.row.uid)
        was = known if known is not None and known.ended_at is not None else lost.row
        live = rows.agents(writing.connection, repo=was.repo)
        busy = {a.id.lower() for a in live} | {branch.lower() for branch in taken}
        if was.branch is None:
            busy = {a.id.lower() for a in live}
        chosen = name or was.id
        if name is not None and self._in_use(was.repo, chosen, busy):
            raise Conflict(f"the name {name!r} is in use", "choose another with --name")
        number = 2
        while self._in_use(was.repo, chosen, busy):
            chosen = AgentId(f"{was.id}-{number}")
            number += 1
        again = was is known and chosen == was.id
        own = was.branch is not None
        workspace = self._context.folders.workspace(was.repo, chosen)
        alive: dict[str, Any] = {
            "id": chosen,
            "branch": f"agent/{chosen}" if own else None,
            "workspace": str(workspace) if own else was.workspace,
            "slot": crew.free_slot(rows.agents(writing.connection)),
            "archive": None,
            "state": State.STOPPED,
            "state_at": writing.now,
            "ended_at": None,
            "ended_by": None,
        }
        if again:
            agent = rows.change_agent(writing, was.uid, **alive)
        else:
            new = {"uid": self._context.new_uid(), "conversation": str(uuid.uuid4()), "session": 0}
            agent = msgspec.structs.replace(was, **alive, **new)
            rows.add_agent(writing, agent)
        _drop_dead_parent(writing, agent.uid)
        source = lost.entry.id if lost.entry else "its ending"
        seen = Observation(
            source=Source.PROCESS,
            value=State.STOPPED,
            at=writing.now,
            reason=Reason(kind="restored", text=source),
            session=agent.session,
        )
        observations.observe(writing, agent, seen)
        restored = AgentRestored(id=agent.id, entry=source)
        writing.emit(restored, repo=agent.repo, agent=agent.uid)
        return {
            "uid": agent.uid,
            "id": chosen,
            "entry": lost.entry.id if lost.entry else None,
            "archive": was.archive or _archive_of(lost),
            "branch": agent.branch,
            "workspace": agent.workspace,
            "was": {"ended_at": was.ended_at or writing.now, "ended_by": was.ended_by or "restore"},
        }

    def _in_use(self, repo: RepoId, name: AgentId, busy: set[str]) -> bool:
        return name.lower() in busy or self._context.folders.workspace(repo, name).exists()

    def _files(self, work: RunningIntent) -> None:
        git = repos.git(repos.by_id(self._context, work.intent.repo))
        notes: list[str] = []
        for plan in work.data["agents"]:
            if plan["entry"] is None:
                continue
            entry = trash.find(git, plan["entry"])
            agent = self._context.store.read(partial(rows.agent, uid=Uid(plan["uid"])))
            done = trash.restore(
                git,
                entry,
                path=plan["workspace"],
                branch=plan["branch"],
                agent=plan["id"],
                origin=clones.refreshed_mirror(self._context, agent) if agent else None,
            )
            notes += [f"{plan['id']}: {note}" for note in done.notes]
        work.keep(notes=notes)

    def _folder(self, work: RunningIntent) -> None:
        for plan in work.data["agents"]:
            target = self._context.folders.agent(Uid(plan["uid"]))
            source = self._context.folders.archive / (plan["archive"] or "none")
            if source.is_dir() and not target.exists():
                half = target.with_suffix(".half")
                shutil.rmtree(half, ignore_errors=True)
                half.parent.mkdir(parents=True, exist_ok=True)
                shutil.copytree(source, half, symlinks=True, ignore=_no_pipes)
                half.rename(target)
            target.mkdir(parents=True, exist_ok=True)

    def _open(self, work: RunningIntent) -> None:
        for plan in work.data["agents"]:
            self._doors.open(Uid(plan["uid"]))
            self._context.store.write(partial(_bring_back_mail, plan=plan))

    def _give_up(self, work: RunningIntent) -> None:
        """Ends again what could not be brought back; the trash still has it, and so has undo."""

        def change(writing: Writing) -> None:
            for plan in work.data["agents"]:
                uid = Uid(plan["uid"])
                if rows.agent(writing.connection, uid) is not None:
                    rows.change_agent(writing, uid, archive=plan["archive"], **plan["was"])
            if "undoes" in work.data:
                _mark(writing, work.data["undoes"], None)

        self._context.store.write(change)


def _bring_back_mail(writing: Writing, *, plan: Mapping[str, Any]) -> None:
    """What was given up when an agent ended waits again; what it asked is news again."""
    agent = rows.agent(writing.connection, Uid(plan["uid"]))
    if agent is not None:
        for message in receipts.revive_mail_of(writing, agent, plan["was"]["ended_at"]):
            notices.on_message(writing, message)


class _Lost(NamedTuple):
    """An ended agent that can come back: its row, and its work where it had a workspace."""

    row: Agent
    entry: TrashEntry | None


def _row_of(entry: TrashEntry) -> Agent:
    row = entry.meta.get("row")
    if not isinstance(row, dict):
        raise Internal(f"{entry.id} does not say whose it was", "restore it with git by hand")
    return shapes.convert(row, Agent)


def _archive_of(lost: _Lost) -> str | None:
    return f"{lost.entry.stamp}-{lost.entry.agent}" if lost.entry else None


def _last_undoable(
    connection: sa.Connection, repo: RepoId, caller: Uid | None, kept: Mapping[str, TrashEntry]
) -> Intent | None:
    """The newest that still has something to reverse; what has not is passed over."""
    for intent in rows.undoable(connection, repo=repo, kinds=UNDOABLE, caller=caller):
        if intent.kind == "reassign":
            if _can_go_back(connection, intent):
                return intent
        elif _lost(connection, intent, kept):
            return intent
    return None


def has_trash(connection: sa.Connection, ending: Intent, kept: Mapping[str, TrashEntry]) -> bool:
    """Whether the trash still holds the work of somebody whom an ending ended."""
    return any(lost.entry is not None for lost in _lost(connection, ending, kept))


def _lost(connection: sa.Connection, ending: Intent, kept: Mapping[str, TrashEntry]) -> list[_Lost]:
    """Whom an ending really ended and nobody brought back yet, as far as they can be."""
    lost = []
    for uid in ending.data.get("closed", []):
        row = rows.agent(connection, Uid(uid))
        if row is None or row.ended_at is None:
            continue
        salvaged = ending.data.get("trash", {}).get(uid)
        if salvaged is None and row.branch is None:
            lost.append(_Lost(row, None))
        elif salvaged is not None and salvaged["id"] in kept:
            lost.append(_Lost(row, kept[salvaged["id"]]))
    return lost


def _restored(work: RunningIntent) -> RestoreReply:
    return {
        "restored": work.data["agents"],
        "notes": work.data.get("notes", []),
        "undoes": work.data.get("how"),
    }


def _reassigned_back(work: RunningIntent) -> RestoreReply:
    agent: RestoredAgent = {
        "id": work.data["id"],
        "uid": work.data["agent"],
        "parent": work.data["parent"],
    }
    return {"restored": [agent], "notes": [], "undoes": "reassign"}


def _can_go_back(connection: sa.Connection, intent: Intent) -> bool:
    agent = rows.agent(connection, Uid(intent.data["agent"]))
    was = intent.data["was"]
    above = rows.agent(connection, Uid(was)) if was else None
    if agent is None or agent.ended_at is not None or agent.parent != intent.data["now"]:
        return False
    return was is None or (above is not None and above.ended_at is None)


def _begin_back(repo: RepoId, scope: Scope, last: Intent, key: str) -> IntentDraft:
    def prepare(writing: Writing) -> dict[str, Any]:
        was = last.data["was"]
        _mark(writing, last.id, key)
        return reassign(writing, Uid(last.data["agent"]), Uid(was) if was else None)

    return IntentDraft(repo, scope.caller_uid, prepare)


def empty(context: Context, caller: Caller, request: TrashRequest) -> EmptyReply:
    """Deletes trash entries for good."""
    scope = lookup.scope(context, caller, request)
    git = repos.git(scope.require_repo())
    if wanted := request.get("entries"):
        chosen = [trash.find(git, name) for name in wanted]
    else:
        chosen = trash.entries(git)
    older = request.get("older_than")
    if older is not None:
        limit = context.clock.now() - older
        chosen = [entry for entry in chosen if entry.time < limit]
    trash.empty(git, chosen)
    gone = [entry.id for entry in chosen]
    repo = scope.require_repo().id
    context.store.write(lambda w: w.emit(TrashEmptied(entries=gone), repo=repo))
    return {"emptied": gone}


def _drop_dead_parent(writing: Writing, uid: Uid) -> None:
    agent = rows.agent(writing.connection, uid)
    if agent is None or agent.parent is None:
        return
    above = rows.agent(writing.connection, agent.parent)
    if above is None or above.ended_at is not None:
        rows.change_agent(writing, uid, parent=None)


def _reattach(writing: Writing, child: Uid, parent: Uid) -> None:
    agent, manager = rows.agent(writing.connection, child), rows.agent(writing.connection, parent)
    if (
        agent is None
        or manager is None
        or agent.ended_at is not None
        or manager.ended_at is not None
    ):
        return
    rows.change_agent(writing, child, parent=parent)
    event = AgentReassigned(id=agent.id, why=f"its manager {manager.id} is back")
    writing.emit(event, repo=agent.repo, agent=child)


def _mark(writing: Writing, undone: str, key: str | None) -> None:
    condition = tables.intents.c.id == undone
    writing.connection.execute(sa.update(tables.intents).where(condition).values(undone_by=key))


def _no_pipes(folder: str, names: list[str]) -> list[str]:
    """Pipes would block the copy, sockets break it; they are of no use without who made them."""
    kept = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)
    modes = {name: os.lstat(os.path.join(folder, name)).st_mode for name in names}  # noqa: PTH118
    return [name for name, mode in modes.items() if not any(kind(mode) for kind in kept)]
