"""What an agent may use: by its role's configuration, by what was asked for, below its caller."""

from __future__ import annotations

import re
from collections.abc import Iterable

from windlass.api.wire.agents import SpawnRequest
from windlass.core import crew
from windlass.core.box_spec import Level
from windlass.core.config import Config, role_tools
from windlass.core.crew import Agent, Policy
from windlass.core.gate.spec import Check
from windlass.core.ids import RoleName
from windlass.core.policy import tool_policy


def configured_policy(
    config: Config, role: RoleName, level: Level, gate: Iterable[Check] = ()
) -> Policy:
    """What agents of a role may use by configuration, and what everybody may.

    `gate` are the checks of the target's gate, which may be others than those in the checkout.
    """
    tools = role_tools(config, role)
    servers = map(_tools_of, config.claude.mcp if level == "box" else ())
    lists = Policy(
        allow=(*tools.allow, *servers), deny=tuple(tools.deny), reading=config.policy.shell
    )
    checks = (*config.gate.commands, *(check.run for check in config.gate.check))
    commands = dict.fromkeys(
        (config.workspace.setup, config.workspace.teardown, *checks, *(check.run for check in gate))
    )
    return tool_policy.with_mandatory(
        lists, level=level, commands=[command for command in commands if command]
    )


def _tools_of(server: str) -> str:
    """The pattern of an MCP server's tools, which Claude Code names in letters that are safe."""
    return f"mcp__{re.sub(r'[^A-Za-z0-9_-]', '_', server)}"


def granted_policy(
    request: SpawnRequest, configured: Policy, *, caller: Agent | None, parent: Agent | None
) -> Policy:
    """What the role gives, what was asked for, and all that is denied to those above it.

    Also to those that may use every other tool: a denial goes before that.
    """
    denied = [pattern for agent in crew.above(caller, parent) for pattern in agent.policy.deny]
    strict = any(agent.policy.reading == "strict" for agent in crew.above(caller, parent))
    asked = request.get("allow", [])
    # What is denied to everybody by default a person may allow to one agent, by its name.
    lifted = set(asked) & set(tool_policy.DENIED) if caller is None else set()
    return Policy(
        allow=tuple(dict.fromkeys([*configured.allow, *asked])),
        deny=tuple(
            pattern
            for pattern in dict.fromkeys([*configured.deny, *request.get("deny", []), *denied])
            if pattern not in lifted
        ),
        yolo=request.get("yolo", False),
        reading="strict" if strict else configured.reading,
    )
