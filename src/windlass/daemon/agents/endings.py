"""How agents end: stop, salvage, archive, remove. In that order: nothing goes before it is kept.

Every ending goes through here: kill, nuke, a merge, a spawn that failed. If salvage fails, nothing
is removed. Where several end together, each ends by itself: the reply says with which of them it
failed, and these stay as they are.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

import msgspec

from windlass.api.verbs import Caller
from windlass.api.wire.agents import EndedAgent, EndReply, EndRequest, FailedAgent
from windlass.core import crew, ids
from windlass.core.crew import Agent
from windlass.core.errors import Conflict, Denied, NotFound, UserError, WindlassError
from windlass.core.events import AgentEnded, AgentEnding, AgentReassigned
from windlass.core.ids import RepoId, Uid
from windlass.daemon.agents import ending_settings, lost_work
from windlass.daemon.agents.ending_settings import EndingSettings, stamp
from windlass.daemon.agents.removal import Removals
from windlass.daemon.agents.session_life import AgentSockets, SessionLife
from windlass.daemon.kernel import intent_errors, lookup, repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.lookup import Scope
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.launch import beside, boxes, project_commands
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.mail import notices, receipts
from windlass.git import open_flags, repository
from windlass.git.erasure import erase
from windlass.store import event_lines, rows
from windlass.store.rows import Repo
from windlass.store.store import Writing

ARCHIVED_EVENTS = 50_000
"""Events of an agent that its archive has a copy of, the last ones: all of them are in the log, and
stay there for longer. More would take an ending as long as the agent was busy."""
UNSAID: Mapping[str, Any] = {"failed": [], "notes": []}
"""What replies mean that an older release kept, which had neither."""


class Endings:
    """The operation `end`, its steps for others to use, and the request that begins it."""

    def __init__(
        self,
        context: Context,
        sockets: AgentSockets,
        fetcher: CommitFetcher,
        life: SessionLife,
        removals: Removals,
    ) -> None:
        self._context = context
        self._sockets = sockets
        self._fetcher = fetcher
        self._life = life
        self._removals = removals

    def steps(self) -> tuple[Step, ...]:
        """The steps that end every agent named in `data["agents"]`."""
        return (
            Step("stop", self.stop),
            Step("salvage", self._salvage),
            Step("remove", self._remove),
            Step("archive", self._archive),
            Step("close", self._close),
        )

    def operation(self) -> Operation:
        """The operation behind `kill` and `nuke`."""
        steps, result = self.steps(), self.result
        return Operation("end", steps, uids_of, result, stops=uids_of, ends=True, unsaid=UNSAID)

    def begin(self, caller: Caller, request: EndRequest) -> IntentDraft:
        """Finds who is meant, and refuses what the caller may not end."""
        context = self._context
        scope = lookup.scope(context, caller, request)
        live = lookup.live(context, scope)
        cwd = request.get("cwd", "")
        chosen = [_found(context, scope, wanted, cwd) for wanted in request["agents"]]
        for wanted, agent in zip(request["agents"], chosen, strict=True):
            ids.require_long(wanted, agent.id)
        if request.get("tree") and not chosen:
            scope.require_repo()
            chosen = crew.below(scope.caller, live) if scope.caller else list(live)
        elif request.get("tree"):
            chosen = [*chosen, *(a for top in chosen for a in crew.below(top, live))]
        elif not chosen:
            raise UserError("which agent?", "name one; `wl list` shows who is there")
        chosen = list({agent.uid: agent for agent in chosen}.values())
        for agent in chosen:
            lookup.require_reachable(scope, agent, live, doing="end")
        if scope.caller is not None and not request.get("force"):
            raise Denied("an agent must say --force to end agents", "add --force if you mean it")
        for agent in chosen:
            if agent.session == 0:
                project_commands.interrupt_setup(self._context, agent)
        beside.interrupt_changes(self._context, chosen)
        how = "nuke" if request.get("tree") else "kill"
        by = scope.caller.id if scope.caller else "the person"
        configured, notes = ending_settings.of_repos(self._context, chosen)

        def prepare(writing: Writing) -> dict[str, Any]:
            data = record(chosen, configured, how=how, by=by, now=writing.now)
            return {**data, "notes": notes}

        repo = chosen[0].repo if chosen else scope.require_repo().id
        return IntentDraft(repo, scope.caller_uid, prepare)

    def stop(self, work: RunningIntent) -> None:
        """Tells that it begins, and stops all that runs in workspaces, to the last process."""
        live = [agent for agent, _ in self._live(work)]
        if not work.data.get("told"):
            self._context.store.write(lambda w: _tell(w, work, live))
        if len(live) > 1:
            self._life.halt(live)
        self._with_each(work, lambda _, agent, __: self._stop(agent))

    def _stop(self, agent: Agent) -> None:
        """Stops a session and what Windlass started beside it: none of it writes any more."""
        self._life.stop(agent)
        boxes.close(self._context, agent)
        beside.end(self._context, [agent])

    def _with_each(
        self, work: RunningIntent, do: Callable[[RunningIntent, Agent, Repo], None]
    ) -> None:
        """Does it with each agent, some at a time.

        One of several with which it fails is left out from then on.
        """
        live = self._live(work)
        if len(work.data["agents"]) == 1:
            for agent, repo in live:
                do(work, agent, repo)
            return
        each = [(work.beside(), agent, repo) for agent, repo in live]
        # An ending may take as long as a teardown: the person's wait behind no agent's.
        if work.intent.caller is None:
            done = self._context.pools.each("crew", do, each)
            errors = [one.exception() for one in done]
        else:
            errors = [_error(do, *one) for one in each]
        for (own, agent, _), error in zip(each, errors, strict=True):
            work.join(own)
            if isinstance(error, Exception):
                work.keep(failed=with_failure(work.data, agent.uid, agent.id, error))
            elif error is not None:
                raise error

    def _salvage(self, work: RunningIntent) -> None:
        def salvage_one(work: RunningIntent, agent: Agent, repo: Repo) -> None:
            stamp, how = work.data["stamp"], work.data["how"]
            if agent.uid in work.data.get("trash", {}):
                return
            if not self._removals.is_aside(agent, stamp):
                if not has_work(agent, repo):
                    return
                self._tear_down(work, agent, repo)
            kept = self._removals.keep(work, agent, repo, stamp=stamp, how=how)
            work.keep_entry("trash", agent.uid, kept)

        self._with_each(work, salvage_one)

    def _tear_down(self, work: RunningIntent, agent: Agent, repo: Repo) -> None:
        """Runs the project's own command for an end, where there is one, once."""
        commands = ending_settings.commands(work, agent, repo)
        if commands.teardown and agent.uid not in work.data.get("torn_down", []):
            project_commands.teardown(work, agent, repo, commands)
            work.amend(lambda data: {"torn_down": [*data.get("torn_down", []), agent.uid]})

    def _remove(self, work: RunningIntent) -> None:
        def remove_one(work: RunningIntent, agent: Agent, repo: Repo) -> None:
            if agent.branch is None or repos.is_gone(repo):
                return
            try:
                with self._fetcher.halted(agent):
                    self._removals.remove(work, agent, repo, stamp=work.data["stamp"])
            except WindlassError as error:
                kept = work.data.get("trash", {}).get(agent.uid)
                also = f"; its work is also kept as {kept['id']}" if kept else ""
                raise type(error)(error.message, f"{error.hint}{also}") from error

        self._with_each(work, remove_one)

    def _archive(self, work: RunningIntent) -> None:
        def archive_one(work: RunningIntent, agent: Agent, repo: Repo) -> None:
            folder = archive(self._context, agent, stamp=work.data["stamp"], how=work.data["how"])
            if repos.is_gone(repo) and (kept := keep_orphaned(agent, folder)) is not None:
                work.keep_entry("archived", agent.uid, str(kept))

        self._with_each(work, archive_one)

    def _close(self, work: RunningIntent) -> None:
        live = [agent for agent, _ in self._live(work)]
        ending = {**work.data, "agents": _not_failed(work.data)}

        def change(writing: Writing) -> None:
            orphans = dict(work.data.get("orphans", {}))
            for agent in live:
                orphans |= close(writing, agent, ending)
            closed = [*work.data.get("closed", []), *(agent.uid for agent in live)]
            work.keep_in(writing, orphans=orphans, closed=closed)

        self._context.store.write(change)
        for agent in live:
            self._sockets.close(agent.uid)
            boxes.forget(self._context, agent)

    def dismantle(self, work: RunningIntent, agent: Agent, repo: Repo, *, how: str) -> None:
        """Takes down an agent that never came to be, in the same order as every ending."""
        if agent.ended_at is not None:
            return
        context = self._context
        if "stamp" not in work.data:  # kept, so that what is salvaged twice is kept once
            work.keep(stamp=stamp(context.clock.now()))
        moment = work.data["stamp"]
        self._stop(agent)
        if "trash" not in work.data and has_work(agent, repo):
            kept = self._removals.keep(work, agent, repo, stamp=moment, how=how)
            work.keep(trash={agent.uid: kept})
        if agent.branch is not None:
            self._removals.remove(work, agent, repo, stamp=moment)
        archive(context, agent, stamp=moment, how=how)
        ending = {"how": how, "by": "windlass", "stamp": moment, "agents": {agent.uid: agent.id}}
        work.with_next_record(lambda w: close(w, agent, ending))
        self._sockets.close(agent.uid)

    def result(self, work: RunningIntent) -> EndReply:
        """Who ended, where their work is, and who could not be ended."""
        ended: list[EndedAgent] = []
        for uid, name in _not_failed(work.data).items():
            kept = work.data.get("trash", {}).get(uid)
            archived = work.data.get("archived", {}).get(uid)
            late = work.data.get("late", {}).get(uid, [])
            ended.append(
                {"id": name, "uid": uid, "trash": kept, "late": late, "archived": archived}
            )
        orphans = list(work.data.get("orphans", {}))
        return {
            "ended": ended,
            "failed": list(work.data.get("failed", {}).values()),
            "orphans": orphans,
            "notes": work.data.get("notes", []),
        }

    def _live(self, work: RunningIntent) -> list[tuple[Agent, Repo]]:
        live = []
        for uid in map(Uid, _not_failed(work.data)):
            agent = self._context.store.read(partial(rows.agent, uid=uid))
            if agent is not None and agent.ended_at is None:
                live.append((agent, repos.by_id(self._context, agent.repo)))
        return live


