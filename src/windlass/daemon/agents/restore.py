"""`wl trash restore`: an ended agent is brought back with its work; `wl undo` begins with it, too.

What is restored is the agent itself where its name is free again, with its history and its
conversation; else a new agent with a name like it. Nothing that exists is ever overwritten.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from windlass.api.verbs import Caller
from windlass.api.wire.agents import RestoreReply
from windlass.api.wire.trash import TrashRequest
from windlass.core import crew, ids, shapes
from windlass.core.crew import Agent
from windlass.core.errors import Conflict, Internal, NotFound, UserError
from windlass.core.events import AgentRestored
from windlass.core.ids import AgentId, RepoId, Uid, agent_id
from windlass.core.printable import printable_line
from windlass.core.reasons import Reason
from windlass.core.states import Observation, Source, State
from windlass.daemon.agents import endings
from windlass.daemon.agents.session_life import AgentSockets
from windlass.daemon.gate.agent_layers import AgentLayers
from windlass.daemon.kernel import folder_copy, lookup, repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.launch import boxes, clones
from windlass.daemon.mail import notices, receipts
from windlass.daemon.states import observations
from windlass.git import trash
from windlass.git.erasure import erase
from windlass.git.trash import TrashEntry
from windlass.store import rows, tables
from windlass.store.store import Writing

Plan = Mapping[str, Any]
"""What is to come back of one agent, and as what."""


class Restores:
    """The operation `restore`, and the request that begins it.

    The agent's row is alive again from the first transaction on, which reserves its name and slot;
    if the rest fails, it ends as it had.
    """

    def __init__(self, context: Context, sockets: AgentSockets, agent_layers: AgentLayers) -> None:
        self._context = context
        self._sockets = sockets
        self._agent_layers = agent_layers

    def operation(self) -> Operation:
        """The steps of a restoration: the agent's files, its folder, the gate's, its sockets."""
        return Operation(
            kind="restore",
            steps=(
                Step("files", self._files, self._give_up),
                Step("folder", self._folder),
                Step("dependencies", self._dependencies),
                Step("open", self._open),
            ),
            locks=lambda data: [Uid(plan["uid"]) for plan in data["agents"]],
            result=_restored,
            unsaid=endings.UNSAID,
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
            lost = LostAgent(row_of(entry), entry)
            return {"agents": [self.reserve(writing, lost, taken, name)]}

        return IntentDraft(repo.id, scope.caller_uid, prepare)

    def reserve(
        self, writing: Writing, lost: LostAgent, taken: set[str], name: AgentId | None
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
            chosen = ids.numbered(was.id, number)
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
        drop_dead_parent(writing, agent.uid)
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
        self._with_each(work, self._put_back)

    def _folder(self, work: RunningIntent) -> None:
        self._with_each(work, self._copy_folder)

    def _dependencies(self, work: RunningIntent) -> None:
        self._with_each(work, self._lend)

    def _with_each(
        self, work: RunningIntent, do: Callable[[RunningIntent, Plan], list[str]]
    ) -> None:
        """Does it with each agent; one of several with which it fails is gone again from then on.

        Keeps what is not as it was.
        """
        notes: list[str] = []
        for plan in _not_failed(work):
            try:
                notes += [f"{plan['id']}: {note}" for note in do(work, plan)]
            except Exception as error:
                if len(work.data["agents"]) == 1:
                    raise
                self._take_away(work, plan)
                failed = endings.with_failure(work.data, plan["uid"], plan["id"], error)
                work.with_next_record(partial(_end_again, data=work.data, plans=[plan]))
                work.keep(failed=failed)
        work.keep(notes=[*work.data.get("notes", []), *notes])

    def _put_back(self, work: RunningIntent, plan: Plan) -> list[str]:
        """Brings back the work of one agent; gives what is not as it was."""
        notes: list[str] = []
        if plan["entry"] is not None:
            git = repos.git(repos.by_id(self._context, work.intent.repo))
            entry = trash.find(git, plan["entry"])
            agent = self._context.store.read(partial(rows.agent, uid=Uid(plan["uid"])))
            notes = trash.restore(
                git,
                entry,
                path=plan["workspace"],
                branch=plan["branch"],
                agent=plan["id"],
                origin=clones.refreshed_mirror(self._context, agent) if agent else None,
                box=boxes.filling(self._context, agent) if agent else None,
            ).notes
        return notes

    def _copy_folder(self, _: RunningIntent, plan: Plan) -> list[str]:
        """Brings back the folder of one agent; gives what of it could not be read."""
        target, half, source = self._folders_of(plan)
        missing: list[str] = []
        if source.is_dir() and not target.exists():
            erase(str(half))
            half.parent.mkdir(parents=True, exist_ok=True)
            missing = folder_copy.copy(str(source), str(half))
            half.rename(target)
        target.mkdir(parents=True, exist_ok=True)
        return [f"{path} is in its archive alone" for path in missing]

    def _lend(self, work: RunningIntent, plan: Plan) -> list[str]:
        """Gives an agent what the gate's checks need, as a new one has it; says what it lacks."""
        agent = self._context.store.read(partial(rows.agent, uid=Uid(plan["uid"])))
        if agent is None or agent.branch is None or agent.isolation != "box":
            return []
        repo = repos.by_id(self._context, work.intent.repo)
        usable = settings.usable(self._context.folders.home, repo.root)
        timeout = usable.at(agent.isolation).workspace.timeout
        why = self._agent_layers.lend_again(agent, repo, timeout=timeout)
        return [printable_line(why)] if why else []

    def _folders_of(self, plan: Plan) -> tuple[Path, Path, Path]:
        """Where an agent's folder comes back, where it is made before that, and from what."""
        target = self._context.folders.agent(Uid(plan["uid"]))
        source = self._context.folders.archive / (plan["archive"] or "none")
        return target, target.with_suffix(".half"), source

    def _open(self, work: RunningIntent) -> None:
        for plan in _not_failed(work):
            self._sockets.open(Uid(plan["uid"]))
            self._context.store.write(partial(_bring_back_mail, plan=plan))

    def _give_up(self, work: RunningIntent) -> None:
        """Ends again what could not be brought back; the trash still has it, and so has undo."""
        work.with_next_record(partial(_end_again, data=work.data, plans=work.data["agents"]))
        for plan in _not_failed(work):
            self._take_away(work, plan)

    def _take_away(self, work: RunningIntent, plan: Plan) -> None:
        """Takes away all that came back of an agent, as far as it is in trash and archive."""
        self._sockets.close(Uid(plan["uid"]))
        target, half, source = self._folders_of(plan)
        erase(str(half))
        if source.is_dir():
            erase(str(target))
        if plan["entry"] is None:
            return
        git = repos.git(repos.by_id(self._context, work.intent.repo))
        with contextlib.suppress(NotFound):  # then what came back is all that there is
            entry = trash.find(git, plan["entry"])
            trash.take_back(
                git, entry, path=plan["workspace"], branch=plan["branch"], agent=plan["id"]
            )


