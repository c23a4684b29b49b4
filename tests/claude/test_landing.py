"""The main job with the real Claude Code: red, a ticket in its conversation, mended, landed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.ground import until
from tests.support.scene import Scene

pytestmark = pytest.mark.slow
DONE = {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"}
AWAIT = {"await": "message"}
GATE = '[gate]\ncommands = ["python3 -m unittest -v"]\n'
TEST = """import unittest
import calc

class Adds(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(calc.add(1, 2), 3)
"""


def bash(command: str) -> dict[str, Any]:
    """An entry that runs a command."""
    return {"tool": "Bash", "input": {"command": command}}


def adds(body: str) -> dict[str, Any]:
    """An entry that has `add` return this, and commits it."""
    code = f"def add(a, b):\\n    return {body}\\n"
    return bash(f"printf '{code}' > calc.py && git commit -q -a -m 'adds {body}'")


@pytest.fixture
def gated(on: Scene) -> Scene:
    """Main is behind a gate of plain tests, and nobody has to look first."""
    repo = on.ground.folder / "repo"
    (repo / ".windlass").mkdir()
    (repo / ".windlass" / "config.toml").write_text(GATE)
    (repo / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    (repo / "test_calc.py").write_text(TEST)
    on.ground.git("add", "-A")
    on.ground.git("commit", "-q", "-m", "code")
    on.wl("config", "set", "landing.review", "none", "--global").ok()
    return on


def change(on: Scene, name: str) -> dict[str, Any]:
    """The newest change of an agent."""
    shown: dict[str, Any] = on.ground.ask("change", change=name)
    return shown


def asked(on: Scene) -> str:
    """All that the model was shown."""
    return "\n".join(text for request in on.model.requests for text in request.texts)


@pytest.mark.parametrize("flags", [[], ["--isolation", "box", "--network", "none"]])
def test_a_red_change_comes_back_into_the_conversation_and_lands_once_it_is_mended(
    gated: Scene, flags: list[str]
) -> None:
    """Nobody types anything: the ticket wakes it, and that it says it is done proposes again."""
    gated.new("fox", adds("a - b"), DONE, AWAIT, adds("b + a"), DONE, flags=["--land", *flags])
    until(lambda: change(gated, "fox")["state"] == "landed", what="the landing")
    shown = change(gated, "fox")
    assert [revision["state"] for revision in shown["revisions"]] == ["draft", "rejected", "landed"]
    said = asked(gated)
    assert "Your change c1 did not land on main" in said
    assert "test_adds (test_calc.Adds" in said
    assert "attempt 1 of 3" in said
    until(lambda: not gated.ground.agents(), what="the agent's end")
    repo = gated.ground.folder / "repo"
    assert (repo / "calc.py").read_text() == "def add(a, b):\n    return b + a\n"
    assert gated.ground.git("status", "--porcelain") == ""


def test_who_was_ended_meanwhile_comes_back_with_its_conversation_and_mends_it(
    gated: Scene,
) -> None:
    """It is the same session that goes on: what it had said before is there."""
    slow = GATE.replace("python3", "sleep 5; python3")  # it is killed while the gate runs
    (gated.ground.folder / "repo" / ".windlass" / "config.toml").write_text(slow)
    gated.ground.git("commit", "-q", "-a", "-m", "a slow gate")
    gated.new("fox", adds("a - b"), DONE, AWAIT, adds("b + a"), DONE)
    gated.wait("fox", "complete")
    conversation = gated.ground.ask("info", agent="fox")["conversation"]
    gated.wl("submit", "fox", "--json").ok()
    killed = gated.wl("kill", "fox", "--force").ok()
    assert "fox's change c1 lands as it is, and brings fox back if it cannot" in killed.out
    until(lambda: change(gated, "c1")["state"] == "landed", what="the landing")
    states = [revision["state"] for revision in change(gated, "c1")["revisions"]]
    assert states == ["rejected", "landed"]
    assert "You had ended, and are back to mend it" in asked(gated)
    until(lambda: not gated.ground.agents(), what="the agent's end")
    assert gated.ground.ask("info", agent="fox")["conversation"] == conversation