def _error(
    do: Callable[[RunningIntent, Agent, Repo], None], work: RunningIntent, agent: Agent, repo: Repo
) -> Exception | None:
    try:
        do(work, agent, repo)
    except Exception as error:  # noqa: BLE001 - it is recorded with the agent that it is about
        return error
    return None


def _found(context: Context, scope: Scope, wanted: str, cwd: str) -> Agent:
    """Finds whom to end; of whom this state folder does not know it says where the work is."""
    try:
        return lookup.agent(context, scope, wanted)
    except NotFound as error:
        known = lost_work.hint(cwd, wanted) if scope.caller is None else ""
        if not known:
            raise
        raise NotFound(error.message, known) from error


def uids_of(data: Any) -> list[Uid]:
    """The agents that an ending is about."""
    return [Uid(uid) for uid in data["agents"]]


def with_failure(
    data: Mapping[str, Any], uid: str, name: str, error: Exception
) -> dict[str, FailedAgent]:
    """The failures that an intent knows, and one more."""
    why = error if isinstance(error, WindlassError) else intent_errors.defect(name, error)
    failure = FailedAgent(id=name, uid=uid, kind=why.kind, message=why.message, hint=why.hint)
    return {**data.get("failed", {}), uid: failure}


def _not_failed(data: Mapping[str, Any]) -> dict[str, str]:
    """The agents with which nothing has failed yet, with their names."""
    failed = data.get("failed", {})
    return {uid: name for uid, name in data["agents"].items() if uid not in failed}


