"""`wl doctor` says of a valid configuration what it most likely does not mean."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from windlass.api.wire.setup import ProbeView
from windlass.core.ids import Uid
from windlass.daemon.kernel import settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.setup import disk_kinds, doctor
from windlass.project import role_files


@pytest.fixture
def shop(context: Context) -> Path:
    root = context.folders.home / "shop"
    (root / role_files.FOLDER).mkdir(parents=True)
    return root


def configuration(context: Context, shop: Path, project: str) -> ProbeView:
    """What is said of a project's configuration."""
    (shop / settings.PROJECT_FILE).write_text(project)
    report = doctor.examine(context, str(shop), None, driver="standin")
    (probe,) = (probe for probe in report["needed"] if probe["name"] == "configuration")
    return probe


def test_a_folder_of_programs_in_a_repository_comes_with_a_command_that_works(
    context: Context, shop: Path
) -> None:
    programs = context.folders.home / "tools here" / "bin"
    programs.mkdir(parents=True)
    (programs.parent / ".git").mkdir()
    context.env["PATH"] = str(programs)
    report = doctor.examine(context, str(shop), None, driver="standin")
    (probe,) = (one for one in report["isolation"]["probes"] if one["name"] == "toolchains")
    assert f"{programs} on your PATH is inside a git repository" in probe["detail"]
    *_, value, where = shlex.split(probe["fix"].partition("wl config add box.toolchains")[2])
    assert (value, where) == (str(programs.parent), "--global")


def test_a_misspelt_role_is_named_with_what_was_meant(context: Context, shop: Path) -> None:
    probe = configuration(context, shop, "[roles.wroker]\nmodel = 'opus'\n")
    assert probe["works"]
    assert "[roles.wroker]: nothing says that there is such a role" in probe["detail"]
    assert "if you meant worker, rename it" in probe["fix"]
    assert ".windlass/roles/wroker.md" in probe["fix"]


def test_what_can_be_used_of_a_wrong_configuration_is_looked_at(
    context: Context, shop: Path
) -> None:
    (context.folders.home / settings.USER_FILE).write_text("driver = 'standin'\n")
    (shop / settings.PROJECT_FILE).write_text("max_agents = 'many'\n")
    report = doctor.examine(context, str(shop), None, driver=None)
    assert not report["ok"]
    assert report["driver"] == "standin"


def test_permissions_of_a_role_that_is_not_there_are_named(context: Context, shop: Path) -> None:
    probe = configuration(context, shop, "[permissions.manger]\nallow = ['Bash(make:*)']\n")
    assert "[permissions.manger]" in probe["detail"]
    assert "if you meant manager" in probe["fix"]


@pytest.mark.parametrize(
    "project",
    [
        "",
        "[roles.worker]\nmodel = 'opus'\n[permissions.manager]\nallow = ['Bash(make:*)']\n",
        "[roles.reviewer]\nreadonly = true\n[permissions.reviewer]\nallow = ['Bash(make:*)']\n",
        "[roles.reviewer]\nspawns = false\n",
    ],
)
def test_a_role_that_is_shipped_or_said_to_be_something_is_not_named(
    context: Context, shop: Path, project: str
) -> None:
    assert configuration(context, shop, project)["detail"] == "valid"


def test_a_folder_of_programs_in_a_repository_is_said_to_be_shown_alone(
    context: Context, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = shop / "tools" / "bin"
    tools.mkdir(parents=True)
    (shop / ".git").mkdir(exist_ok=True)
    monkeypatch.setitem(context.env, "PATH", f"/usr/bin:{tools}")
    report = doctor.examine(context, str(shop), None, driver="standin")
    (probe,) = (one for one in report["isolation"]["probes"] if one["name"] == "toolchains")
    assert probe["works"]
    assert str(tools) in probe["detail"]
    assert "box.toolchains" in probe["fix"]


def test_a_disk_that_does_not_say_its_size_is_not_called_full(
    context: Context, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context.folders, "home", Path("/proc"))
    report = doctor.examine(context, str(shop), None, driver="standin")
    (probe,) = (probe for probe in report["needed"] if probe["name"] == "disk")
    assert (probe["works"], probe["detail"]) == (True, "not known how much is free under /proc")


def test_a_role_with_a_file_is_not_named(context: Context, shop: Path) -> None:
    (shop / role_files.FOLDER / "reviewer.md").write_text("Read all of it.\n")
    probe = configuration(context, shop, "[roles.reviewer]\nmodel = 'opus'\n")
    assert probe == {"name": "configuration", "works": True, "detail": "valid", "fix": ""}


def test_what_is_taken_of_the_disk_is_said_by_kind(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = context.folders.session(Uid("fox"), 1)
    session.mkdir(parents=True)
    (session / "screen.log").write_bytes(bytes(1 << 20))
    (session / "events.jsonl").write_bytes(bytes(2 << 20))
    (context.folders.agent(Uid("fox")) / "loop").symlink_to(context.folders.home)
    taken = {view["kind"]: view for view in disk_kinds.taken(context)}
    assert all(view["whole"] for view in taken.values())
    assert taken["store"]["bytes"] > 0
    assert 1 << 20 <= taken["screens"]["bytes"] < 2 << 20
    assert 2 << 20 <= taken["agents"]["bytes"] < 3 << 20
    monkeypatch.setattr(disk_kinds, "_PATIENCE", -1.0)
    assert not any(view["whole"] for view in disk_kinds.taken(context) if view["bytes"])
