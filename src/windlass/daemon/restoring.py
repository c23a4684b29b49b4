"""Bringing back: trash restored, endings and reassignments undone.

What is restored is the agent itself where its name is free again, with its history and its
conversation; else a new agent with a name like it. Nothing that exists is ever overwritten.
"""

from __future__ import annotations

import shutil
import uuid
from typing import Any

import msgspec
import sqlalchemy as sa

from windlass.api.server import Caller
from windlass.api.wire import Scope as ScopeRequest
from windlass.api.wire import TrashRequest
from windlass.core import crew
from windlass.core.crew import Agent
from windlass.core.errors import Conflict, Denied, Internal, NotFound, UserError
from windlass.core.ids import AgentId, RepoId, Uid, agent_id
from windlass.core.states import Observation, Source, State
from windlass.daemon import finding, repos, watching
from windlass.daemon.context import Context
from windlass.daemon.finding import Scope
from windlass.daemon.intents import Begin, Intents, Operation, Step, Work
from windlass.daemon.lodging import Doors
from windlass.git import repository, trash
from windlass.git.repository import Repository
from windlass.git.trash import TrashEntry
from windlass.store import rows, tables
from windlass.store.rows import Intent
from windlass.store.store import Writing

UNDOABLE = ("end", "merge", "reassign")


