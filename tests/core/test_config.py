"""Configuration: layers, errors that name the place, values typed on a command line."""

from __future__ import annotations

import msgspec
import pytest

from windlass.core import config
from windlass.core.config import Config
from windlass.core.errors import ConfigError


def test_every_key_is_described_and_every_description_has_a_key() -> None:
    defaults = config.flatten(msgspec.to_builtins(Config()))
    assert set(config.ABOUT) == set(defaults)


def test_later_layers_win_key_by_key() -> None:
    user = {"driver": "standin", "workspace": {"setup": "make", "timeout": 5}}
    project = {"workspace": {"setup": "npm ci"}}
    merged = config.load([("user", user), ("project", project)])
    assert merged.driver == "standin"
    assert merged.workspace.setup == "npm ci"
    assert merged.workspace.timeout == 5


def test_an_unknown_key_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(ConfigError, match="project: unknown key 'max_agent'") as caught:
        config.load([("project", {"max_agent": 3})])
    assert "max_agents" in caught.value.hint


@pytest.mark.parametrize(
    "layer",
    [{"max_agents": 0}, {"max_agents": "many"}, {"workspace": {"timeout": -1}}, {"driver": 3}],
)
def test_a_value_of_the_wrong_kind_is_refused_with_its_origin(layer: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="here: "):
        config.load([("here", layer)])


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
