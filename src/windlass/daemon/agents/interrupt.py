"""`wl interrupt`: a stop to an agent's present turn."""

from __future__ import annotations

from windlass import drivers
from windlass.api.verbs import Caller
from windlass.api.wire.agents import InterruptReply
from windlass.api.wire.request import AgentRequest
from windlass.core import states
from windlass.core.crew import Agent
from windlass.core.errors import Conflict
from windlass.core.events import AgentInterrupted
from windlass.core.ids import Uid
from windlass.core.states import RESTING, State
from windlass.daemon.agents import endings
from windlass.daemon.agents.session_life import Look
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step, of_one_agent
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.launch import keyboard
from windlass.daemon.states import observations
from windlass.store import rows
from windlass.store.store import Writing

_MOMENT = 5.0


class Interrupts:
    """The operation `interrupt`, and the request that begins it."""

    def __init__(self, context: Context, look: Look) -> None:
        self._context = context
        self._look = look

    def operation(self) -> Operation:
        """Its one step may be done twice: to stop a turn that is over does no harm."""
        return Operation(
            "interrupt", (Step("interrupt", self._interrupt),), of_one_agent, _interrupted
        )

    def begin(self, caller: Caller, request: AgentRequest) -> IntentDraft:
        """Finds whose turn is to be stopped."""
        scope = lookup.scope(self._context, caller, request)
        agent = lookup.reachable_agent(
            self._context, scope, request.get("agent"), doing="interrupt"
        )
        self._require_open_session(agent)
        return IntentDraft(agent.repo, scope.caller_uid, lambda _: {"uid": agent.uid})

    def _interrupt(self, work: RunningIntent) -> None:
        agent = endings.still_live(self._context, Uid(work.data["uid"]))
        number = self._require_open_session(agent)
        if agent.state in RESTING:
            return
        if agent.mode == "live":
            keyboard.interrupt(self._context, agent)
        else:
            line = drivers.dialect(agent.driver).interrupt_line(work.intent.id)
            folder = self._context.folders.session(agent.uid, number)
            self._context.sessions.write(folder, line.encode())
        self._context.store.write(
            lambda w: w.emit(AgentInterrupted(), repo=agent.repo, agent=agent.uid)
        )
        self._await_rest(agent)
        self._context.store.write(lambda w: _say_interrupted(w, agent))

    def _await_rest(self, agent: Agent) -> None:
        """Gives the session a moment to say that its turn is over, so that the answer is true."""
        clock = self._context.clock.unscaled
        end = clock.monotonic() + _MOMENT
        while clock.monotonic() < end:
            self._look(agent.uid)
            if endings.still_live(self._context, agent.uid).state in RESTING:
                return
            clock.sleep(0.05)

    def _require_open_session(self, agent: Agent) -> int:
        """Returns the number of the agent's open session; raises Conflict where it has none."""
        session = self._context.store.read(lambda c: rows.newest_session(c, agent.uid))
        if session is not None and session.runs:
            return session.number
        hint = f"wl resume {agent.id} first"
        if agent.state is State.CREATING:
            hint = f"wait for it: wl wait {agent.id} --for running,waiting"
        raise Conflict(f"{agent.id} is {agent.state} and cannot hear you", hint)


def _say_interrupted(writing: Writing, agent: Agent) -> None:
    verdict = states.fold(rows.observations(writing.connection, agent.uid), now=writing.now)
    if seen := states.interrupted(verdict, "`wl interrupt`"):
        observations.observe(writing, agent, seen)


def _interrupted(work: RunningIntent) -> InterruptReply:
    agent = endings.still_live(work.context, Uid(work.data["uid"]))
    return {"id": agent.id, "state": agent.state}
