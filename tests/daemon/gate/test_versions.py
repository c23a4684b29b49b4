"""What the gate's tools are is part of a verdict: others prove anew, unknown ones prove nothing."""

from __future__ import annotations

import json
import platform
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.daemon.gate.gate_ground import UNITTEST, GateGround

from windlass.store import verdicts


@pytest.fixture
def tool(ground: GateGround, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of the person's that says its version, which the gate asks for."""
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setitem(ground.context.env, "PATH", f"{folder}:/usr/bin:/bin")
    program = folder / "hammer"
    says(program, "echo 1")
    configure(ground, folder, "hammer --version")
    return program


def says(program: Path, line: str) -> None:
    """Replaces a program as an installation does: by another file."""
    made = program.with_name("new")
    made.write_text(f"#!/bin/sh\n{line}\n")
    made.chmod(0o755)
    made.rename(program)


def configure(ground: GateGround, folder: Path, *versions: str) -> None:
    """Writes the person's own gate, and shows the boxes a folder of programs."""
    own = f"[gate]\ncommands = ['{UNITTEST}']\nversions = {json.dumps(versions)}\n"
    box = f"[box]\ntoolchains = ['{folder}']\n"
    (ground.context.folders.home / "config.toml").write_text(own + box)
    ground.commit({".windlass/config.toml": ""})


def test_a_tree_is_proven_anew_with_other_tools_and_known_with_the_same(
    ground: GateGround, tool: Path
) -> None:
    for line, cached in (("echo 1", False), ("echo 2", False), ("echo 1", True)):
        says(tool, line)
        done = ground.prove()
        assert (done["outcome"], done["cached"]) == ("passed", cached), line


def test_tools_that_do_not_say_what_they_are_prove_nothing(ground: GateGround, tool: Path) -> None:
    """Not even what was green when nobody asked for them, nor while another answers."""
    configure(ground, tool.parent)
    assert ground.outcome() == "passed"
    configure(ground, tool.parent, "hammer --version")
    says(tool, "echo broken; exit 3")
    done = ground.prove()
    assert (done["outcome"], done["cached"]) == ("could-not-run", False)
    assert done["checks"][0]["why"] == "gate.versions: broken"


def test_a_tool_that_comes_back_while_a_run_begins_is_the_one_that_its_verdict_names(
    ground: GateGround, tool: Path
) -> None:
    """Else it would be a verdict of unknown tools, and known by whichever are the next."""
    says(tool, "exit 3")
    begun = ground.begin()
    says(tool, "echo 1")
    ground.settle()
    assert ground.ended(begun["job"])["outcome"] == "passed"
    assert ground.prove()["cached"]
    says(tool, "exit 4")
    assert ground.outcome() == "could-not-run"


def test_a_verdict_names_the_machine_that_it_was_found_on(ground: GateGround) -> None:
    ground.prove()
    verdict = ground.context.store.read(lambda c: verdicts.by_number(c, 1))
    assert verdict is not None
    assert verdict.host == platform.node()[:64] != ""


def test_what_is_slow_has_three_times_as_long_as_it_took_when_it_was_green(
    ground: GateGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And half an hour at least: hung is not slow. What the gate names itself counts as it is."""
    given: list[float] = []
    run = ground.context.commands.run_whole

    def noting(*args: Any, timeout: float, **more: Any) -> Any:
        given.append(timeout)
        return run(*args, timeout=timeout, **more)

    monkeypatch.setattr(ground.context.commands, "run_whole", noting)
    assert ground.outcome() == "passed"
    verdict = ground.context.store.read(lambda c: verdicts.by_number(c, 1))
    assert verdict is not None
    for seconds in (599.0, 4000.0):
        slow = msgspec.structs.replace(verdict, seconds=seconds)
        ground.context.store.write(partial(verdicts.add, verdict=slow))
        assert ground.outcome(fresh=True) == "passed"
    assert given == [1800.0, 1800.0, 12_000.0]