class Restoring:
    """The operation `restore`, and the requests that begin it."""

    def __init__(self, context: Context, doors: Doors) -> None:
        self._context = context
        self._doors = doors

    def operation(self) -> Operation:
        """Files first, then the agent's folder, then the agent."""
        return Operation(
            kind="restore",
            steps=(
                Step("files", self._files),
                Step("folder", self._folder),
                Step("revive", self._revive),
            ),
            locks=lambda data: [Uid(one["uid"]) for one in data["agents"]],
            result=lambda work: {
                "restored": work.data["agents"],
                "notes": work.data.get("notes", []),
                "undoes": work.data.get("undoes_kind"),
            },
        )

    def begin(self, caller: Caller, request: TrashRequest) -> Begin:
        """Restores one trash entry."""
        where = finding.scope(self._context, caller, request)
        repo = where.require_repo()
        git = repos.git(repo)
        wanted = request.get("entries", [])
        if len(wanted) != 1:
            raise UserError("name one trash entry", "`wl trash list` shows them")
        entry = trash.find(git, wanted[0])
        name = agent_id(given) if (given := request.get("name")) else None

        def prepare(writing: Writing) -> dict[str, Any]:
            return {"agents": [self._plan(writing, git, repo.id, entry, name)]}

        return Begin(repo.id, _uid(where), prepare)

    def undo(self, caller: Caller, request: ScopeRequest, intents: Intents) -> dict[str, Any]:
        """Reverses the last ending or reassignment that this caller made."""
        context = self._context
        where = finding.scope(context, caller, request)
        repo = where.require_repo()
        key = request.get("key") or str(uuid.uuid4())
        last = context.store.read(
            lambda c: (
                rows.undone_by(c, key)
                or rows.last_undoable(c, repo=repo.id, kinds=UNDOABLE, caller=_uid(where))
            )
        )
        if last is None:
            raise NotFound("there is nothing to undo here", "`wl trash list` shows older work")
        if last.kind == "reassign":
            return context.store.write(lambda w: _assign_back(w, last, key))
        git = repos.git(repo)
        entries = [trash.find(git, kept["id"]) for kept in last.data.get("trash", {}).values()]

        def prepare(writing: Writing) -> dict[str, Any]:
            fresh = rows.intent(writing.connection, last.id)
            if fresh is None or fresh.undone_by is not None:
                raise Conflict("that was undone already", "`wl list` shows who is there")
            _mark(writing, last, key)
            plans = [self._plan(writing, git, repo.id, entry, None) for entry in entries]
            return {
                "agents": plans,
                "undoes": last.id,
                "undoes_kind": last.data.get("how", last.kind),
                "orphans": last.data.get("orphans", {}),
            }

        return intents.perform("restore", key, lambda: Begin(repo.id, _uid(where), prepare))

    def _plan(
        self,
        writing: Writing,
        git: Repository,
        repo: RepoId,
        entry: TrashEntry,
        name: AgentId | None,
    ) -> dict[str, Any]:
        live = rows.agents(writing.connection, repo=repo)
        taken = {a.id.lower() for a in live}
        row = entry.meta.get("row")
        was = msgspec.convert(row, Agent) if isinstance(row, dict) else None
        known = rows.agent(writing.connection, was.uid) if was else None
        again = known is not None and known.ended_at is not None and name is None
        chosen = name or AgentId(entry.agent)
        if name is not None and self._in_use(git, repo, chosen, taken):
            raise Conflict(f"the name {name!r} is in use", "choose another with --name")
        number = 2
        while self._in_use(git, repo, chosen, taken):
            again = False
            chosen = AgentId(f"{entry.agent}-{number}")
            number += 1
        uid = known.uid if known is not None and again else self._context.new_uid()
        return {
            "uid": uid,
            "from_uid": was.uid if was else None,
            "id": chosen,
            "entry": entry.id,
            "archive": f"{entry.stamp}-{entry.agent}",
            "branch": f"agent/{chosen}",
            "workspace": str(self._context.folders.workspace(repo, chosen)),
            "slot": crew.free_slot(rows.agents(writing.connection)),
        }

    def _in_use(self, git: Repository, repo: RepoId, name: AgentId, taken: set[str]) -> bool:
        return (
            name.lower() in taken
            or repository.branch_exists(git, f"agent/{name}")
            or self._context.folders.workspace(repo, name).exists()
        )

    def _files(self, work: Work) -> None:
        git = repos.git(repos.by_id(self._context, work.intent.repo))
        notes: list[str] = []
        for plan in work.data["agents"]:
            entry = trash.find(git, plan["entry"])
            done = trash.restore(
                git, entry, path=plan["workspace"], branch=plan["branch"], agent=plan["id"]
            )
            notes += [f"{plan['id']}: {note}" for note in done.notes]
        work.keep(notes=notes)

    def _folder(self, work: Work) -> None:
        for plan in work.data["agents"]:
            target = self._context.folders.agent(Uid(plan["uid"]))
            source = self._context.folders.archive / plan["archive"]
            if source.is_dir() and not target.exists():
                half = target.with_suffix(".half")
                shutil.rmtree(half, ignore_errors=True)
                half.parent.mkdir(parents=True, exist_ok=True)
                shutil.copytree(source, half, symlinks=True, ignore=_no_pipes)
                half.rename(target)
            target.mkdir(parents=True, exist_ok=True)

    def _revive(self, work: Work) -> None:
        git = repos.git(repos.by_id(self._context, work.intent.repo))

        def change(writing: Writing) -> None:
            for plan in work.data["agents"]:
                entry = trash.find(git, plan["entry"])
                _revive_row(writing, plan, entry)
            for plan in work.data["agents"]:
                _drop_dead_parent(writing, Uid(plan["uid"]))
            for child, parent in work.data.get("orphans", {}).items():
                _reattach(writing, Uid(child), Uid(parent))

        self._context.store.write(change)
        for plan in work.data["agents"]:
            self._doors.open(Uid(plan["uid"]))


def empty(context: Context, caller: Caller, request: TrashRequest) -> dict[str, Any]:
    """Deletes trash entries for good; only a person may."""
    where = finding.scope(context, caller, request)
    if where.caller is not None:
        raise Denied("agents do not empty the trash", "ask the person")
    git = repos.git(where.require_repo())
    if wanted := request.get("entries"):
        chosen = [trash.find(git, one) for one in wanted]
    else:
        chosen = trash.entries(git)
    older = request.get("older_than")
    if older is not None:
        limit = context.clock.now() - older
        chosen = [entry for entry in chosen if entry.time < limit]
    trash.empty(git, chosen)
    gone = [entry.id for entry in chosen]
    repo = where.require_repo().id
    context.store.write(lambda w: w.emit("trash.emptied", repo=repo, entries=gone))
    return {"emptied": gone}


