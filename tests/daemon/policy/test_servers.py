"""Tools of MCP servers that the person names for boxes."""

from __future__ import annotations

from windlass.core.config import ClaudeSettings, Config
from windlass.core.ids import RoleName
from windlass.core.policy import tool_policy
from windlass.core.policy.tool_calls import ToolCall
from windlass.daemon.policy import grants

NAMED = Config(claude=ClaudeSettings(mcp=["farm", "my farm.2"]))


def test_in_a_box_the_tools_of_named_servers_may_be_used_and_no_others() -> None:
    policy = grants.configured_policy(NAMED, RoleName("worker"), "box")
    verdicts = {
        tool: tool_policy.decide(
            ToolCall(tool=tool, input={}, cwd="/w"), policy, inside=lambda _: True
        ).verdict
        for tool in ("mcp__farm__hens", "mcp__my_farm_2__hens", "mcp__other__hens")
    }
    assert list(verdicts.values()) == ["allow", "allow", "deny"]


def test_without_a_box_naming_a_server_allows_nothing() -> None:
    policy = grants.configured_policy(NAMED, RoleName("worker"), "hooks")
    assert not [pattern for pattern in policy.allow if pattern.startswith("mcp__")]
