"""`wl dev explain tool`: what would be decided about a call, for an agent or for one like it."""

from __future__ import annotations

import json
from typing import Any

from windlass.api.verbs import Caller
from windlass.api.wire.policy import ExplainToolReply, ExplainToolRequest
from windlass.core import agents_json, roles
from windlass.core.crew import Agent
from windlass.core.errors import Denied
from windlass.core.policy import tool_calls
from windlass.daemon.kernel import lookup, repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.policy import decisions, grants
from windlass.project import role_files


class Explanations:
    """Answers `wl dev explain tool`; nothing is recorded, and no hook is asked."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def tool(self, caller: Caller, request: ExplainToolRequest) -> ExplainToolReply:
        """The decision, its reason and the rule that made it."""
        scope = lookup.scope(self._context, caller, request)
        call = tool_calls.read(_read(request["input"]))
        if wanted := request.get("agent"):
            agent = lookup.agent(self._context, scope, wanted)
            lookup.require_reachable(
                scope, agent, lookup.live(self._context, scope), doing="ask about"
            )
            decision = decisions.decide_for_agent(self._context, agent, call)
        else:
            _refuse_in_a_box(scope.caller)
            level = request.get("level") or "hooks"
            root = scope.repo.root if scope.repo else repos.root_of(request.get("cwd", ""))
            known = settings.usable(self._context.folders.home, root)
            known.whole()
            config = known.at(level)
            role = role_files.find(config, root, request.get("role") or roles.USUAL).role.name
            decision = decisions.decide_in_folder(
                self._context,
                call,
                role=role,
                level=level,
                policy=grants.configured_policy(config, role, level),
            )
        return {"decision": decision.verdict, "reason": decision.reason, "rule": decision.rule}


def _refuse_in_a_box(caller: Agent | None) -> None:
    """To judge a call in any folder its links are followed, and those its box does not show."""
    if caller is not None and caller.isolation == "box":
        raise Denied(
            f"{caller.id} is boxed, and asks about itself and those below it alone",
            "name one: --agent self",
        )


def _read(text: str) -> dict[str, Any]:
    """A hook's input; what is none says nothing, and is denied as such."""
    try:
        agents_json.require_few_values(text.encode(errors="replace"))
        event = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}
