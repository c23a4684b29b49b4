"""Configuration is looked at and changed, also beside what is wrong in it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.workshop import Workshop

from windlass.core.errors import ConfigError, NotFound
from windlass.daemon.kernel import settings

WRONG = """# mine
drvier = "standin"
max_agents = "many"
[box]
memry_mb = 3
"""


def users(workshop: Workshop) -> Path:
    return workshop.context.folders.home / "config.toml"


def projects(workshop: Workshop) -> Path:
    path = workshop.repo / settings.PROJECT_FILE
    path.parent.mkdir(exist_ok=True)
    return path


FILES = pytest.mark.parametrize("file", [users, projects])


def change(workshop: Workshop, file: Callable[[Workshop], Path], verb: str, **what: str) -> Any:
    return workshop.ask(f"config.{verb}", user=file is users, **what)


def wrong_keys(reply: Any) -> list[str]:
    return [problem["key"] for problem in reply["problems"]]


@FILES
def test_what_is_in_force_beside_wrong_keys_is_shown_with_all_that_is_wrong(
    workshop: Workshop, file: Callable[[Workshop], Path]
) -> None:
    file(workshop).write_text(f"budget.day = 3\n{WRONG}")
    reply = workshop.ask("config")
    assert reply["settings"]["budget.day"]["value"] == 3
    assert reply["settings"]["max_agents"] == {
        "value": None,
        "origin": "default",
        "about": reply["settings"]["max_agents"]["about"],
    }
    assert wrong_keys(reply) == ["drvier", "max_agents", "box.memry_mb"]
    assert all(str(file(workshop)) in problem["message"] for problem in reply["problems"])
    shown = workshop.ask("config", config_key="budget.day")["settings"]
    assert shown["budget.day"]["value"] == 3


@FILES
def test_wrong_keys_are_mended_one_by_one_and_other_keys_changed_meanwhile(
    workshop: Workshop, file: Callable[[Workshop], Path]
) -> None:
    file(workshop).write_text(WRONG)
    reply = change(workshop, file, "set", config_key="model", value="m")
    assert reply["settings"]["model"]["value"] == "m"
    reply = change(workshop, file, "add", config_key="gate.commands", value="make")
    assert wrong_keys(reply) == ["drvier", "max_agents", "box.memry_mb"]
    reply = change(workshop, file, "remove", config_key="drvier")
    assert wrong_keys(reply) == ["max_agents", "box.memry_mb"]
    reply = change(workshop, file, "set", config_key="max_agents", value="4")
    assert wrong_keys(reply) == ["box.memry_mb"]
    reply = change(workshop, file, "remove", config_key="box.memry_mb")
    assert reply["problems"] == []
    text = file(workshop).read_text()
    assert text.startswith("# mine\n")
    assert tomllib.loads(text) == {
        "model": "m",
        "max_agents": 4,
        "box": {},
        "gate": {"commands": ["make"]},
    }


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("roles = 3\n", "roles"),
        ("box = 'small'\n", "box"),
        ("[box.env]\nx = 1\n", "box.env.x"),
        ("[box.env]\nx = 1\n", "box.env"),
        ("['roles.worker']\nmodel = 'm'\n", "roles.worker.model"),
        ("['a.b'.c]\nd = 1\n", "a.b.c.d"),
        ("[bx]\nmemory_mb = 1\nfile_mb = 2\n", "bx"),
        ("[bx]\n", "bx"),
        ("[roles.Worker]\nmodel = 'm'\n", "roles.Worker"),
        ("[permissions.worker.allow]\nx = 1\n", "permissions.worker.allow.x"),
    ],
)
def test_whatever_stands_where_it_does_not_belong_is_named_and_can_be_removed(
    workshop: Workshop, text: str, key: str
) -> None:
    projects(workshop).write_text(f"budget.day = 3\n{text}")
    reply = workshop.ask("config")
    assert reply["settings"]["budget.day"]["value"] == 3
    assert wrong_keys(reply)
    assert change(workshop, projects, "remove", config_key=key)["problems"] == []
    assert workshop.ask("config")["settings"]["budget.day"]["value"] == 3


@pytest.mark.parametrize("text", ["[box]\nmemory_mb = 1\nmemry_mb = 2\n", "[box]\nmemory_mb = 1\n"])
def test_a_table_that_holds_what_is_right_is_not_removed_as_a_whole(
    workshop: Workshop, text: str
) -> None:
    projects(workshop).write_text(text)
    with pytest.raises(ConfigError, match="unknown key 'box'"):
        change(workshop, projects, "remove", config_key="box")
    assert projects(workshop).read_text() == text


def test_a_misspelt_key_that_is_nowhere_is_neither_set_nor_removed(workshop: Workshop) -> None:
    for verb in ("set", "remove", "add"):
        with pytest.raises(ConfigError, match="unknown key 'drvier'"):
            change(workshop, projects, verb, config_key="drvier", **_VALUES[verb])
    with pytest.raises(NotFound, match="model is not set"):
        change(workshop, projects, "remove", config_key="model")
    assert not projects(workshop).exists()


_VALUES: dict[str, dict[str, str]] = {"set": {"value": "x"}, "add": {"value": "x"}, "remove": {}}


@pytest.mark.parametrize("text", [b"[[[", b"model = '\xff'\n"])
@FILES
def test_a_file_that_is_no_toml_is_left_alone_and_the_other_can_be_changed(
    workshop: Workshop, file: Callable[[Workshop], Path], text: bytes
) -> None:
    file(workshop).write_bytes(text)
    other = users if file is projects else projects
    reply = change(workshop, other, "set", config_key="model", value="m")
    assert reply["settings"]["model"]["value"] == "m"
    (problem,) = reply["problems"]
    assert f"{file(workshop)} is not valid TOML" in problem["message"]
    with pytest.raises(ConfigError, match="is not valid TOML"):
        change(workshop, file, "set", config_key="model", value="m")
    assert file(workshop).read_bytes() == text
