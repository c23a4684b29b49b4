"""`wl pause` and `wl resume`: an agent's session is stopped, and the next one started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from windlass import drivers
from windlass.api.verbs import Caller
from windlass.api.wire.agents import ResumeRequest, SessionReply
from windlass.api.wire.request import AgentRequest
from windlass.core.crew import Agent, Limits
from windlass.core.errors import Conflict, Denied, WindlassError
from windlass.core.events import AgentLimited
from windlass.core.ids import Uid
from windlass.core.reasons import Kind, Reason
from windlass.core.states import Observation, Source, State
from windlass.daemon.agents import endings
from windlass.daemon.agents import limits as agent_limits
from windlass.daemon.agents.session_life import SessionLife
from windlass.daemon.kernel import lookup, repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import PATIENCE, Intents
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step, of_one_agent
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.launch import boxes, clones
from windlass.daemon.spend import budgets
from windlass.daemon.states import observations
from windlass.git import workspaces
from windlass.store import rows
from windlass.store.store import Writing


class PauseResume:
    """The operations `pause` and `resume`, and the requests that begin them."""

    def __init__(self, context: Context, life: SessionLife) -> None:
        self._context = context
        self._life = life

    def operations(self) -> tuple[Operation, ...]:
        """Pause stops the session and keeps everything; resume starts the next one."""
        return (
            Operation(
                "pause",
                (Step("stop", self._pause),),
                of_one_agent,
                self._result,
                stops=of_one_agent,
            ),
            Operation(
                "resume",
                (Step("workspace", self._ensure), Step("session", self._resume)),
                of_one_agent,
                self._result,
                stops=of_one_agent,
            ),
        )

    def begin(
        self, kind: str, caller: Caller, request: AgentRequest | ResumeRequest
    ) -> IntentDraft:
        """Finds the agent, and says where it stands already."""
        scope = lookup.scope(self._context, caller, request)
        agent = lookup.reachable_agent(self._context, scope, request.get("agent"), doing=kind)
        if kind == "pause" and scope.caller is not None and scope.caller.uid == agent.uid:
            raise Denied("an agent cannot pause itself", "end your turn with WAITING instead")
        limits = agent_limits.of_resumed(self._context, agent, request, scope.caller)
        session = self._context.store.read(lambda c: rows.newest_session(c, agent.uid))
        alive = session is not None and session.ended_at is None
        if agent.session == 0 and agent.state is State.CREATING:
            raise Conflict(
                f"{agent.id} is still being prepared", f"wait: wl wait {agent.id} --for running"
            )
        # Who is paused while its session lives is just being paused, which is waited for, or was
        # left so: then its session is ended first.
        goes_on = alive and agent.state is not State.PAUSED and Path(agent.workspace).is_dir()
        if kind == "resume" and goes_on:
            is_heard = limits == agent.limits and agent.state is not State.UNKNOWN
            raise Conflict(
                f"{agent.id} is not stopped: it is {agent.state}",
                f"talk to it: wl send {agent.id} '...'"
                if is_heard
                else f"wl pause {agent.id} first",
            )
        # While its session lives it is not paused, and another try may end that.
        if kind == "pause" and agent.state is State.PAUSED and not alive:
            raise Conflict(f"{agent.id} is paused already", f"wl resume {agent.id}")
        if kind == "resume":
            drivers.get(agent.driver).check()  # before a session is recorded that cannot start
            boxes.require_as_configured(self._context, agent)
            raised = msgspec.structs.replace(agent, limits=limits)
            budgets.refuse_spent(self._context, agent.repo, raised)
        number = agent.session + 1

        def prepare(writing: Writing) -> dict[str, Any]:
            if limits != agent.limits:
                _limit(writing, agent.uid, limits)
            return {"uid": agent.uid, "number": number}

        return IntentDraft(agent.repo, scope.caller_uid, prepare)

    def wake(self, intents: Intents, uid: Uid, *, key: str, by: Uid | None) -> None:
        """Goes on with a stopped agent, for whom there is mail, if its sender may do that."""
        agent = endings.still_live(self._context, uid)
        root = repos.by_id(self._context, agent.repo).root
        request: AgentRequest = {"agent": agent.id, "cwd": root}
        intents.perform(
            "resume", key, lambda: self.begin("resume", Caller(by), request), patience=PATIENCE
        )

    def _pause(self, work: RunningIntent) -> None:
        agent = self._live(work)
        # The word first: between it and the end of the process the agent is not "stopped".
        why = work.data.get("why", "paused with `wl pause`")
        self._context.store.write(lambda w: _say(w, agent, State.PAUSED, "paused", why))
        try:
            self._life.stop(agent)
        except Exception as error:
            cause = _cause(error)
            self._context.store.write(lambda w: _take_back(w, agent, cause))
            raise

    def _ensure(self, work: RunningIntent) -> None:
        agent = self._live(work)
        clones.make_workspace(self._context, agent, workspaces.ensure)

    def _resume(self, work: RunningIntent) -> None:
        agent = self._live(work)
        if agent.session < work.data["number"]:
            self._life.stop(agent)  # strays of a session that lost its holder
            agent = self._life.begin(agent)
        try:
            self._life.start(agent)
        except Exception as error:
            # Else it would be "creating" for ever, and nobody could resume it.
            self._life.give_up(agent, _cause(error))
            raise

    def _live(self, work: RunningIntent) -> Agent:
        return endings.still_live(self._context, Uid(work.data["uid"]))

    def _result(self, work: RunningIntent) -> SessionReply:
        agent = self._live(work)
        return {"id": agent.id, "uid": agent.uid, "state": agent.state, "session": agent.session}


def _limit(writing: Writing, uid: Uid, limits: Limits) -> None:
    agent = rows.agent(writing.connection, uid)
    if agent is None or agent.ended_at is not None:
        raise Conflict("that agent has ended meanwhile", "`wl trash list` has its work")
    rows.change_agent(writing, uid, limits=limits)
    event = AgentLimited(id=agent.id, **msgspec.structs.asdict(limits))
    writing.emit(event, repo=agent.repo, agent=uid)


def _say(writing: Writing, agent: Agent, state: State, kind: Kind, text: str) -> None:
    seen = Observation(
        source=Source.WINDLASS,
        value=state,
        at=writing.now,
        reason=Reason(kind=kind, text=text),
        session=agent.session,
    )
    observations.observe(writing, agent, seen)


def _take_back(writing: Writing, agent: Agent, why: str) -> None:
    """Says that an agent whose session could not be stopped is not paused: nobody knows."""
    session = rows.newest_session(writing.connection, agent.uid)
    if session is not None and session.ended_at is None:
        _say(writing, agent, State.UNKNOWN, "pause_failed", why)


def _cause(error: Exception) -> str:
    return error.message if isinstance(error, WindlassError) else str(error)
