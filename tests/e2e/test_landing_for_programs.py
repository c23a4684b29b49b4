"""What programs get of landing: the keys and the exit codes that are promised, by the real CLI."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.ground import Done, Ground

pytestmark = pytest.mark.slow
GATE = '[gate]\ncommands = ["python3 -m unittest -v"]\n'
TEST = """import unittest
import calc

class Adds(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(calc.add(1, 2), 3)
"""
CODE = "def add(a, b):\n    return a + b\n"
MERGED = {"change", "branch", "head", "state", "position", "commit", "ticket"}
SHOWN = {"id", "state", "why", "revisions", "verdict", "ticket", "needs"}


@pytest.fixture
def gated(ground: Ground) -> Ground:
    """Main is behind a gate of plain tests."""
    commit(ground, {".windlass/config.toml": GATE, "calc.py": CODE, "test_calc.py": TEST})
    return ground


def commit(ground: Ground, files: dict[str, str | None], branch: str = "") -> str:
    """Commits files to a branch that begins at main, or to main itself; its commit."""
    repo = ground.folder / "repo"
    if branch:
        ground.git("checkout", "-q", "-b", branch, "main")
    for name, text in files.items():
        (repo / name).parent.mkdir(exist_ok=True)
        if text is None:
            (repo / name).unlink()
        else:
            (repo / name).write_text(text)
    ground.git("add", "-A")
    ground.git("commit", "-q", "-m", f"work on {branch or 'main'}")
    head = ground.git("rev-parse", "HEAD").strip()
    if branch:
        ground.git("checkout", "-q", "main")
    return head


def merged(done: Done) -> tuple[int, dict[str, Any]]:
    """The exit code and what was printed, which has all that is promised."""
    told = done.json()
    assert set(told) >= MERGED
    return done.code, told


def test_what_lands_and_what_comes_back_is_told_by_keys_and_exit_codes(gated: Ground) -> None:
    """0 landed or queued, 10 rejected, 14 conflict, 15 held, 16 nothing to land."""
    head = commit(gated, {"more.py": "more = 1\n"}, "mine")
    commit(gated, {"more.py": "more = 2\n"}, "theirs")
    commit(gated, {"calc.py": "def add(a, b):\n    return 0\n"}, "bad")
    code, landed = merged(gated.wl("merge", "mine", "--json"))
    assert (code, landed["state"], landed["position"]) == (0, "landed", None)
    assert (landed["branch"], landed["head"], landed["ticket"]) == ("mine", head, None)
    assert landed["commit"] == gated.git("rev-parse", "main").strip()
    assert merged(gated.wl("merge", "mine", "--json"))[0] == 16
    code, back = merged(gated.wl("merge", "bad", "--json"))
    assert (code, back["state"], back["commit"]) == (10, "rejected", None)
    assert "test_adds" in "".join(back["ticket"]["failed"])
    assert back["ticket"]["base"] == landed["commit"]
    code, conflict = merged(gated.wl("merge", "theirs", "--json"))
    assert (code, conflict["ticket"]["paths"]) == (14, ["more.py"])
    assert conflict["ticket"]["landed"][0].startswith(landed["commit"][:10])
    shown = gated.wl("show", back["change"], "--json").ok().json()
    assert set(shown) >= SHOWN
    assert (shown["id"], shown["state"], shown["verdict"]) == (back["change"], "rejected", "failed")
    assert [revision["state"] for revision in shown["revisions"]] == ["rejected"]
    assert shown["needs"] == []
    commit(gated, {"needs.py": "needs = 1\n"}, "needy")
    needy = gated.wl(
        "merge", "needy", "--needs", back["change"], "--title", "T", "--task", "FIX-1", "--json"
    )
    code, held = merged(needy)
    assert (code, held["state"], held["needs"]) == (15, "held", [back["change"]])
    assert (held["title"], held["task"]) == ("T", "FIX-1")
    (newest, *_) = gated.wl("log", "--landed", "--json").ok().json()
    assert set(newest) >= {"commit", "tree", "verdict", "at", "changes"}
    assert (newest["commit"], newest["verdict"]) == (landed["commit"], "passed")
    assert newest["tree"] == gated.git("rev-parse", "main^{tree}").strip()
    (brought,) = newest["changes"]
    assert set(brought) >= {"id", "task", "agent", "usd"}
    assert (brought["id"], brought["task"], brought["agent"]) == (landed["change"], None, None)


def test_a_gate_that_ran_nothing_or_could_not_run_says_so_by_its_own_exit_codes(
    gated: Ground,
) -> None:
    """11 and 13; and 3 where there is no gate at all."""
    commit(gated, {"test_calc.py": None}, "fewer")
    code, back = merged(gated.wl("merge", "fewer", "--json"))
    assert (code, back["state"], back["ticket"]["outcome"]) == (11, "rejected", "ran-nothing")
    missing = GATE.replace("python3 -m unittest -v", "no-such-program --version")
    commit(gated, {".windlass/config.toml": missing})
    commit(gated, {"more.py": "more = 1\n"}, "mine")
    code, held = merged(gated.wl("merge", "mine", "--json"))
    assert (code, held["state"], held["ticket"]["outcome"]) == (13, "held", "could-not-run")
    commit(gated, {".windlass/config.toml": ""})
    gated.wl("config", "set", "landing.unproven", "", "--global").ok()
    gated.wl("merge", "mine", "--json").failed(3)


def test_submit_puts_into_the_queue_and_names_what_it_leaves_out(gated: Ground) -> None:
    """Of an agent what it has committed; the rest is named, and stays with it."""
    workspace = gated.new("fox", {"text": "I wait.\n\nWAITING"})
    (workspace / "more.py").write_text("more = 1\n")
    gated.git("add", "more.py", cwd=workspace)
    gated.git("commit", "-q", "-m", "more", cwd=workspace)
    (workspace / "left.txt").write_text("left\n")
    code, queued = merged(gated.wl("submit", "fox", "--json"))
    assert (code, queued["branch"], queued["left_out"]) == (0, "agent/fox", ["left.txt"])
    assert queued["state"] in ("queued", "gating", "landed")
    again = gated.wl("merge", "fox", "--keep", "--json")
    assert again.code in (0, 16)
    assert [agent["id"] for agent in gated.agents()] == ["fox"]
    assert (workspace / "left.txt").read_text() == "left\n"
