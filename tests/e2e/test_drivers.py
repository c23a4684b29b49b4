"""Which driver an agent gets, and what people are told about drivers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.ground import Done, Ground

pytestmark = pytest.mark.slow


def chosen(ground: Ground, *flags: str, env: dict[str, str] | None = None) -> str:
    """The driver that `wl new` looked for; none of these exists."""
    refused: Done = ground.wl("new", *flags, "x", env=env).failed(5)
    return refused.err.split("'")[1]


def test_flag_variable_role_project_and_user_name_the_driver_in_this_order(ground: Ground) -> None:
    (ground.state / "config.toml").write_text("driver = 'of-user'\n")
    assert chosen(ground) == "of-user"
    ground.configure("driver = 'of-project'\n")
    assert chosen(ground) == "of-project"
    ground.configure("driver = 'of-project'\n[roles.worker]\ndriver = 'of-role'\n")
    assert chosen(ground) == "of-role"
    assert chosen(ground, "--manager") == "of-project"
    assert chosen(ground, env={"WINDLASS_DRIVER": "of-shell"}) == "of-shell"
    assert chosen(ground, "--driver", "of-flag", env={"WINDLASS_DRIVER": "of-shell"}) == "of-flag"


def test_a_driver_that_is_not_there_is_refused_with_those_that_are_before_anything_begins(
    ground: Ground,
) -> None:
    refused = ground.wl("new", "--driver", "nonsense", "x").failed(5)
    assert "no driver named 'nonsense'" in refused.err
    assert "known: claude, standin" in refused.err
    assert ground.agents() == []
    assert ground.git("branch", "--list", "agent/*") == ""
    for key in ("driver", "roles.worker.driver", "roles.auditor.driver"):
        refused = ground.wl("config", "set", key, "nonsense").failed(3)
        assert f"{key}: no driver named 'nonsense'" in refused.err
        assert "known: claude, standin" in refused.err
    assert not (ground.folder / "repo" / ".windlass" / "config.toml").exists()
    ground.wl("config", "set", "roles.worker.driver", "standin").ok()
    ground.wl("config", "set", "roles.worker.driver", "").ok()


def test_without_a_word_it_is_claude_and_a_missing_one_comes_with_its_install_line(
    ground: Ground,
) -> None:
    there = [Path(part) for part in ground.env["PATH"].split(os.pathsep)]
    kept = [str(part) for part in there if not (part / "claude").exists()]
    ground.env["PATH"] = os.pathsep.join(kept)
    refused = ground.wl("new", "x").failed(5)
    assert "Claude Code is not installed" in refused.err
    assert "npm install -g" in refused.err
    assert "wl new --driver standin" in refused.err
    assert ground.agents() == []


def test_drivers_are_listed_with_version_and_abilities(ground: Ground) -> None:
    listed = {one["name"]: one for one in ground.wl("drivers", "--json").ok().json()}
    assert set(listed) == {"claude", "standin"}
    assert listed["standin"]["version"]
    assert listed["standin"]["abilities"]["scripts"]
    assert listed["claude"]["default"]
    assert not listed["claude"]["abilities"]["scripts"]


def test_trust_is_only_for_drivers_that_ask_and_only_for_people(ground: Ground) -> None:
    assert ground.wl("drivers", "trust", "standin", "--force", "--json").ok().json()["already"]
    ground.wl("drivers", "trust", "hal", "--force").failed(5)
    ground.new("fox", {"tool": "Bash", "input": {"command": "wl drivers trust standin --force"}})
    ground.wait("fox", states="waiting")
    told = str(ground.events("fox"))
    assert "agents do not accept what people are asked" in told


@pytest.mark.parametrize(
    "flags",
    [("--max-turns", "3"), ("--max-budget", "-1"), ("--time-limit", "soon"), ("--fork", "nobody")],
)
def test_limits_that_make_no_sense_are_refused_and_nobody_starts(
    ground: Ground, flags: tuple[str, ...]
) -> None:
    done = ground.wl("new", "--driver", "standin", *flags, "x")
    assert done.code in (2, 8), done.err
    assert done.err.startswith("wl: ")
    assert ground.agents() == []