def record(
    agents: list[Agent],
    configured: Mapping[RepoId, EndingSettings],
    *,
    how: str,
    by: str,
    now: float,
) -> dict[str, Any]:
    """What the intent of an ending holds from the start."""
    return {
        "settings": msgspec.to_builtins(configured),
        "agents": {agent.uid: agent.id for agent in agents},
        "how": how,
        "by": by,
        "stamp": stamp(now),
    }


def _tell(writing: Writing, work: RunningIntent, agents: list[Agent]) -> None:
    """Tells once that agents are ending: not before all is checked that could stand against it."""
    for agent in agents:
        event = AgentEnding(id=agent.id, how=work.data["how"], by=work.data["by"])
        writing.emit(event, repo=agent.repo, agent=agent.uid)
    work.keep_in(writing, told=True)


def has_work(agent: Agent, repo: Repo) -> bool:
    """Whether there is anything of the agent's own to keep; a spawn may have failed before."""
    if agent.branch is None or repos.is_gone(repo):
        return False
    # Git is not asked where the answer is known without it.
    made = Path(agent.workspace).exists()
    return made or repository.branch_exists(repos.git(repo), agent.branch)


def keep_orphaned(agent: Agent, folder: Path) -> Path | None:
    """Moves the workspace of an agent whose repository was deleted into its archive, whole.

    Returns where it is then; None if there was none.
    """
    target = folder / "workspace"
    if agent.branch is not None and Path(agent.workspace).is_dir() and not target.exists():
        shutil.move(agent.workspace, target)
    return target if target.is_dir() else None


