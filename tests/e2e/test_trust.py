"""`wl trust` from end to end: a clone's configuration before and after a person's word."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.ground import Ground

from windlass.core.errors import Denied

pytestmark = pytest.mark.slow

STAY = {"text": "WAITING"}


def clone(ground: Ground, text: str) -> Path:
    """What a repository brings along."""
    file = ground.folder / "repo" / ".windlass" / "config.toml"
    file.parent.mkdir()
    file.write_text(text)
    return file


def test_a_clone_runs_nothing_as_the_person_until_they_have_seen_it(ground: Ground) -> None:
    secret = ground.home / "secret"
    secret.write_text("mine")
    proof = ground.folder / "proof"
    setup = f"cat {secret} > {proof}"
    file = clone(ground, f'isolation = "hooks"\nworkspace.setup = "{setup}; true"\n')
    made = ground.wl("new", "--driver", "standin", "--script", ground.script("a", STAY), "x").ok()
    assert "isolation of .windlass/config.toml waits for your word: wl trust" in made.out
    assert "in a box" in made.out
    assert not proof.exists(), "its setup ran, and in the box"
    shown = ground.wl("trust").failed(2)
    assert f'isolation = "hooks"\n      instead of "auto"\n  workspace.setup = "{setup}; true"' in (
        shown.out
    )
    assert "agents in a box have it already" in shown.out
    assert "no terminal to ask on" in shown.err
    assert not proof.exists()
    ground.wl("trust", "-y").ok()
    ground.new("b", STAY)
    assert proof.read_text() == "mine"
    proof.unlink()
    file.write_text(f'isolation = "hooks"\nworkspace.setup = "{setup} && true"\n')
    told = ground.wl("new", "--driver", "standin", "--script", ground.script("c", STAY), "x").ok()
    assert "workspace.setup of .windlass/config.toml waits" in told.out
    assert not proof.exists(), "it is another line by now"


def test_every_face_says_that_a_line_waits(unboxed: Ground) -> None:
    clone(unboxed, 'diff_tool = "evil"\nmax_agents = 3\n')
    listed = unboxed.wl("config", "list").ok()
    assert "diff_tool = evil of .windlass/config.toml waits: wl trust" in listed.err
    assert "max_agents" not in listed.err
    got = unboxed.wl("config", "get", "diff_tool").ok()
    assert (got.out, "waits: wl trust" in got.err) == ("-\n", True)
    doctor = unboxed.wl("doctor")
    assert "diff_tool of the repository's .windlass/config.toml waits" in doctor.out
    assert "wl trust" in doctor.out
    assert "waits for your word: wl trust" in unboxed.wl("init").ok().out
    unboxed.new("fox", STAY)
    assert "wl trust" in unboxed.wl("diff", "fox", "--tool").failed(3).err


def test_what_was_accepted_is_listed_and_taken_back(unboxed: Ground) -> None:
    clone(unboxed, 'diff_tool = "meld"\nmodel = "large"\n')
    waiting = unboxed.wl("trust", "--json").ok().json()["waiting"]
    assert [(line["key"], line["value"], line["instead_of"]) for line in waiting] == [
        ("diff_tool", "meld", ""),
        ("model", "large", ""),
    ]
    unboxed.wl("trust", "model", "--yes").ok()
    assert [line["key"] for line in unboxed.wl("trust", "--list", "--json").ok().json()] == [
        "model"
    ]
    assert "large" in unboxed.wl("trust", "--list").ok().out
    unboxed.wl("trust", "nonsense").failed(8)
    assert "model" not in unboxed.wl("trust").failed(2).out
    assert unboxed.wl("config", "get", "model").ok().out == "large\n"
    unboxed.wl("trust", "--revoke", "diff_tool").failed(8)
    assert "no longer accepted: model" in unboxed.wl("trust", "--revoke").ok().out
    assert unboxed.wl("config", "get", "model").ok().out == "-\n"
    unboxed.wl("trust", cwd=unboxed.folder).failed(2)


def test_an_agent_accepts_nothing(ground: Ground) -> None:
    clone(ground, 'isolation = "hooks"\n')
    tried = {
        "tool": "Bash",
        "input": {"command": "wl trust -y > said.txt 2>&1; echo $? > code.txt"},
    }
    workspace = ground.new("fox", tried, STAY)
    ground.wait("fox", states="waiting")
    assert (workspace / "code.txt").read_text() == "7\n", (workspace / "said.txt").read_text()
    for verb in ("trust", "trust.accept", "trust.revoke"):
        with pytest.raises(Denied, match="agents do not accept"):
            ground.ask_as("fox", verb, digests=[])
    assert ground.ask("trust")["accepted"] == []
