"""A repository's own configuration narrows at once; whatever it widens waits for the person."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windlass.core import config, config_layers, config_rules, project_config
from windlass.core.box_spec import NETWORKS
from windlass.core.config import Config
from windlass.core.config_roles import RoleSettings
from windlass.core.ids import RoleName
from windlass.core.project_config import Judged, Line
from windlass.core.roles import SHIPPED, WIDER

NAMES = ("worker", "manager", "reviewer")
WORDS = st.lists(st.sampled_from(["Read", "Write", "Bash", "Glob"]), max_size=4, unique=True)
HOSTS = st.lists(st.sampled_from(["a.example", "b.example", "c.example"]), max_size=3, unique=True)
COUNT = st.integers(0, 40)
POSITIVE = st.integers(1, 40)
MONEY = st.one_of(st.just(0), st.floats(0, 100), st.integers(0, 100))
PERIOD = st.one_of(st.floats(0.1, 10_000), st.just(math.inf))
TEXT = st.sampled_from(["", "standin", "make", "evil --now"])
LEVEL = st.sampled_from(["auto", "required", "box", "hooks"])
REACH = st.sampled_from(NETWORKS)
BOX_LIMITS = (
    *("memory_mb", "processes", "open_files", "file_mb", "temp_mb", "disk_mb", "store_mb"),
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "driver": TEXT,
    "model": TEXT,
    "max_agents": POSITIVE,
    "diff_tool": TEXT,
    "isolation": LEVEL,
    "network": REACH,
    "allow_agent_questions": st.booleans(),
    "notices": st.sampled_from(["roots", "all"]),
    "status_file": st.booleans(),
    "pipeline": TEXT,
    "workspace.setup": TEXT,
    "workspace.teardown": TEXT,
    "workspace.timeout": PERIOD,
    "workspace.include": WORDS,
    "box.domains": HOSTS,
    "box.toolchains": WORDS,
    "box.env": WORDS,
    **{f"box.{name}": COUNT for name in (*BOX_LIMITS, "home_mb")},
    "gate.commands": WORDS,
    "landing.protected": WORDS,
    "landing.review": st.sampled_from(["", "none", "person"]),
    "landing.max_attempts": POSITIVE,
    "landing.mode": st.sampled_from(["local", "push", "pr"]),
    "landing.remote": TEXT,
    "landing.method": st.sampled_from(["merge", "squash"]),
    "landing.unsigned": st.booleans(),
    "policy.shell": st.sampled_from(["guided", "strict"]),
    "trash.ignored_mb": COUNT,
    "trash.ignored_files": COUNT,
    **{key: COUNT for key in config.ABOUT if key.startswith("retention.")},
    "claude.config": st.sampled_from(["inherit", "own"]),
    "gate.check": st.lists(st.fixed_dictionaries({"name": TEXT, "run": TEXT}), max_size=2),
    "gate.setup": TEXT,
    "gate.setup_network": st.booleans(),
    "gate.setup_domains": WORDS,
    **{f"gate.{name}": WORDS for name in ("deps", "inputs", "versions", "cache")},
    "gate.network": st.booleans(),
    "gate.box": st.booleans(),
    "run.sessions": st.sampled_from(["headless", "live"]),
    "landing.target": TEXT,
    "landing.unproven": TEXT,
    "claude.token_file": TEXT,
    "claude.api_key_file": TEXT,
    "claude.bring": st.lists(st.sampled_from(["CLAUDE.md", "rules", "skills"]), unique=True),
    "claude.mcp": WORDS,
    "budget.agent": MONEY,
    "budget.day": MONEY,
    "budget.repo": MONEY,
    "budget.run": MONEY,
    "budget.step": MONEY,
    "budget.window": st.integers(0, 100),
    "mail.rate": POSITIVE,
    "mail.inbox": POSITIVE,
    "nudges.first": PERIOD,
    "nudges.most": COUNT,
    "nudges.uncommitted": st.booleans(),
    "notify.command": TEXT,
    "status_node.enabled": st.booleans(),
    "status_node.update_interval": PERIOD,
    "status_node.max_messages": COUNT,
    "status_node.include_children_count": st.booleans(),
    **{
        f"roles.{name}.{key}": values
        for name in NAMES
        for key, values in {
            "driver": TEXT,
            "model": TEXT,
            "isolation": st.one_of(LEVEL, st.just("")),
            "network": st.one_of(REACH, st.just("")),
            **dict.fromkeys(WIDER, st.booleans()),
            "mode": st.sampled_from(["", "once", "loop", "live"]),
            **dict.fromkeys(("iterations", "turns", "timeout"), POSITIVE),
            "supervisor_interval": COUNT,
        }.items()
    },
    **{f"permissions.{name}.{which}": WORDS for name in NAMES for which in ("allow", "deny")},
}
"""Some values of every key that there is; of roles two that are shipped and one that is not."""


def nested(flat: dict[str, Any]) -> dict[str, Any]:
    """Tables as TOML has them, from dotted keys."""
    layer: dict[str, Any] = {}
    for key, value in flat.items():
        *tables, last = key.split(".")
        table = layer
        for name in tables:
            table = table.setdefault(name, {})
        table[last] = value
    return layer


@st.composite
def both(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A person's layer and a repository's, about the same few keys, or these meet too seldom."""
    tail = draw(st.sampled_from(["", "", "isolation", "network", "allow", "deny", "spawns"]))
    some = sorted(key for key in VALUES if key.endswith(tail))
    keys = draw(st.lists(st.sampled_from(some), min_size=1, max_size=6, unique=True))
    user, project = (
        {key: draw(VALUES[key]) for key in keys if draw(st.integers(0, 3))} for _ in range(2)
    )
    return nested(user), nested(project)


