"""What an agent is made for a step: the role of that, and what it may use by it."""

from __future__ import annotations

from typing import Any

from windlass.core.config import role_settings
from windlass.core.config_layers import Usable
from windlass.core.crew import Agent
from windlass.core.ids import RoleName
from windlass.core.session_launch import Mode
from windlass.daemon.gate import gates
from windlass.daemon.kernel import repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.policy import grants
from windlass.project import role_files


def columns(
    context: Context, agent: Agent, wanted: str, *, mode: Mode, model: str
) -> dict[str, Any]:
    """The columns of an agent that become others with a session.

    What a person allowed to the running agent stays for as long as its role does.
    """
    repo = repos.by_id(context, agent.repo)
    known = settings.usable(context.folders.home, repo.root)
    model = model or role_settings(known.whole(), RoleName(wanted)).model or known.whole().model
    said = {"mode": mode, "model": model or None}
    return said if agent.role == wanted else {**said, **_of_role(context, agent, known, wanted)}


def _of_role(context: Context, agent: Agent, known: Usable, wanted: str) -> dict[str, Any]:
    repo = repos.by_id(context, agent.repo)
    role, _ = role_files.find(known.whole(), repo.root, wanted)
    gate = gates.find(context, repo)
    checks = gate.outside.checks if gate is not None else ()
    configured = grants.configured_policy(
        known.at(agent.isolation), role.name, agent.isolation, checks
    )
    policy = grants.granted_policy({"goal": ""}, configured, caller=None, parent=None)
    return {"role": role.name, "readonly": role.readonly, "policy": policy}
