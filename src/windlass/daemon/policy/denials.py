"""What agents were not allowed: read from the log, with what would allow each."""

from __future__ import annotations

from windlass import drivers
from windlass.api.verbs import Caller
from windlass.api.wire.policy import DenialsRequest, DenialView
from windlass.core.crew import Agent
from windlass.core.dialect import HookMoment
from windlass.core.events import PolicyDecision
from windlass.core.policy import tool_calls, tool_policy
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.daemon.policy import decisions
from windlass.store import rows
from windlass.store.store import Event

_MOST = 10_000
_JUDGED_AGAIN = 200
"""Of how many it is said what would allow them to the agent as it is now."""


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


def _view(context: Context, agent: Agent, event: Event, *, lifting: bool) -> DenialView:
    data = event.data
    asked = {name: data.get(name) for name in ("tool_name", "tool_input", "cwd")}
    call = tool_calls.read({**asked, "cwd": asked["cwd"] or agent.workspace})
    judged = decisions.decide_for_agent(context, agent, call) if call and lifting else None
    lines = tool_policy.suggestion(call, agent.policy, role=agent.role) if call is not None else ""
    return {
        "at": event.at,
        "hook": data.get("hook") or _hook_of_calls(agent),
        "by": data.get("by") or "daemon",
        "tool": data.get("tool_name"),
        "input": data["tool_input"] if "tool_input" in data else data.get("asked"),
        "reason": data.get("reason") or "",
        "suggest": lines.splitlines(),
        "allow": list(judged.patterns) if judged is not None else [],
    }