def judged(project: dict[str, Any], own: Config, accepted: tuple[str, ...] = ()) -> Judged:
    lines = project_config.widening(project, own)
    return project_config.judge(project, own, lines, accepted=accepted)


def in_force(user: dict[str, Any], project: dict[str, Any], *, boxed: bool = False) -> Config:
    done = judged(project, config_layers.merged([user]))
    return config_layers.merged([user, done.boxed if boxed else done.layer])


def waiting(user: dict[str, Any], project: dict[str, Any]) -> list[str]:
    return [line.key for line in judged(project, config_layers.merged([user])).waiting]


# What it means that one configuration gives agents no more than another: written for itself, not
# by the table that is tested.
STRENGTH = {"hooks": 0, "auto": 1, "required": 2, "box": 2}
UNCHANGED = (
    *("driver", "model", "diff_tool", "workspace.setup", "workspace.teardown", "gate.commands"),
    *("gate.check", "gate.setup", "gate.deps", "gate.inputs", "gate.versions", "gate.cache"),
    *(
        "landing.target",
        "landing.remote",
        "landing.method",
        "landing.unsigned",
        "landing.unproven",
        "trash.ignored_mb",
    ),
    *("trash.ignored_files", "retention", "claude", "notify"),
)
LIMITS = (
    *("budget.agent", "budget.day", "budget.repo", "budget.run", "budget.step"),
    "workspace.timeout",
)


def _at(whole: Config, place: str) -> Any:
    held: Any = whole
    for part in place.split("."):
        held = getattr(held, part)
    return held


def _limit(whole: Config, place: str) -> float:
    return _at(whole, place) or math.inf


def gives_no_more(now: Config, before: Config) -> None:
    """Asserts that nothing in a configuration lets agents do more, or runs anything else."""
    for place in UNCHANGED:
        assert _at(now, place) == _at(before, place), place
    for place in (*LIMITS, *(f"box.{name}" for name in BOX_LIMITS)):
        assert _limit(now, place) <= _limit(before, place), place
    assert (config.home_mb(now) or math.inf) <= (config.home_mb(before) or math.inf)
    assert (now.max_agents or math.inf) <= (before.max_agents or math.inf)
    assert (now.max_agents or 10) <= (before.max_agents or 10), "what agents may start"
    for place in ("mail.rate", "mail.inbox", "nudges.most", "status_node.max_messages"):
        assert _at(now, place) <= _at(before, place), place
    for place in ("nudges.first", "status_node.update_interval"):
        assert _at(now, place) >= _at(before, place), place
    for place in ("allow_agent_questions", "status_file", "status_node.enabled"):
        assert _at(now, place) <= _at(before, place), place
    for place in ("gate.network", "gate.setup_network"):
        assert _at(now, place) <= _at(before, place), place
    assert now.gate.box >= before.gate.box
    reached = before.gate.setup_domains
    assert not reached or now.gate.setup_domains
    assert not reached or set(now.gate.setup_domains) <= set(reached), "none named is all"
    assert now.notices in (before.notices, "roots")
    for place in ("box.domains", "box.toolchains", "box.env"):
        assert set(_at(now, place)) <= set(_at(before, place)), place
    assert set(now.landing.protected) >= set(before.landing.protected)
    for name in map(RoleName, NAMES):
        _gives_a_role_no_more(now, before, name)


