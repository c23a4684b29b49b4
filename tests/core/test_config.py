"""Configuration: layers, errors that name the place, values typed on a command line."""

from __future__ import annotations

import msgspec
import pytest

from windlass.core import config, config_layers
from windlass.core.config import Config
from windlass.core.config_roles import RoleSettings, Tools
from windlass.core.errors import ConfigError
from windlass.core.policy import tool_policy
from windlass.core.policy.tool_calls import ToolCall
from windlass.core.roles import SHIPPED


def test_every_key_is_described_and_every_description_has_a_key() -> None:
    roles = dict.fromkeys(SHIPPED, RoleSettings())
    whole = Config(roles=roles, permissions=dict.fromkeys(SHIPPED, Tools()))
    assert set(config.ABOUT) == set(config.flatten(msgspec.to_builtins(whole)))


def test_later_layers_win_key_by_key() -> None:
    user = {"driver": "standin", "workspace": {"setup": "make", "timeout": 5}}
    project = {"workspace": {"setup": "npm ci"}}
    merged = config_layers.load([("user", user), ("project", project)])
    assert merged.driver == "standin"
    assert merged.workspace.setup == "npm ci"
    assert merged.workspace.timeout == 5


def test_an_unknown_key_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(ConfigError, match="project: unknown key 'max_agent'") as caught:
        config_layers.load([("project", {"max_agent": 3})])
    assert "max_agents" in caught.value.hint


@pytest.mark.parametrize(
    "layer",
    [{"max_agents": 0}, {"max_agents": "many"}, {"workspace": {"timeout": -1}}, {"driver": 3}],
)
def test_a_value_of_the_wrong_kind_is_refused_with_its_origin(layer: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="here: "):
        config_layers.load([("here", layer)])


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("max_agents", "20", 20),
        ("workspace.timeout", "1.5", 1.5),
        ("driver", "standin", "standin"),
        ("trash.ignored_mb", "0", 0),
    ],
)
def test_what_is_typed_becomes_what_the_key_wants(key: str, text: str, value: object) -> None:
    assert config.parse(key, text) == value


@pytest.mark.parametrize(("key", "text"), [("max_agents", "ten"), ("max_agents", "-1")])
def test_what_does_not_fit_is_refused_with_what_the_key_is_for(key: str, text: str) -> None:
    with pytest.raises(ConfigError, match=key) as caught:
        config.parse(key, text)
    assert caught.value.hint == config.ABOUT[key]


def test_lists_are_told_from_single_values() -> None:
    assert config.is_list("permissions.worker.allow")
    assert not config.is_list("driver")


def called(tool: str, **given: str) -> ToolCall:
    """A call of a tool in a workspace."""
    return ToolCall(tool=tool, input=given, cwd="/ws")


@pytest.mark.parametrize(
    ("pattern", "call"),
    [
        ("Read", called("Read", file_path="a")),
        (" Read ", called("Read", file_path="a")),
        ("*", called("Anything")),
        ("mcp__tracker", called("mcp__tracker__list")),
        ("mcp__plugin_a.b-c__*", called("mcp__plugin_a.b-c__list")),
        ("Bash", called("Bash", command="ls")),
        ("Bash(npm test:*)", called("Bash", command="npm test -w a")),
        ("Bash(echo $(date))", called("Bash", command="echo $(date)")),
        ("Edit(src/**)", called("Edit", file_path="/ws/src/a.py")),
        ("WebFetch(domain:*.example.com)", called("WebFetch", url="https://a.example.com/")),
        ("WebFetch(https://example.com/:*)", called("WebFetch", url="https://example.com/a")),
        ("Skill(review)", called("Skill", skill="review")),
    ],
)
def test_a_pattern_that_means_some_call_may_be_written_down(pattern: str, call: ToolCall) -> None:
    config_layers.load(
        [("here", {"permissions": {"worker": {"allow": [pattern], "deny": [pattern]}}})]
    )
    assert tool_policy.permits(pattern, call)


@pytest.mark.parametrize(
    ("pattern", "call", "why"),
    [
        ("", called("Read", file_path="a"), "names no tool"),
        ("(git)", called("Bash", command="git"), "names no tool"),
        ("Bash(git", called("Bash", command="git"), "not closed"),
        ("Bash(git) x", called("Bash", command="git"), "not closed"),
        ("Bash()", called("Bash", command="git"), "nothing stands"),
        ("Bash(*)", called("Bash", command="git"), "Bash alone"),
        ("Bash(:*)", called("Bash", command="git"), "Bash alone"),
        ("Bash (git)", called("Bash", command="git"), "no tool's name"),
        ("Foo Bar", called("Foo"), "no tool's name"),
        ("Read,Edit", called("Read", file_path="a"), "no tool's name"),
        ("mcp__*__list", called("mcp__a__list"), "no tool's name"),
        ("TodoWrite(x)", called("TodoWrite"), "takes nothing"),
        ("mcp__a(list)", called("mcp__a__list"), "takes nothing"),
        ("WebFetch(example.com)", called("WebFetch", url="https://example.com"), "domain:example"),
    ],
)
@pytest.mark.parametrize("key", ["allow", "deny"])
def test_a_pattern_that_allows_nothing_is_refused_with_its_place(
    pattern: str, call: ToolCall, why: str, key: str
) -> None:
    assert not tool_policy.permits(pattern, call)
    with pytest.raises(ConfigError, match=rf"here: permissions\.worker\.{key}: ") as caught:
        config_layers.load([("here", {"permissions": {"worker": {key: ["Read", pattern]}}})])
    assert repr(pattern) in caught.value.message
    assert why in caught.value.message
    assert "Bash(npm test:*)" in caught.value.hint


@pytest.mark.parametrize(
    "name", ["localhost", "Docs.Example.com", "a_b.example", "x.example.", "*.x.example", "x.io:22"]
)
def test_a_host_name_may_be_written_down(name: str) -> None:
    assert config_layers.load([("here", {"box": {"domains": [name]}})]).box.domains == [name]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "no host name"),
        ("*", "network = host"),
        ("http://foo/", "is an address"),
        ("foo.example/docs", "is an address"),
        ("foo bar", "no host name"),
        ("*example.com", "no host name"),
        ("a.*.example", "no host name"),
        ("müller.example", "no host name"),
        ("10.0.0.1", "is a number"),
        ("0x7f000001", "is a number"),
        ("::1", "no host name"),
        ("x.example:0", "no port 0"),
        ("x.example:99999", "no port 99999"),
        ("*.x.example:8443", "only a whole name"),
    ],
)
def test_what_the_proxy_would_never_let_through_is_refused(name: str, why: str) -> None:
    with pytest.raises(ConfigError, match=r"here: box\.domains: ") as caught:
        config_layers.load([("here", {"box": {"domains": ["x.example", name]}})])
    assert why in caught.value.message
    assert "docs.example.com" in caught.value.hint
