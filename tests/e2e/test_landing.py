"""The main job, with a daemon and agents at work: what is proven lands, what is not comes back."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.ground import Ground, until

pytestmark = pytest.mark.slow
DONE = {"text": "It is there.\n\nI HAVE COMPLETED THE GOAL"}
AWAIT = {"await": "message"}
GATE = '[gate]\ncommands = ["python3 -m unittest -v"]\n'
TEST = """import unittest
import calc

class Adds(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(calc.add(1, 2), 3)
"""


def write(path: str, content: str) -> dict[str, Any]:
    return {"tool": "Write", "input": {"file_path": path, "content": content}}


def commit(words: str) -> dict[str, Any]:
    return {"tool": "Bash", "input": {"command": f"git add -A && git commit -q -m '{words}'"}}


@pytest.fixture
def gated(ground: Ground) -> Ground:
    """Main is behind a gate of plain tests, and nobody has to look first."""
    repo = ground.folder / "repo"
    (repo / ".windlass").mkdir()
    (repo / ".windlass" / "config.toml").write_text(GATE)
    (repo / "calc.py").write_text("def add(a, b):\n    return a + b\n")
    (repo / "test_calc.py").write_text(TEST)
    ground.git("add", "-A")
    ground.git("commit", "-q", "-m", "code")
    ground.wl("config", "set", "landing.review", "none", "--global").ok()
    return ground


def change(ground: Ground, name: str) -> dict[str, Any]:
    shown: dict[str, Any] = ground.ask("change", change=name)
    return shown


def test_a_red_change_comes_back_and_lands_by_itself_once_its_author_has_mended_it(
    gated: Ground,
) -> None:
    """The agent has the failing test in its mailbox, mends it and says that it is done."""
    gated.new(
        "fox",
        write("calc.py", "def add(a, b):\n    return a - b\n"),
        commit("breaks"),
        DONE,
        AWAIT,
        write("calc.py", "def add(a, b):\n    return b + a\n"),
        commit("mends"),
        DONE,
        flags=["--land"],
    )
    until(lambda: change(gated, "fox")["state"] == "landed", what="the landing")
    shown = change(gated, "fox")
    assert [revision["state"] for revision in shown["revisions"]] == ["draft", "rejected", "landed"]
    assert shown["author"] == "fox"
    until(lambda: not gated.agents(), what="the agent's end")
    assert (gated.folder / "repo" / "calc.py").read_text() == "def add(a, b):\n    return b + a\n"
    assert gated.git("status", "--porcelain") == ""
    assert "test_adds" in shown["revisions"][1]["why"]


def test_of_a_crew_the_good_land_and_the_bad_does_not(gated: Ground) -> None:
    """Also the one that conflicts with what landed is told so; each tree of main is green."""
    before = gated.git("rev-parse", "main").strip()
    for name in ("a", "b"):
        gated.new(name, write(f"{name}.py", f"{name} = 1\n"), commit(name), DONE)
    gated.new("bad", write("calc.py", "def add(a, b):\n    return 0\n"), commit("bad"), DONE)
    for name in ("a", "b", "bad"):
        gated.wait(name, states="complete")
    for name in ("a", "b"):
        gated.wl("submit", name).ok()
    back = gated.wl("merge", "bad", "--force", "--json")
    assert (back.code, back.json()["state"]) == (10, "rejected")
    until(lambda: change(gated, "b")["state"] == "landed", what="b's landing")
    assert change(gated, "a")["state"] == "landed"
    for commit_id in gated.git("rev-list", "--first-parent", f"{before}..main").split():
        assert gated.wl("gate", "run", commit_id, "--json").ok().json()["cached"] is True


def test_a_persons_own_branch_needs_no_agent(gated: Ground) -> None:
    """And what is said of it is in the exit code, too."""
    repo = gated.folder / "repo"
    gated.git("checkout", "-q", "-b", "mine")
    (repo / "more.py").write_text("more = 1\n")
    gated.git("add", "-A")
    gated.git("commit", "-q", "-m", "more")
    landed = gated.wl("merge", "mine", "--json").ok().json()
    assert (landed["state"], landed["branch"], landed["author"]) == ("landed", "mine", None)
    assert gated.git("rev-parse", "main").strip() == landed["commit"]
    again = gated.wl("merge", "mine", "--json")
    assert again.code == 16
    assert again.json()["state"] == "nothing-to-land"
    gated.wl("merge", "main").failed(1)
    gated.wl("merge", "nobody").failed(8)


def test_what_shows_things_takes_agents_changes_and_commits(gated: Ground) -> None:
    """From the proposal to the history: the same words, whatever the id is of."""
    gated.new("fox", write("fox.py", "fox = 1\n"), commit("fox"), DONE)
    gated.wait("fox", states="complete")
    assert "fox = 1" in gated.wl("diff", "fox").ok().out
    name = gated.wl("submit", "fox", "--task", "FIX-1", "--json").ok().json()["id"]
    assert gated.wl("show", "fox", "--json").ok().json()["change"]["id"] == name
    until(lambda: change(gated, name)["state"] == "landed", what="the landing")
    shown = gated.wl("show", name, "--json").ok().json()
    assert (shown["verdict"], shown["task"], shown["author"]) == ("passed", "FIX-1", "fox")
    assert "+fox = 1" in gated.wl("diff", name).ok().out
    kinds = [event["kind"] for event in gated.wl("log", name, "--json").ok().json()]
    assert kinds == ["change.queued", "change.landed"]
    (brought,) = gated.wl("log", "--landed", "--json").ok().json()[0]["changes"]
    assert (brought["id"], brought["task"], brought["agent"]) == (name, "FIX-1", "fox")
    found = gated.wl("why", shown["head"][:12], "--json").ok().json()
    assert (found["landing"]["commit"], found["changes"][0]["id"]) == (shown["commit"], name)
    until(lambda: not gated.agents(), what="the agent's end")
    assert gated.wl("show", "fox", "--json").ok().json()["id"] == name
    for words in (("retry", name), ("drop", name)):
        gated.wl(*words).failed(1)


def breaks(ground: Ground, branch: str) -> None:
    """Commits what fails to a branch, and goes back to main."""
    ground.git("checkout", "-q", "-B", branch)
    (ground.folder / "repo" / "calc.py").write_text(f"def add(a, b):\n    return {len(branch)}0\n")
    ground.git("commit", "-q", "-a", "-m", f"breaks {branch}")
    ground.git("checkout", "-q", "main")


def test_the_home_screen_says_what_came_back_and_that_the_target_is_red(gated: Ground) -> None:
    """Both need the person, with no agent there at all."""
    breaks(gated, "bad")
    back = gated.wl("merge", "bad", "--json")
    assert back.code == 10
    name = back.json()["id"]
    (waits,) = gated.wl("--json").ok().json()
    assert (waits["kind"], waits["id"], waits["needs_you"]["command"]) == (
        "change", name, f"wl show {name}",
    )  # fmt: skip
    breaks(gated, "main")
    assert gated.wl("gate", "run", "--json").code == 10
    said = gated.wl().ok().out
    assert f"  {name} did not land" in said
    assert "  main is not green, so nothing lands but what mends it: python3 -m unittest" in said
    assert gated.wl("retry", name, "--json").ok().json()["state"] == "queued"