def _gives_a_role_no_more(now: Config, before: Config, name: RoleName) -> None:
    isolation, network = config.confinement(now, name)
    was, was_network = config.confinement(before, name)
    assert STRENGTH[isolation] >= STRENGTH[was]
    assert NETWORKS.index(network) <= NETWORKS.index(was_network)
    tools, had = config.role_tools(now, name), config.role_tools(before, name)
    assert set(tools.allow) <= set(had.allow)
    assert set(tools.deny) >= set(had.deny)
    role, had_role = config.role_settings(now, name), config.role_settings(before, name)
    assert (role.driver or now.driver) == (had_role.driver or before.driver)
    assert (role.model or now.model) == (had_role.model or before.model)
    for trait, wider in WIDER.items():
        assert getattr(role, trait) is not wider or getattr(had_role, trait) is wider, trait


def test_the_values_above_are_of_every_key_that_there_is() -> None:
    assert set(VALUES) >= set(config.ABOUT)


@settings(max_examples=400)
@given(both())
def test_whatever_a_repository_says_gives_agents_no_more_than_the_person_does(
    said: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    user, project = said
    gives_no_more(in_force(user, project), config_layers.merged([user]))


@given(both())
def test_in_a_box_only_commands_that_run_in_it_are_added(
    said: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    user, project = said
    own = config_layers.merged([user])
    boxed = in_force(user, project, boxed=True)
    for place in config_rules.IN_BOXES:
        assert not _at(own, place) or _at(boxed, place) == _at(own, place)
    plain = msgspec.structs.replace(
        boxed,
        workspace=msgspec.structs.replace(
            boxed.workspace, setup=own.workspace.setup, teardown=own.workspace.teardown
        ),
        gate=own.gate,
    )
    gives_no_more(plain, own)


@given(both())
def test_what_is_accepted_counts_to_the_letter_and_nothing_else_of_it_waits(
    said: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    user, project = said
    own = config_layers.merged([user])
    lines = project_config.widening(project, own)
    done = judged(project, own, tuple(line.digest for line in lines))
    assert all(line.personal for line in done.waiting)
    whole = config_layers.merged([user, done.layer])
    for line in lines:
        if not line.personal:
            assert msgspec.to_builtins(config.value(whole, line.key)) == line.value


@given(both())
def test_what_does_not_wait_is_in_force_and_what_waits_changes_nothing(
    said: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    user, project = said
    own = config_layers.merged([user])
    missing = set(waiting(user, project))
    whole = in_force(user, project)
    for key, value in config.flatten(project).items():
        rule = config_rules.rule(key)
        now = config.value(whole, key)
        if key in missing:
            assert now == config.value(own, key)
        elif rule is not None and rule.added:
            assert set(value) <= set(now)
        else:
            assert now == value


@pytest.mark.parametrize(
    ("user", "project", "keys"),
    [
        ({}, {"isolation": "hooks"}, ["isolation"]),
        ({}, {"isolation": "required", "network": "none"}, []),
        ({"isolation": "hooks"}, {"isolation": "auto"}, []),
        ({"isolation": "required"}, {"roles": {"worker": {"isolation": "auto"}}},
         ["roles.worker.isolation"]),
        ({"roles": {"worker": {"network": "none"}}}, {"roles": {"worker": {"network": ""}}},
         ["roles.worker.network"]),
        ({"roles": {"worker": {"network": "none"}}}, {"roles": {"new": {"network": "proxy"}}},
         ["roles.new.network"]),
        ({}, {"roles": {"new": {"spawns": True, "persistent": False}}}, ["roles.new.spawns"]),
        ({}, {"budget": {"agent": 0}}, ["budget.agent"]),
        ({}, {"budget": {"agent": 10, "day": 50.0, "repo": 5}}, []),
        ({}, {"budget": {"agent": 10.5}}, ["budget.agent"]),
        ({"budget": {"repo": 5}}, {"budget": {"repo": 0}}, ["budget.repo"]),
        ({"budget": {"day": 0}}, {"budget": {"day": 1000}}, []),
        ({}, {"max_agents": 10}, []),
        ({}, {"max_agents": 11}, ["max_agents"]),
        ({"max_agents": 30}, {"max_agents": 20}, []),
        ({}, {"workspace": {"setup": "make", "timeout": 700}},
         ["workspace.setup", "workspace.timeout"]),
        ({}, {"workspace": {"timeout": 5}}, []),
        ({}, {"box": {"env": ["AWS_SECRET"], "toolchains": ["~/.ssh"], "domains": ["a.example"]}},
         ["box.env", "box.toolchains", "box.domains"]),
        ({"box": {"domains": ["a.example", "b.example"]}}, {"box": {"domains": ["b.example"]}}, []),
        ({}, {"box": {"memory_mb": 0}}, ["box.memory_mb"]),
        ({}, {"box": {"memory_mb": 512}}, []),
        ({}, {"permissions": {"worker": {"allow": ["Bash"], "deny": ["WebFetch"]}}},
         ["permissions.worker.allow"]),
        ({}, {"permissions": {"new": {"allow": ["Bash"]}}}, ["permissions.new.allow"]),
        ({}, {"diff_tool": "evil", "driver": "standin", "model": "large"},
         ["diff_tool", "driver", "model"]),
        ({}, {"claude": {"config": "own", "token_file": "/x"}},
         ["claude.config", "claude.token_file"]),
        ({}, {"gate": {"commands": ["true"]}}, ["gate.commands"]),
        ({}, {"nudges": {"first": 0.1, "most": 1000}}, ["nudges.first", "nudges.most"]),
        ({}, {"notify": {"command": "curl evil"}}, ["notify.command"]),
        ({}, {"driver": "claude", "roles": {"worker": {"driver": "claude"}}}, []),
    ],
)  # fmt: skip
def test_a_key_waits_or_counts_at_once(
    user: dict[str, Any], project: dict[str, Any], keys: list[str]
) -> None:
    assert waiting(user, project) == keys


def test_denials_and_protected_paths_of_a_repository_come_on_top_of_the_persons() -> None:
    user = {"permissions": {"worker": {"deny": ["A"]}}, "landing": {"protected": ["x"]}}
    project = {"permissions": {"worker": {"deny": ["B", "A"]}}, "landing": {"protected": ["y"]}}
    whole = in_force(user, project)
    assert whole.permissions[RoleName("worker")].deny == ["A", "B"]
    assert whole.landing.protected == ["x", "y"]


def test_a_table_of_a_role_stays_though_all_of_it_waits() -> None:
    whole = in_force({}, {"roles": {"new": {"model": "large"}}})
    assert whole.roles == {RoleName("new"): RoleSettings()}


LINE = Line("isolation", "hooks", "auto")


@pytest.mark.parametrize(
    "other",
    [
        LINE._replace(key="roles.worker.isolation"),
        LINE._replace(value="auto"),
        LINE._replace(instead_of="required"),
        Line("isolation", ["hooks"], "auto"),
    ],
)
def test_another_key_value_or_person_s_own_value_is_another_line(other: Line) -> None:
    assert other.digest != LINE.digest
    assert Line(*LINE).digest == LINE.digest


def test_a_value_that_means_the_same_is_the_same_line() -> None:
    (whole,) = project_config.widening({"budget": {"agent": 20}}, Config())
    (real,) = project_config.widening({"budget": {"agent": 20.0}}, Config())
    assert whole.digest == real.digest


def test_who_tightens_their_own_configuration_is_asked_again() -> None:
    project = {"roles": {"worker": {"isolation": "hooks"}}}
    (line,) = project_config.widening(project, Config())
    strict = config_layers.merged([{"isolation": "required"}])
    (again,) = judged(project, strict, (line.digest,)).waiting
    assert again.instead_of == "required"


def test_what_is_the_persons_alone_waits_for_ever() -> None:
    project = {"notify": {"command": "x"}}
    (line,) = project_config.widening(project, Config())
    assert judged(project, Config(), (line.digest,)).waiting == [line]


def test_the_page_about_it_names_every_key_that_counts_at_once() -> None:
    page = Path(__file__).parents[2] / "docs" / "trust.md"
    table, _, rest = page.read_text().partition("What a role leaves empty")
    assert [key for key in config_rules.RULES if f"`{key}`" not in table] == []
    assert [key for key in config_rules.IN_BOXES if f"`{key}`" not in rest] == []


@pytest.mark.parametrize("named", [config_rules.RULES, config_rules.IN_BOXES])
def test_the_table_names_keys_that_there_are(named: Callable[..., Any]) -> None:
    keys = {key.replace("*", SHIPPED[0]) for key in named}  # type: ignore[attr-defined]
    assert keys <= set(config.ABOUT)
    assert not keys & config.PERSONAL