def _revive_row(writing: Writing, plan: dict[str, Any], entry: TrashEntry) -> None:
    uid = Uid(plan["uid"])
    found = rows.agent(writing.connection, uid)
    if found is not None and found.ended_at is None:
        return
    row = entry.meta.get("row")
    if found is None and not isinstance(row, dict):
        raise Internal(f"{entry.id} does not say whose it was", "restore it with git by hand")
    was = found or msgspec.convert(row, Agent)
    agent = msgspec.structs.replace(
        was,
        uid=uid,
        id=AgentId(plan["id"]),
        branch=plan["branch"],
        workspace=plan["workspace"],
        slot=plan["slot"],
        conversation=was.conversation,
        session=was.session if found else 0,
        state=State.STOPPED,
        state_at=writing.now,
        ended_at=None,
        ended_by=None,
    )
    rows.put_agent(writing, agent)
    seen = Observation(
        source=Source.PROCESS,
        value=State.STOPPED,
        at=writing.now,
        evidence=f"restored from {entry.id}",
        session=agent.session,
    )
    watching.observe(writing, agent, seen)
    writing.emit("agent.restored", repo=agent.repo, agent=uid, id=agent.id, entry=entry.id)


def _drop_dead_parent(writing: Writing, uid: Uid) -> None:
    agent = rows.agent(writing.connection, uid)
    if agent is None or agent.parent is None:
        return
    above = rows.agent(writing.connection, agent.parent)
    if above is None or above.ended_at is not None:
        rows.put_agent(writing, msgspec.structs.replace(agent, parent=None))


def _reattach(writing: Writing, child: Uid, parent: Uid) -> None:
    found, above = rows.agent(writing.connection, child), rows.agent(writing.connection, parent)
    if found is None or above is None or found.ended_at is not None or above.ended_at is not None:
        return
    rows.put_agent(writing, msgspec.structs.replace(found, parent=parent))
    writing.emit(
        "agent.reassigned",
        repo=found.repo,
        agent=child,
        id=found.id,
        why=f"its manager {above.id} is back",
    )


def _assign_back(writing: Writing, last: Intent, key: str) -> dict[str, Any]:
    agent = rows.agent(writing.connection, Uid(last.data["agent"]))
    if agent is None or agent.ended_at is not None:
        raise Conflict("the reassigned agent has ended meanwhile", "`wl trash list` has its work")
    was = last.data["was"]
    above = rows.agent(writing.connection, Uid(was)) if was else None
    if was and (above is None or above.ended_at is not None):
        raise Conflict("its former manager has ended", "name another: wl reassign AGENT MANAGER")
    rows.put_agent(writing, msgspec.structs.replace(agent, parent=Uid(was) if was else None))
    writing.emit("agent.reassigned", repo=agent.repo, agent=agent.uid, id=agent.id, why="undone")
    _mark(writing, last, key)
    restored = [{"id": agent.id, "uid": agent.uid, "parent": above.id if above else None}]
    return {"restored": restored, "notes": [], "undoes": "reassign"}


def _mark(writing: Writing, undone: Intent, key: str) -> None:
    where = tables.intents.c.id == undone.id
    writing.connection.execute(sa.update(tables.intents).where(where).values(undone_by=key))


def _no_pipes(folder: str, names: list[str]) -> list[str]:
    """A headless session's pipe would block the copy; it is of no use without its session."""
    del folder
    return [name for name in names if name == "stdin"]


def _uid(where: Scope) -> Uid | None:
    return where.caller.uid if where.caller else None