def _end_again(
    writing: Writing, *, data: Mapping[str, Any], plans: list[Mapping[str, Any]]
) -> None:
    """Has agents be ended as they were, and what ended them be there to be undone."""
    for plan in plans:
        uid = Uid(plan["uid"])
        if rows.agent(writing.connection, uid) is not None:
            rows.change_agent(writing, uid, archive=plan["archive"], **plan["was"])
    if "undoes" in data:
        mark_undone(writing, data["undoes"], None)


def _not_failed(work: RunningIntent) -> list[Any]:
    """The plans of the agents that come back, as far as is known by now."""
    failed = work.data.get("failed", {})
    return [plan for plan in work.data["agents"] if plan["uid"] not in failed]


def _bring_back_mail(writing: Writing, *, plan: Mapping[str, Any]) -> None:
    """What was given up when an agent ended waits again; what it asked is news again."""
    agent = rows.agent(writing.connection, Uid(plan["uid"]))
    if agent is not None:
        for message in receipts.revive_mail_of(writing, agent, plan["was"]["ended_at"]):
            notices.on_message(writing, message)


class LostAgent(NamedTuple):
    """An ended agent that can come back: its row, and its work where it had a workspace."""

    row: Agent
    entry: TrashEntry | None


def row_of(entry: TrashEntry) -> Agent:
    """The agent whose work a salvage is, as it was then."""
    row = entry.meta.get("row")
    if not isinstance(row, dict):
        raise Internal(f"{entry.id} does not say whose it was", "restore it with git by hand")
    return shapes.convert(row, Agent)


def _archive_of(lost: LostAgent) -> str | None:
    return f"{lost.entry.stamp}-{lost.entry.agent}" if lost.entry else None


def _restored(work: RunningIntent) -> RestoreReply:
    return {
        "restored": _not_failed(work),
        "failed": list(work.data.get("failed", {}).values()),
        "notes": work.data.get("notes", []),
        "undoes": work.data.get("how"),
    }


def drop_dead_parent(writing: Writing, uid: Uid) -> None:
    """Makes an agent a root if its parent has ended."""
    agent = rows.agent(writing.connection, uid)
    if agent is None or agent.parent is None:
        return
    above = rows.agent(writing.connection, agent.parent)
    if above is None or above.ended_at is not None:
        rows.change_agent(writing, uid, parent=None)


def mark_undone(writing: Writing, undone: str, key: str | None) -> None:
    """Records which intent undid another; None where it is to be undone again."""
    condition = tables.intents.c.id == undone
    writing.connection.execute(sa.update(tables.intents).where(condition).values(undone_by=key))
