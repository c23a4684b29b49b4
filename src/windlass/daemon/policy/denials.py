"""What agents were not allowed: read from the log, with what would allow each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import sqlalchemy as sa

from windlass import drivers
from windlass.api.verbs import Caller
from windlass.api.wire.policy import DenialsRequest, DenialView
from windlass.core import events as kinds
from windlass.core.crew import Agent
from windlass.core.dialect import HookMoment
from windlass.core.events import AgentState, PolicyDecision
from windlass.core.policy import tool_calls, tool_policy
from windlass.core.policy.tool_calls import Decision, ToolCall
from windlass.core.states import RESTING, State
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.daemon.policy import decisions
from windlass.store import rows
from windlass.store.store import Event

_MOST = 10_000
_JUDGED_AGAIN = 200
"""Of how many it is said what would allow them to the agent as it is now."""
_BACK = 20
_SEVERAL = 3
"""Denials of one kind after which an agent that goes on is not helped by trying again."""


class Hindrance(NamedTuple):
    """What an agent was denied since it was set to work: why, and how many times of that kind."""

    reason: str
    times: int


def hindrance(connection: sa.Connection, agent: Agent) -> Hindrance | None:
    """What an agent was denied that its task seems to need; None where nothing is.

    That is a denial after which it came to rest, or several of one kind while it works. A dialog
    that became a question is none: whoever is asked knows.
    """
    if agent.ended_at is not None or agent.state in RESTING - {State.WAITING}:
        return None
    # What was before the last rest is not looked at: an agent may have a million events.
    since = set_to_work(connection, agent)
    denials = rows.events(
        connection, after=since, agent=agent.uid, kind=PolicyDecision.kind, last=_BACK
    )
    newer = [event for event in denials if not _is_question(event)]
    alike = _most_alike(agent, newer)
    if not newer or (agent.state is not State.WAITING and len(alike) < _SEVERAL):
        return None
    last = (alike if len(alike) >= _SEVERAL else newer)[-1]
    return Hindrance(_reason(last), len(alike))


def set_to_work(connection: sa.Connection, agent: Agent) -> int:
    """The event with which an agent was set to work last; 0 where none is known."""
    changes = rows.events(connection, agent=agent.uid, kind=AgentState.kind, last=_BACK)
    return max((e.id for e in changes if kinds.read(AgentState, e).was in RESTING), default=0)


def _most_alike(agent: Agent, denials: Iterable[Event]) -> list[Event]:
    """The denials of the kind that there are most of: what would allow them is the same."""
    alike: dict[tuple[str, ...], list[Event]] = {}
    for event in denials:
        kind = _commands(agent, event) or (str(event.data.get("tool_name")), _reason(event))
        alike.setdefault(kind, []).append(event)
    return max(alike.values(), key=len, default=[])


def _is_question(event: Event) -> bool:
    return event.data.get("tool_name") == tool_policy.QUESTION


def _reason(event: Event) -> str:
    return str(kinds.read(PolicyDecision, event).reason or "")


class Denials:
    """Answers `wl denials`."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def view(self, caller: Caller, request: DenialsRequest) -> list[DenialView]:
        """What one agent was denied, oldest first."""
        scope = lookup.scope(self._context, caller, request)
        agent = lookup.any_agent(self._context, scope, request.get("agent"))
        lookup.require_reachable(scope, agent, lookup.live(self._context, scope), doing="look into")
        events = self._context.store.read(
            lambda c: rows.events(c, agent=agent.uid, kind=PolicyDecision.kind, limit=_MOST)
        )
        lately = len(events) - _JUDGED_AGAIN
        denials = [
            _view(self._context, agent, event, lifting=at >= lately)
            for at, event in enumerate(events)
        ]
        wanted = request.get("hook")
        return [denial for denial in denials if wanted in (None, denial["hook"])]


def _hook_of_calls(agent: Agent) -> str:
    return drivers.dialect(agent.driver).hook_names[HookMoment.TOOL_CALL]


def _call(agent: Agent, event: Event) -> ToolCall | None:
    """The call that was denied, as far as the event tells of it."""
    asked = {name: event.data.get(name) for name in ("tool_name", "tool_input", "cwd")}
    return tool_calls.read({**asked, "cwd": asked["cwd"] or agent.workspace})


def _commands(agent: Agent, event: Event) -> tuple[str, ...]:
    """The lines that would put the commands of a call on the allow list of a role."""
    call = _call(agent, event)
    if call is None:
        return ()
    return tuple(tool_policy.suggestion(call, agent.policy, role=agent.role).splitlines())


def _suggested(agent: Agent, event: Event, judged: Decision | None) -> list[str]:
    """The lines of configuration that would allow what was denied.

    Of a line that is judged by its reach only the judging says so: a list of commands is no help.
    """
    by_reach = agent.policy.reading == "guided" and agent.isolation != "box"
    if not by_reach or event.data.get("tool_name") != "Bash":
        return list(_commands(agent, event))
    patterns = judged.patterns if judged is not None else ()
    return [f"wl config add permissions.{agent.role}.allow '{each}'" for each in patterns]


def _view(context: Context, agent: Agent, event: Event, *, lifting: bool) -> DenialView:
    data, call = event.data, _call(agent, event)
    judged = decisions.decide_for_agent(context, agent, call) if call and lifting else None
    return {
        "at": event.at,
        "hook": data.get("hook") or _hook_of_calls(agent),
        "by": data.get("by") or "unknown",
        "tool": data.get("tool_name"),
        "input": data["tool_input"] if "tool_input" in data else data.get("asked"),
        "reason": data.get("reason") or "",
        "suggest": _suggested(agent, event, judged),
        "allow": list(judged.patterns) if judged is not None else [],
    }
