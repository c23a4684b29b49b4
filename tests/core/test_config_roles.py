"""Configuration per role: any name, and no way around what is said about workers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core import config, config_layers, project_config
from windlass.core.box_spec import NETWORKS
from windlass.core.errors import ConfigError
from windlass.core.ids import RoleName
from windlass.core.roles import MANAGER

REVIEWER = RoleName("reviewer")


def in_force(user: dict[str, Any], project: dict[str, Any]) -> config.Config:
    """What a person and a repository have configured together."""
    own = config_layers.load([("user", user)])
    lines = project_config.widening(project, own)
    judged = project_config.judge(project, own, lines, accepted=())
    return config_layers.merged([user, judged.layer])


def roles(**tables: dict[str, Any]) -> dict[str, Any]:
    return {"roles": tables}


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("roles.reviewer.driver", "standin", "standin"),
        ("roles.reviewer.network", "none", "none"),
        ("roles.reviewer.readonly", "true", True),
        ("roles.worker.spawns", "false", False),
    ],
)
def test_a_key_of_any_role_is_read_as_what_it_wants(key: str, text: str, value: object) -> None:
    assert config.parse(key, text) == value
    assert config.about(key)
    assert not config.is_list(key)
    assert config.value(config.Config(), key) in ("", None)


def test_the_patterns_of_any_role_are_lists() -> None:
    key = "permissions.reviewer.allow"
    assert config.is_list(key)
    assert config.value(config.Config(), key) == []
    whole = config_layers.load([("here", {"permissions": {"reviewer": {"allow": ["Read"]}}})])
    assert config.value(whole, key) == ["Read"]
    with pytest.raises(ConfigError, match=r"here: permissions\.reviewer\.deny: 'Bash\(git'"):
        config_layers.load([("here", {"permissions": {"reviewer": {"deny": ["Bash(git"]}}})])


@pytest.mark.parametrize(
    "key",
    [
        *("roles.reviewer", "roles.reviewer.speed", "roles.Reviewer.driver", "roles.all.driver"),
        *("roles.a.b.driver", "roles..driver", "roles.driver", "permissions.reviewer.spawns"),
        "roles",
    ],
)
def test_what_is_no_key_of_a_role_is_refused(key: str) -> None:
    with pytest.raises(ConfigError, match="unknown key"):
        config.require_key(key)


@pytest.mark.parametrize("table", ["roles", "permissions"])
@pytest.mark.parametrize("name", ["Reviewer", "all", "a.b", "person"])
def test_a_table_of_no_role_is_refused_with_its_place_even_if_empty(table: str, name: str) -> None:
    with pytest.raises(ConfigError, match=rf"here: \[{table}\.{name}\]: "):
        config_layers.load([("here", {table: {name: {}}})])


@pytest.mark.parametrize("layer", [roles(worker={"spawns": "yes"}), {"roles": 3}, roles(x=3)])  # type: ignore[arg-type]
def test_a_value_of_the_wrong_kind_is_refused(layer: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="here: "):
        config_layers.load([("here", layer)])


@pytest.mark.parametrize(
    ("user", "project", "kept"),
    [
        ({}, {"spawns": True, "persistent": True, "readonly": True}, {"readonly": True}),
        ({}, {"spawns": False, "readonly": False}, {"spawns": False}),
        ({"spawns": True}, {"spawns": True}, {"spawns": True}),
        ({"spawns": True}, {"spawns": False}, {"spawns": False}),
        ({"spawns": False}, {"spawns": True}, {}),
        ({"readonly": True}, {"readonly": False}, {}),
    ],
)
@pytest.mark.parametrize("name", ["reviewer", "worker", "manager"])
def test_a_repository_takes_from_a_role_and_gives_nothing_to_it(
    name: str, user: dict[str, Any], project: dict[str, Any], kept: dict[str, Any]
) -> None:
    own = config_layers.load([("user", roles(**{name: user}))])
    layer = roles(**{name: project})
    lines = project_config.widening(layer, own)
    assert project_config.judge(layer, own, lines, accepted=()).layer == roles(**{name: kept})


_LEVELS = st.sampled_from(["auto", "required", "box", "hooks", ""])
_REACH = st.sampled_from([*NETWORKS, ""])
_TABLE = st.fixed_dictionaries({}, optional={"isolation": _LEVELS, "network": _REACH})
_STRENGTH = {"hooks": 0, "auto": 1, "required": 2, "box": 2}


@given(_TABLE, _TABLE, _TABLE)
def test_a_new_name_is_no_way_out_of_what_workers_are_confined_to(
    general: dict[str, str], worker: dict[str, str], theirs: dict[str, str]
) -> None:
    said = {key: value for key, value in general.items() if value}
    user = {**said, **roles(worker=worker)}
    isolation, network = config.confinement(in_force(user, roles(reviewer=theirs)), REVIEWER)
    usual, usual_network = config.confinement(in_force(user, {}), RoleName("worker"))
    assert _STRENGTH[isolation] >= _STRENGTH[usual]
    assert NETWORKS.index(network) <= NETWORKS.index(usual_network)


def test_what_a_new_role_leaves_unsaid_is_as_for_workers_and_not_as_for_managers() -> None:
    whole = config_layers.load(
        [
            ("user", roles(worker={"driver": "standin"}, manager={"model": "large"})),
            ("user", {"permissions": {"worker": {"allow": ["A"], "deny": ["B"]}}}),
            ("user", {"permissions": {"reviewer": {"allow": ["C"], "deny": ["D"]}}}),
        ]
    )
    own = config.role_settings(whole, REVIEWER)
    assert (own.driver, own.model) == ("standin", "")
    assert config.role_settings(whole, MANAGER).driver == ""
    tools = config.role_tools(whole, REVIEWER)
    assert (tools.allow, tools.deny) == (["A", "C"], ["B", "D"])
    assert config.role_tools(whole, MANAGER).allow == []


def test_workers_do_not_start_agents_by_being_a_new_roles_model() -> None:
    whole = config_layers.load([("user", roles(worker={"spawns": True}))])
    assert config.role_settings(whole, REVIEWER).spawns is None
