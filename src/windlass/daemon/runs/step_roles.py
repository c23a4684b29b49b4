"""What an agent is made for a step: the role of that, and what it may use by it."""

from __future__ import annotations

from typing import Any

from windlass.core.config import role_settings
from windlass.core.crew import Agent
from windlass.daemon.gate import gates
from windlass.daemon.kernel import repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.policy import grants
from windlass.project import role_files


def columns(context: Context, agent: Agent, wanted: str) -> dict[str, Any]:
    """The columns of an agent that become others with a role; none where it has that already.

    So what a person allowed to the running agent stays, for as long as its role does.
    """
    if agent.role == wanted:
        return {}
    repo = repos.by_id(context, agent.repo)
    known = settings.usable(context.folders.home, repo.root)
    role, _ = role_files.find(known.whole(), repo.root, wanted)
    gate = gates.find(context, repo)
    checks = gate.outside.checks if gate is not None else ()
    configured = grants.configured_policy(
        known.at(agent.isolation), role.name, agent.isolation, checks
    )
    policy = grants.granted_policy({"goal": ""}, configured, caller=None, parent=None)
    own = role_settings(known.whole(), role.name)
    return {
        "role": role.name,
        "readonly": role.readonly,
        "policy": policy,
        "model": own.model or known.whole().model or None,
    }