def archive_name(agent: Agent, stamp: str) -> str:
    """The name of the archive folder that an agent's own folder becomes."""
    return f"{stamp}-{agent.id}"


def archive(context: Context, agent: Agent, *, stamp: str, how: str) -> Path:
    """Moves an agent's folder into the archive, with the end of its log and its row as files."""
    target = context.folders.archive / archive_name(agent, stamp)
    source = context.folders.agent(agent.uid)
    if source.is_dir() and not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        boxes.forget_ways(source)
        os.rename(source, target)  # noqa: PTH104 - one atomic step, on one file system
    target.mkdir(parents=True, exist_ok=True)
    log = event_lines.last(context.store, agent.uid, ARCHIVED_EVENTS)
    with _new_file(target / "events.jsonl") as file:
        for lines in event_lines.lines(context.store, agent.uid, after=log.after):
            file.write(lines)
    row: dict[str, Any] = msgspec.to_builtins(agent)
    text = json.dumps({"how": how, "earlier_events": log.earlier, **row}, indent=2)
    with _new_file(target / "agent.json") as file:
        file.write(f"{text}\n".encode(errors="surrogateescape"))
    return target


def _new_file(path: Path) -> IO[bytes]:
    """Opens a new file in the place of whatever an agent without a box has put there: a pipe."""
    erase(str(path))
    return os.fdopen(os.open(path, open_flags.NEW, 0o600), "wb")


def close(writing: Writing, agent: Agent, ending: Mapping[str, Any]) -> dict[Uid, Uid]:
    """Marks an agent as ended; its children go to its own parent. Returns whose each was."""
    fresh = rows.agent(writing.connection, agent.uid)
    if fresh is None or fresh.ended_at is not None:
        return {}
    how, by = ending["how"], ending["by"]
    archived = archive_name(agent, ending["stamp"])
    rows.change_agent(writing, agent.uid, ended_at=writing.now, ended_by=how, archive=archived)
    event = AgentEnded(id=agent.id, how=how, by=by)
    writing.emit(event, repo=agent.repo, agent=agent.uid)
    for passed_on in receipts.close_mail_of(writing, agent, how):
        notices.on_message(writing, passed_on)
    notices.forget(writing, agent)
    orphans = {}
    for child in rows.agents(writing.connection, repo=agent.repo):
        if child.parent == agent.uid and child.uid not in ending["agents"]:
            rows.change_agent(writing, child.uid, parent=agent.parent)
            moved = AgentReassigned(id=child.id, why=f"its manager {agent.id} ended")
            writing.emit(moved, repo=agent.repo, agent=child.uid)
            orphans[child.uid] = agent.uid
    return orphans


def still_live(context: Context, uid: Uid) -> Agent:
    """Returns an agent as it is now; raises Conflict if it has ended meanwhile."""
    agent = context.store.read(lambda c: rows.agent(c, uid))
    if agent is None or agent.ended_at is not None:
        name = agent.id if agent else uid
        raise Conflict(f"{name} has ended meanwhile", "`wl trash list` has its work")
    return agent
