"""What a repository's own configuration may do before, and after, the person has accepted it."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.support.workshop import Workshop, git

from windlass.core.config import Config, LandingSettings, confinement, role_tools
from windlass.core.config_layers import Usable
from windlass.core.errors import ConfigError, Conflict, NotFound, UserError, WindlassError
from windlass.core.ids import RoleName
from windlass.daemon.kernel import accepted_lines, project_file, settings
from windlass.project import role_files

WORKER = RoleName("worker")
HOSTILE = """
isolation = "hooks"
network = "host"
diff_tool = "evil"
[workspace]
setup = "touch ../set-up"
[box]
env = ["AWS_SECRET_ACCESS_KEY"]
toolchains = ["~/.ssh"]
[budget]
agent = 0
day = 0
[permissions.worker]
allow = ["Bash"]
[roles.worker]
network = ""
isolation = "hooks"
[roles.lead]
spawns = true
"""
PERSONAL = Config(landing=LandingSettings(unproven="a test without a gate"))
"""What is in force in a workshop: its person's own file, and nothing of the repository's."""
WIDENED = [
    *("isolation", "diff_tool", "workspace.setup", "box.env", "box.toolchains", "budget.agent"),
    *("budget.day", "permissions.worker.allow", "roles.worker.isolation", "roles.lead.spawns"),
]


def write(workshop: Workshop, text: str) -> Path:
    path = workshop.repo / settings.PROJECT_FILE
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def known(workshop: Workshop) -> Usable:
    return settings.usable(workshop.context.folders.home, str(workshop.repo))


def waiting(workshop: Workshop) -> list[str]:
    return [line["key"] for line in workshop.ask("trust")["waiting"]]


def accept(workshop: Workshop) -> Any:
    shown = workshop.ask("trust")["waiting"]
    return workshop.ask("trust.accept", digests=[line["digest"] for line in shown])


def spawn(workshop: Workshop, name: str, **more: Any) -> Any:
    return workshop.ask("spawn", goal="g", name=name, driver="standin", **more)


def test_nothing_of_a_hostile_clone_is_in_force(workshop: Workshop) -> None:
    write(workshop, HOSTILE)
    assert known(workshop).whole() == default_with_roles_of(known(workshop).config)
    assert waiting(workshop) == WIDENED
    made = spawn(workshop, "fox", isolation="hooks")
    assert made["waiting"] == WIDENED
    assert not (Path(made["workspace"]).parent / "set-up").exists()
    assert "Bash" not in workshop.agent(made["uid"]).policy.allow


def default_with_roles_of(config: Config) -> Config:
    """The default, with the names that a file has for roles: these alone give nothing."""
    return msgspec.structs.replace(PERSONAL, roles=config.roles, permissions=config.permissions)


def test_what_was_accepted_counts_and_is_remembered_for_the_person_alone(
    workshop: Workshop,
) -> None:
    write(workshop, HOSTILE)
    assert [line["key"] for line in accept(workshop)["accepted"]] == WIDENED
    config = known(workshop).whole()
    assert confinement(config, WORKER) == ("hooks", "host")
    assert role_tools(config, WORKER).allow == ["Bash"]
    assert (config.budget.agent, config.box.toolchains) == (0, ["~/.ssh"])
    made = spawn(workshop, "fox")
    assert made["waiting"] == []
    assert (Path(made["workspace"]).parent / "set-up").exists()
    kept = workshop.context.folders.home / accepted_lines.FILE
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_only_what_was_shown_is_accepted(workshop: Workshop) -> None:
    write(workshop, 'isolation = "hooks"\n[workspace]\nsetup = "make"\n')
    shown = [line["digest"] for line in workshop.ask("trust")["waiting"]]
    write(workshop, 'isolation = "hooks"\n[workspace]\nsetup = "make evil"\n')
    with pytest.raises(Conflict, match="no longer what was shown"):
        workshop.ask("trust.accept", digests=shown)
    assert waiting(workshop) == ["isolation", "workspace.setup"]


def test_a_line_that_changes_waits_again_and_no_other_does(workshop: Workshop) -> None:
    write(workshop, 'isolation = "hooks"\n[workspace]\nsetup = "make"\n')
    accept(workshop)
    write(workshop, '# said otherwise\nworkspace.setup = "make more"\nisolation = "hooks"\n')
    assert waiting(workshop) == ["workspace.setup"]
    assert known(workshop).config.workspace.setup == ""
    accept(workshop)
    write(workshop, 'workspace.setup = "make"\nisolation = "hooks"\n')
    assert waiting(workshop) == ["workspace.setup"], "what was accepted last counts"


def test_what_is_taken_back_waits_again(workshop: Workshop) -> None:
    write(workshop, 'isolation = "hooks"\ndiff_tool = "meld"\n')
    accept(workshop)
    workshop.ask("trust.revoke", keys=["diff_tool"])
    assert waiting(workshop) == ["diff_tool"]
    with pytest.raises(NotFound, match="model was not accepted"):
        workshop.ask("trust.revoke", keys=["model"])
    assert workshop.ask("trust.revoke")["accepted"] == []
    assert waiting(workshop) == ["isolation", "diff_tool"]
    kinds = [event["kind"] for event in workshop.ask("log", last=20)]
    assert [kind for kind in kinds if kind.startswith("config.")] == [
        *("config.accepted", "config.revoked", "config.revoked")
    ]


def test_another_repository_in_the_same_folder_is_asked_about_again(workshop: Workshop) -> None:
    write(workshop, 'diff_tool = "meld"\n')
    accept(workshop)
    moved = workshop.repo.with_name("moved")
    workshop.repo.rename(moved)
    workshop.repo.mkdir()
    git(workshop.repo, "init", "-q", "-b", "main")
    git(workshop.repo, "commit", "-q", "--allow-empty", "-m", "theirs")
    write(workshop, 'diff_tool = "meld"\n')
    assert known(workshop).config.diff_tool == ""
    home = workshop.context.folders.home
    assert settings.load(home, str(moved)).diff_tool == "meld", "it is the same one, moved"
    shutil.rmtree(moved)


@pytest.mark.parametrize("text", ["{", "[]", '{"x": [{"digest": 3}]}', "\xff"])
def test_what_was_accepted_and_cannot_be_read_accepts_nothing(
    workshop: Workshop, text: str
) -> None:
    write(workshop, 'isolation = "hooks"\n')
    accept(workshop)
    (workshop.context.folders.home / accepted_lines.FILE).write_bytes(text.encode("latin-1"))
    assert waiting(workshop) == ["isolation"]
    accept(workshop)
    assert waiting(workshop) == []


def _link(path: Path) -> None:
    elsewhere = path.parent.parent / "elsewhere.toml"
    elsewhere.write_text("max_agents = 1\n")
    path.symlink_to(elsewhere)


def _linked_folder(path: Path) -> None:
    elsewhere = path.parent.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / path.name).write_text("max_agents = 1\n")
    path.parent.rmdir()
    path.parent.symlink_to(elsewhere)


def _large(path: Path) -> None:
    path.write_text("max_agents = 1\n#" + "x" * project_file.LARGEST)


def _many(path: Path) -> None:
    path.write_text("".join(f"[roles.a{number}]\nmodel='m'\n" for number in range(501)))


def _deep(path: Path) -> None:
    path.write_text("max_agents = 1\n" + "a." * 20_000 + "b = 1\n")


def _deep_list(path: Path) -> None:
    path.write_text("max_agents = 1\na = " + "[" * 100 + "]" * 100 + "\n")


@pytest.mark.parametrize(
    "put",
    [_link, _linked_folder, os.mkfifo, _large, Path.mkdir, _many, _deep, _deep_list],
)
def test_what_is_no_plain_file_of_a_fair_size_is_neither_read_nor_passed_over_in_silence(
    workshop: Workshop, put: Any
) -> None:
    path = workshop.repo / settings.PROJECT_FILE
    path.parent.mkdir()
    put(path)
    assert known(workshop).config == PERSONAL
    with pytest.raises(ConfigError, match=str(path)):
        known(workshop).whole()
    if put is not _many:
        with pytest.raises(WindlassError):
            workshop.ask("config.set", config_key="isolation", value="hooks")


def test_a_linked_folder_without_such_a_file_is_no_configuration(workshop: Workshop) -> None:
    elsewhere = workshop.repo / "elsewhere"
    elsewhere.mkdir()
    (workshop.repo / ".windlass").symlink_to(elsewhere)
    assert known(workshop).whole() == PERSONAL


def test_a_command_that_runs_in_a_box_needs_no_word_and_one_outside_does(
    workshop: Workshop,
) -> None:
    write(workshop, '[workspace]\nsetup = "make"\nteardown = "make clean"\ntimeout = 5\n')
    both = known(workshop)
    assert (both.at("hooks").workspace.setup, both.at("box").workspace.setup) == ("", "make")
    assert both.at("hooks").workspace.timeout == both.at("box").workspace.timeout == 5
    assert [line.key for line in both.waiting_at("hooks")] == [
        *("workspace.setup", "workspace.teardown")
    ]
    assert both.waiting_at("box") == []
    (workshop.context.folders.home / "config.toml").write_text('[workspace]\nsetup = "mine"\n')
    assert known(workshop).at("box").workspace.setup == "mine"


def test_a_teardown_outside_of_a_box_is_not_run_unasked(workshop: Workshop) -> None:
    write(workshop, '[workspace]\nteardown = "touch ../torn-down"\n')
    for name, expected in (("fox", False), ("owl", True)):
        made = spawn(workshop, name, isolation="hooks")
        workshop.ask("end", agents=[name])
        assert (Path(made["workspace"]).parent / "torn-down").exists() is expected
        accept(workshop)


def test_commands_of_a_repository_are_no_permission_outside_of_a_box(workshop: Workshop) -> None:
    strict = '[policy]\nshell = "strict"\n'
    gate = '[gate]\ncommands = ["evil now"]\n'
    write(workshop, f'{strict}{gate}[workspace]\nsetup = "worse now"\n')
    for command, expected in (("evil now", "deny"), ("worse now", "deny")):
        called = {"tool_name": "Bash", "tool_input": {"command": command}, "cwd": "/x"}
        asked = json.dumps({"hook_event_name": "PreToolUse", **called})
        assert workshop.ask("explain.tool", input=asked)["decision"] == expected
    write(workshop, '[gate]\ncommands = ["evil now"]\n')
    accept(workshop)
    made = spawn(workshop, "fox", isolation="hooks")
    assert "Bash(evil now:*)" in workshop.agent(made["uid"]).policy.allow


def test_what_the_person_types_counts_and_what_stood_beside_it_waits(workshop: Workshop) -> None:
    write(workshop, "[permissions.worker]\nallow = ['Bash']\n")
    key = "permissions.worker.allow"
    reply = workshop.ask("config.add", config_key=key, value="Bash(make:*)")
    assert reply["settings"][key]["value"] == []
    assert [line["value"] for line in reply["waiting"]] == [["Bash", "Bash(make:*)"]]
    workshop.ask("config.remove", config_key=key, value="Bash")
    assert waiting(workshop) == [key], "it was never looked at as a whole"
    workshop.ask("config.remove", config_key=key)
    for word in ("Bash(make:*)", "Bash(npm test:*)"):
        reply = workshop.ask("config.add", config_key=key, value=word)
    assert reply["settings"][key]["value"] == ["Bash(make:*)", "Bash(npm test:*)"]
    assert waiting(workshop) == []
    workshop.ask("config.set", config_key="isolation", value="hooks")
    assert known(workshop).config.isolation == "hooks"
    with pytest.raises(UserError, match="your own configuration"):
        workshop.ask("config.set", config_key="notify.command", value="x")


def test_what_init_writes_with_the_person_s_consent_counts(workshop: Workshop) -> None:
    (workshop.repo / "Makefile").touch()
    assert workshop.ask("init")["waiting"] == []
    done = workshop.ask("init", accept=True)
    assert done["waiting"] == []
    assert set(done["proposed"]) <= set(role_tools(known(workshop).config, WORKER).allow)


def test_what_init_finds_in_a_file_is_not_accepted_by_the_way(workshop: Workshop) -> None:
    (workshop.repo / "Makefile").touch()
    write(workshop, "[permissions.worker]\nallow = ['Bash']\n")
    done = workshop.ask("init", accept=True)
    assert done["waiting"] == ["permissions.worker.allow"]
    assert role_tools(known(workshop).config, WORKER).allow == []


def test_init_writes_through_no_link(workshop: Workshop) -> None:
    (workshop.repo / ".windlass").mkdir()
    target = workshop.context.folders.home / "planted"
    (workshop.repo / settings.PROJECT_FILE).symlink_to(target)
    with pytest.raises(ConfigError, match="is a link"):
        workshop.ask("init")
    assert not target.exists()


def test_what_is_the_persons_alone_is_shown_and_cannot_be_accepted(workshop: Workshop) -> None:
    write(workshop, "[notify]\ncommand = 'curl evil'\n")
    (line,) = workshop.ask("trust")["waiting"]
    assert line["personal"]
    with pytest.raises(Conflict):
        workshop.ask("trust.accept", digests=[line["digest"]])
    assert known(workshop).config.notify.command == ""
    assert workshop.ask("init")["waiting"] == [], "nobody is sent to accept what cannot be"
    assert known(workshop).waiting_at("hooks") == []
    assert "trust" not in {probe["name"] for probe in workshop.ask("doctor")["needed"]}


def test_a_file_of_a_role_gives_nothing_to_a_role_that_it_makes_up(workshop: Workshop) -> None:
    folder = workshop.repo / role_files.FOLDER
    folder.mkdir(parents=True)
    (folder / "lead.md").write_text("---\nspawns: true\npersistent: true\n---\nLead.\n")
    write(workshop, "[roles.lead]\nspawns = true\nreadonly = false\n")
    made = spawn(workshop, "fox", role="lead", isolation="hooks")
    agent = workshop.agent(made["uid"])
    assert (agent.spawns, agent.persistent) == (False, False)
    assert made["withheld"] == ["spawns", "persistent"]
    assert made["waiting"] == ["roles.lead.spawns", "roles.lead.readonly"]


def test_the_doctor_and_the_listing_say_what_waits(workshop: Workshop) -> None:
    write(workshop, 'isolation = "hooks"\n')
    (probe,) = [one for one in workshop.ask("doctor")["needed"] if one["name"] == "trust"]
    assert probe["detail"].startswith("isolation of the repository's .windlass/config.toml waits")
    assert "wl trust" in probe["fix"]
    listed = workshop.ask("config")
    assert listed["settings"]["isolation"] == {
        **listed["settings"]["isolation"], "value": "auto", "origin": "default"
    }  # fmt: skip
    assert [line["key"] for line in listed["waiting"]] == ["isolation"]
    assert workshop.ask("config", config_key="model")["waiting"] == []
    accept(workshop)
    assert not [one for one in workshop.ask("doctor")["needed"] if one["name"] == "trust"]
