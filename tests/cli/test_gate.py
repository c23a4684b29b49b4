"""What `wl gate` and `wl init` say of runs, to people and to programs, and how they end."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.told import Terminal, Told

from windlass.cli.commands import gate, init
from windlass.core.gate.verdicts import EXIT_CODES

Capture = pytest.CaptureFixture[bytes]
CHECK: dict[str, Any] = {
    "name": "unit", "run": "pytest", "outcome": "passed", "why": "", "code": 0, "seconds": 2.0,
    "tests": 3, "skipped": 0, "failed": [], "log": "/log", "cached": False,
}  # fmt: skip
OPEN: dict[str, Any] = {
    "tree": "t" * 40, "layer": "", "box": "box", "outcome": None, "cached": False, "marks": [],
    "checks": [], "job": "j1", "doing": ["unit"], "network": False, "tried": [],
}  # fmt: skip
LOOK: dict[str, Any] = {
    "asks_review": False,
    "asks_remote": None,
    "id": "0a1b2c3d", "root": "/shop", "target": "main", "digest": "d", "proves": True,
    "has_gate": False, "may_add_network": True,
    "proposals": {"files": [{"path": ".windlass/config.toml", "text": "[gate]", "patch": []}],
                  "allow": [], "toolchains": [], "why": [], "gate": {}},
}  # fmt: skip
WRITTEN: dict[str, Any] = {
    "id": "0a1b2c3d", "root": "/shop", "config": "/shop/.windlass/config.toml", "made": True,
    "toolchains": [], "proposed": [], "accepted": True, "waiting": [], "push": "",
    "written": [".windlass/config.toml"], "commit": "c" * 40, "uncommitted": "",
}  # fmt: skip


def over(outcome: str, **more: Any) -> dict[str, Any]:
    """A run that has ended."""
    check = {**CHECK, "outcome": outcome}
    return {**OPEN, "outcome": outcome, "doing": [], "checks": [check], **more}


@pytest.mark.parametrize("outcome", EXIT_CODES)
def test_programs_are_told_what_came_of_a_run_and_end_as_it_did(
    outcome: str, capsysbinary: Capture
) -> None:
    """With what is documented, and nothing of how it was waited for."""
    begun = {"gate.run": lambda _: OPEN, "gate.wait": lambda _: over(outcome)}
    code = gate.run(Told(gate, "run", "--json", **begun))
    assert code == {"passed": 0, "failed": 10, "ran-nothing": 11, "could-not-run": 13}[outcome]
    said = json.loads(capsysbinary.readouterr().out)
    assert set(said) == {"tree", "layer", "box", "outcome", "cached", "marks", "checks"}
    (check,) = said["checks"]
    wanted = {"name", "outcome", "code", "seconds", "tests", "failed", "log"}
    assert (said["outcome"], wanted <= set(check)) == (outcome, True)


def test_what_is_known_stands_before_what_was_run(capsysbinary: Capture) -> None:
    known = {**CHECK, "name": "lint", "cached": True}
    begun = {**OPEN, "checks": [known, {**CHECK, "outcome": None}]}
    answers = {"gate.run": lambda _: begun, "gate.wait": lambda _: over("failed")}
    asked = Told(gate, "run", "--json", **answers)
    assert gate.run(asked) == 10
    said = json.loads(capsysbinary.readouterr().out)
    assert [(c["name"], c["outcome"]) for c in said["checks"]] == [
        ("lint", "passed"),
        ("unit", "failed"),
    ]


def test_a_person_reads_what_failed_and_what_a_tree_does_to_its_tests(
    capsysbinary: Capture,
) -> None:
    check = {**CHECK, "outcome": "failed", "failed": [f"test_{n}" for n in range(12)], "why": "red"}
    done = over("failed", checks=[check], marks=["unit ran 3 tests, 4 before"])
    begun = {"gate.run": lambda _: OPEN, "gate.wait": lambda _: done}
    gate.run(Told(gate, "run", **begun))
    said = capsysbinary.readouterr().out.decode()
    for words in ("failed (3 tests, 2.0 s)", "test_9\n", "and 2 more", "log: /log", "4 before"):
        assert words in said


def test_the_gate_alone_says_how_the_target_fares(capsysbinary: Capture) -> None:
    view = {
        "target": "main", "tip": "a" * 40, "tree": "t" * 40, "box": "hooks", "setup": "make deps",
        "outcome": None, "checks": [{**CHECK, "outcome": None}], "waiting": ["gate.box"],
        "job": "j1",
    }  # fmt: skip
    assert gate.run(Told(gate, gate=lambda _: view)) == 0
    said = capsysbinary.readouterr().out.decode()
    for words in ("being proven, as j1", "setup: make deps", "without a box", "wl trust gate.box"):
        assert words in said
    red = {**view, "outcome": "failed", "job": None}
    assert gate.run(Told(gate, gate=lambda _: red)) == 10
    capsysbinary.readouterr()
    gate.run(Told(gate, "--json", gate=lambda _: view))
    assert {"target", "tip", "outcome", "checks"} <= set(json.loads(capsysbinary.readouterr().out))


def test_a_terminal_shows_what_is_being_done_until_it_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And nothing of it stays."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    news = iter([{**OPEN, "doing": ["setup"]}, {**OPEN, "network": True, "tried": [CHECK]}])
    begun = {"gate.run": lambda _: OPEN, "gate.wait": lambda _: next(news, over("passed"))}
    assert gate.run(Told(gate, "run", **begun)) == 0
    shown = terminal.getvalue()
    assert "setup … 0 s" in shown
    assert "unit with the network … 0 s" in shown
    assert shown.endswith("\r\x1b[J")


def test_what_takes_longer_than_a_minute_goes_on_in_the_background(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: Capture
) -> None:
    """The files are committed meanwhile; asked to, it waits to the end."""
    minutes = itertools.count(step=61)
    monkeypatch.setattr("time.monotonic", lambda: float(next(minutes)))
    answers = {
        "init.look": lambda _: LOOK,
        "init.prove": lambda _: OPEN,
        "init": lambda _: WRITTEN,
        "gate": lambda _: {"tree": "t" * 40},
        "gate.run": lambda _: OPEN,
        "gate.wait": lambda asked: OPEN if asked["seconds"] is not None else over("passed"),
    }
    asked = Told(init, "--accept", **answers)
    assert init.run(asked) == 0
    said = capsysbinary.readouterr().out.decode()
    assert "main is being proven (unit), in the background as j1: wl gate" in said
    assert ("init", {"accept": True, "network": False, "commit": True, "private": False,
                     "digest": "d"}) in asked.asked  # fmt: skip
    assert init.run(Told(init, "--accept", "--wait", **answers)) == 0
    assert "main is green: 3 tests in 2.0 s" in capsysbinary.readouterr().out.decode()


@pytest.mark.parametrize(("answer", "network"), [("y", True), ("n", False)])
def test_a_person_is_asked_before_anything_is_written_and_before_checks_reach_the_network(
    monkeypatch: pytest.MonkeyPatch, answer: str, network: bool
) -> None:
    """Who says no to the network has the gate without, and a target that is red."""
    said = iter(["y\n", f"{answer}\n"])
    person = Terminal()
    person.readline = lambda *_: next(said)  # type: ignore[method-assign]
    monkeypatch.setattr("sys.stdin", person)
    monkeypatch.setattr("sys.stderr", Terminal())
    red = {**CHECK, "outcome": "failed"}
    with_network = over("passed", network=True, tried=[red], tree="n" * 40)
    answers = {
        "init.look": lambda _: LOOK,
        "init.prove": lambda _: OPEN,
        "init": lambda _: WRITTEN,
        "gate": lambda _: {"tree": ("n" if network else "t") * 40},
        "gate.run": lambda _: OPEN,
        "gate.wait": lambda _: with_network,
        "config": lambda _: {"settings": {"box.env": {"value": []}}},
    }
    asked = Told(init, **answers)
    assert init.run(asked) == (0 if network else 10)
    (written,) = (request for verb, request in asked.asked if verb == "init")
    assert (written["accept"], written["network"]) == (True, network)


def test_what_is_red_ends_with_the_end_of_its_log(tmp_path: Path, capsysbinary: Capture) -> None:
    """Of the first check that is; the file of the whole is named above."""
    log = tmp_path / "log"
    log.write_text("first\n" * 40 + "not ok 2 - it\n")
    checks = [CHECK, {**CHECK, "name": "e2e", "outcome": "failed", "log": str(log)}]
    done = over("failed", checks=checks)
    gate.run(Told(gate, "run", **{"gate.run": lambda _: OPEN, "gate.wait": lambda _: done}))
    said = capsysbinary.readouterr().out.decode()
    assert "the end of the log of e2e:\n    first\n" in said
    assert said.count("first") == 14
    assert "    not ok 2 - it\n" in said
