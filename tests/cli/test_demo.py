"""The demo and `make setup`: the lines at their ends work as printed."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.cli.told import Told

from windlass.cli.commands import (
    demo,
)
from windlass.cli.demo import project
from windlass.cli.demo.person import Person
from windlass.core.errors import Internal


def test_the_demo_ends_with_commands_that_any_shell_runs_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program is named by its path, and the lines have words that need quotes."""
    folder = tmp_path / "it's here"
    repo = project.make(str(folder))
    program = folder / "wl"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$WINDLASS_HOME" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setenv("WINDLASS_HOME", str(folder / "state"))
    facts = {"seconds": 1, "commits": [], "tasks": {}, "folder": str(folder)}
    demo._sum_up(Told(demo, "--keep"), facts, repo)  # noqa: SLF001 - the end without what comes before it
    shown = capsys.readouterr().out.splitlines()
    assert f"and to be rid of it: rm -rf {shlex.quote(str(folder))}" in shown
    lines = [line for line in shown if "WINDLASS_HOME=" in line]
    said = [
        subprocess.run(["sh", "-c", line], env={}, capture_output=True, text=True, check=True)
        for line in lines
    ]
    asked = [str(folder / "state"), "-C", repo]
    assert [done.stdout.splitlines() for done in said] == [
        [*asked, "board", "list"],
        [*asked, "why", "CHART-1"],
        [*asked, "log", "--landed"],
        [*asked, "queue", "--all"],
    ]


@pytest.mark.parametrize("name", ["pytest", "unittest"])
def test_the_demos_project_is_green_by_its_gates_own_commands(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what is copied of pytest alone, and where there is none."""
    if name == "unittest":
        monkeypatch.setattr(project, "has_pytest", lambda: False)
    repo = project.make(str(tmp_path / "it is here"))
    gate = tomllib.loads((Path(repo) / ".windlass" / "config.toml").read_text())["gate"]
    (check,) = gate["check"]
    assert name in check["run"]
    shell = {"PATH": f"{project.own_python(str(tmp_path))}{os.pathsep}{os.defpath}"}
    for line in (gate.get("setup", "true"), check["run"]):
        subprocess.run(["sh", "-c", line], cwd=repo, env=shell, capture_output=True, check=True)


def test_setup_ends_with_lines_that_make_wl_a_command() -> None:
    setup = Path(__file__).parents[2] / "scripts" / "setup"
    done = subprocess.run([setup, "next"], capture_output=True, text=True, check=True)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("setup:")]
    (export,) = (line for line in lines if "PATH" in line)
    (first,) = (line for line in lines if line.endswith(" demo"))
    for line in (f"{export}\nwl --version", f"{first} --help"):
        shell = {"PATH": os.defpath}
        subprocess.run(["sh", "-c", line], env=shell, capture_output=True, check=True)


def test_a_demo_whose_change_is_held_does_not_wait_for_it() -> None:
    person = Person(Told(demo, log=lambda _: []))
    held = {"kind": "change.stopped", "task": "FLAG-1", "change": "c1", "state": "held"}
    with pytest.raises(Internal, match="c1 is held: no room"):
        person.hear(Told(demo), {**held, "why": "no room"})
