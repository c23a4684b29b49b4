"""The effects of a run on its agent: made, begun for a session, and asked once more.

The agent is one for the whole run; each visit of a step, and each iteration of one, is a session of
it in a conversation of its own. A session that dies goes on in the same one.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from windlass.api.verbs import Caller
from windlass.api.wire.agents import SpawnRequest
from windlass.core import jobs
from windlass.core.crew import Agent
from windlass.core.errors import ConfigError, Conflict
from windlass.core.events import PlanBegun, RunBegun, StepBegun
from windlass.core.ids import RepoId, Uid
from windlass.core.jobs import JobId
from windlass.core.landing.changes import ChangeId
from windlass.core.runs import orders, prompts, task_copy
from windlass.core.runs.loop import Loop
from windlass.core.runs.part import Part
from windlass.core.runs.prompts import Told
from windlass.core.runs.task_copy import TaskCopy
from windlass.core.shapes import convert
from windlass.daemon.agents.endings import still_live
from windlass.daemon.agents.session_life import SessionLife
from windlass.daemon.agents.spawn import ForRun, Spawns
from windlass.daemon.gate import gates
from windlass.daemon.kernel import repos, untrusted_files
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.operations import Operation, Step, of_one_agent
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.landing import tickets
from windlass.daemon.launch import clones
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.mail import from_windlass
from windlass.daemon.runs import (
    markers,
    own_git,
    permissions,
    records,
    standstill,
    step_roles,
    taken_back,
)
from windlass.daemon.runs.permissions import Permissions, may
from windlass.git import workspaces
from windlass.project import folder
from windlass.store import changes as change_rows
from windlass.store import rows
from windlass.store.rows import Repo
from windlass.store.store import Writing

Wake = Callable[[Uid, str], None]
"""Goes on with an agent whose session has ended, once under a key."""
_UNSAID = {"stopped": "", "began_at": 0.0, "loop": {}, "iterations": 1, "turns": 0, "model": ""}
"""What an effect does not say that an older release has decided on."""
_LARGEST_PLAN = 256 << 10


class RunSteps:
    """The operations by which a run makes its agent, and gives it something to do."""

    def __init__(
        self,
        context: Context,
        intents: Intents,
        spawns: Spawns,
        life: SessionLife,
        fetcher: CommitFetcher,
        *,
        wake: Wake,
    ) -> None:
        self._context = context
        self._fetcher = fetcher
        self._intents = intents
        self._spawns = spawns
        self._life = life
        self._wake = wake
        self._permissions = Permissions(context)

    def operations(self) -> tuple[Operation, ...]:
        """Preparing makes an agent, so it has none to lock yet."""
        return (
            Operation(
                orders.PREPARE,
                (
                    Step("document", self._write_document),
                    Step("permission", self._permissions.agent, needed=_is_wanted),
                    Step("agent", self._make_agent, needed=_is_wanted),
                ),
                lambda _: [],
                _prepared,
            ),
            Operation(
                orders.BEGIN,
                (
                    Step("permission", self._permissions.session),
                    Step("stop", self._stop_last, needed=may),
                    Step("record", self._record, needed=may),
                    Step("start", self._start, needed=may),
                ),
                of_one_agent,
                _begun,
                stops=of_one_agent,
            ),
            Operation(
                orders.ASK,
                (
                    Step("permission", self._permissions.turn),
                    Step("say", self._say, needed=may),
                    Step("wake", self._wake_up, needed=may),
                ),
                lambda _: [],
                _asked,
            ),
            Operation(orders.LOOK, (), lambda _: [], standstill.rests),
        )

    def _write_document(self, work: RunningIntent) -> None:
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        copy = convert(work.data["copy"], TaskCopy)
        only_plans = work.data.get("only_plans", False)
        if not only_plans and (marker := markers.changed(repo, copy.id)):
            work.keep(dropped=f"somebody marked it [{marker}] before it had begun")
            return
        plan = _plan(repo, copy.id)
        records.keep_document(self._context, run_of(work), task_copy.document(copy, plan))
        if not only_plans:
            markers.put(self._context, repo, copy.id, "=")

    def _make_agent(self, work: RunningIntent) -> None:
        run, task = run_of(work), work.data["task"]
        copy = convert(work.data["copy"], TaskCopy)
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        request: SpawnRequest = {
            "cwd": repo.root,
            "goal": f"{task}: {copy.title}",
            "role": work.data["role"],
            "mode": work.data["mode"],
        }
        if work.data["driver"]:
            request["driver"] = work.data["driver"]
        begin = partial(self._spawns.begin, Caller(None), request, ForRun(run, task))
        made = self._intents.perform("spawn", f"{work.intent.id}:spawn", begin)
        work.keep(made=made["uid"])
        begun: PlanBegun | RunBegun = RunBegun(task=task, run=run, agent=made["id"])
        if work.data.get("only_plans"):
            begun = PlanBegun(task=task, run=run, agent=made["id"])
        work.with_next_record(lambda w: w.emit(begun, repo=repo.id, agent=Uid(made["uid"])))

    def _stop_last(self, work: RunningIntent) -> None:
        """Ends what ran before; an agent that a person has paused is left as it is."""
        agent = self._live(work)
        rests = work.data["again"] and agent.state in standstill.RESTS
        work.keep(was=agent.session, rests=rests, session=agent.session, tip="")
        if not rests and agent.session:
            self._life.stop(agent)

    def _record(self, work: RunningIntent) -> None:
        agent = self._live(work)
        if work.data["rests"]:
            return
        if agent.session == work.data["was"]:
            agent = self._again(agent) if work.data["again"] else self._anew(work, agent)
        work.keep(session=agent.session)

    def _again(self, agent: Agent) -> Agent:
        return self._life.begin(agent)

    def _anew(self, work: RunningIntent, agent: Agent) -> Agent:
        """A session for a visit, in a conversation of its own."""
        run, data = run_of(work), {**_UNSAID, "mode": agent.mode, **work.data}
        loop = convert(data["loop"], Loop)
        part = Part(
            run=run,
            step=data["step"],
            label=data["label"],
            visit=data["visit"],
            role=data["role"],
            conversation=str(uuid.uuid4()),
            iteration=loop.iteration,
            duty=loop.duty,
            turns=data["turns"],
            tip=taken_back.tip(self._context, self._fetcher, agent),
        )
        told = Told(
            document=records.document(self._context, run),
            reports=records.reports(self._context, run),
            ticket=self._ticket(agent, data["change"]),
            readonly=data["readonly"],
            allowed=data["results"],
            loop=loop,
            stopped=data["stopped"],
            iterations=data["iterations"],
        )
        columns = step_roles.columns(
            self._context, agent, data["role"], mode=data["mode"], model=data["model"]
        )
        columns |= {"conversation": part.conversation}
        visit = records.of_visit(part.label, part.visit, began_at=data["began_at"])
        prompt = prompts.beginning(part, told)
        file = records.keep_prompt(
            self._context, run, visit, prompt, iteration=part.iteration, duty=part.duty
        )
        part = msgspec.structs.replace(part, prompt_file=file)
        work.keep(tip=part.tip)

        def change(writing: Writing) -> Agent:
            from_windlass.withdraw_of_run(writing, agent.uid, run)
            return rows.change_agent(writing, agent.uid, **columns)

        return self._life.begin(self._context.store.write(change), part)

    def _ticket(self, agent: Agent, name: str) -> str:
        """What the author of a change that came back is told; nothing where none has."""
        find = partial(change_rows.find, repo=agent.repo, change=ChangeId(name))
        change = self._context.store.read(find) if name else None
        if change is None or change.ticket is None:
            return ""
        gate = gates.find(self._context, repos.by_id(self._context, agent.repo))
        most = gate.config.landing.max_attempts if gate is not None else 1
        return tickets.to_author(change, change.ticket, most=most)

    def _start(self, work: RunningIntent) -> None:
        agent, data = self._live(work), work.data
        if data["rests"]:
            return
        clones.make_workspace(self._context, agent, workspaces.ensure)
        if data["again"]:
            own_git.unlock(work, agent)
        try:
            self._life.start(agent)
        except Exception as error:
            self._life.give_up(agent, str(error))
            raise
        begun = StepBegun(
            task=data["task"],
            run=run_of(work),
            step=data["label"],
            visit=data["visit"],
            role=data["role"],
            session=agent.session,
        )
        work.with_next_record(lambda w: w.emit(begun, repo=agent.repo, agent=agent.uid))

    def _say(self, work: RunningIntent) -> None:
        """Asks it to go on, unless what it waits for begins its next turn anyway."""
        agent = self._live(work)
        allowed = work.data["results"]
        texts = {
            "model": prompts.AFTER_FAILURE,
            "result": prompts.once_more(allowed),
            "decision": f"Your last message had no decision. {prompts.for_decision()}",
            "answer": f"Your last message had no answer that counts here. {prompts.for_answer()}",
        }
        text = texts.get(work.data["asks"], texts["result"])

        def change(writing: Writing) -> None:
            if "said_at" in work.data or work.data.get("waits"):
                return
            if work.data["asks"] != "model" and standstill.expects(writing.connection, agent):
                standstill.tell(writing, agent, task=work.data["task"], run=run_of(work))
                work.keep_in(writing, waits=True)
            else:
                from_windlass.ask_step(writing, agent, run_of(work), text)
                work.keep_in(writing, said_at=writing.now)

        self._context.store.write(change)

    def _wake_up(self, work: RunningIntent) -> None:
        agent = self._live(work)
        session = self._context.store.read(partial(rows.newest_session, uid=agent.uid))
        if session is not None and session.ended_at is not None:
            self._wake(agent.uid, f"{work.intent.id}:wake")
        work.keep(session=self._live(work).session)

    def _live(self, work: RunningIntent) -> Agent:
        return still_live(self._context, Uid(work.data["uid"]))


def _is_wanted(data: Any) -> bool:
    """Whether a task is still to be begun, and may be."""
    return not data.get("dropped") and may(data)


def _prepared(work: RunningIntent) -> dict[str, Any]:
    data = work.data
    made = {"uid": data.get("made", ""), "dropped": data.get("dropped", "")}
    return permissions.told(data) or made


def _begun(work: RunningIntent) -> dict[str, Any]:
    data = work.data
    if not may(data):
        return permissions.told(data)
    return {"session": data["session"], "rests": data["rests"], "tip": data.get("tip", "")}


def _asked(work: RunningIntent) -> dict[str, Any]:
    data = work.data
    asked = {"waits": data.get("waits", False), "session": data.get("session", 0)}
    return permissions.told(data) or asked


def _plan(repo: Repo, task: str) -> str:
    """What the person or a planning step wrote down for a task; nothing where there is no such."""
    path = folder.plan(str(Path(repo.root) / folder.NAME), task)
    try:
        held = untrusted_files.read(path, most=_LARGEST_PLAN + 1, below=Path(repo.root))
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror or error}", "mend it, or remove it"
        ) from None
    if len(held) > _LARGEST_PLAN:
        raise ConfigError(
            f"{path} has more than {_LARGEST_PLAN >> 10} KiB",
            "every step reads all of it: shorten it, and say where the rest is",
        )
    return held.decode("utf-8", "replace")


def run_of(work: RunningIntent) -> JobId:
    """The run whose effect this is."""
    run = jobs.owner(work.intent.id)
    if run is None:
        raise Conflict(f"{work.intent.kind} is a run's alone", "see wl dev jobs")
    return run
