"""A cache is what the run of the tree that landed last left, and no other hands anything on."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.daemon.gate.gate_ground import GateGround

from windlass.daemon.gate import run_caches

CONFIG = """
[gate]
cache = ["kept", "deep/kept"]
[[gate.check]]
name = "c"
run = "sh ./check.sh"
tests = "none"
"""
CHECK = """
cat kept/of deep/kept/of 2>/dev/null
mkdir -p kept deep/kept; echo "$(cat who)" >>kept/of; echo deep >deep/kept/of; echo other >other
"""
FILES = {"check.sh": CHECK, "who": "main", "deep/file": "", ".windlass/config.toml": CONFIG}


@pytest.fixture
def cached(ground: GateGround) -> GateGround:
    """A gate with caches."""
    ground.commit(FILES)
    return ground


def said(ground: GateGround, rev: str = "") -> list[str]:
    """What a run found of the one before."""
    done = ground.prove(rev, fresh=True)
    log = Path(done["checks"][0]["log"]).read_text()
    assert done["outcome"] == "passed", (done, log)
    return log.splitlines()


def test_the_next_run_has_what_the_targets_left_and_a_changes_own_is_thrown_away(
    cached: GateGround,
) -> None:
    """Each of the target's sees what all before it left."""
    assert said(cached) == []
    assert said(cached) == ["main", "deep"]
    cached.commit({"who": "a change"}, branch="sly")
    assert said(cached, "sly") == ["main", "main", "deep"]
    assert said(cached) == ["main", "main", "deep"]


def test_what_the_run_of_a_change_left_is_there_for_the_next_once_it_has_landed(
    cached: GateGround,
) -> None:
    """Its tree is the target's own then, and need not be run again for it."""
    assert said(cached) == []
    cached.commit({"who": "a change"}, branch="good")
    cached.commit({"who": "another"}, branch="bad")
    assert said(cached, "good") == said(cached, "bad") == ["main", "deep"]
    cached.git("merge", "-q", "--ff-only", "good")
    cached.commit({"who": "later"}, branch="later")
    assert said(cached, "later") == ["main", "a change", "deep"]


def test_of_trees_that_have_not_landed_only_the_newest_leave_something(
    cached: GateGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_caches, "_MOST_LEFT", 2)
    for name in ("one", "two", "three"):
        cached.commit({"who": name}, branch=name)
        said(cached, name)
    cached.git("merge", "-q", "--ff-only", "one")
    assert said(cached) == []
    cached.git("reset", "-q", "--hard", "three")
    assert said(cached) == ["three", "deep"]


def test_a_red_run_leaves_nothing(cached: GateGround) -> None:
    """Nor does one that could not run."""
    assert said(cached) == []
    cached.commit({"check.sh": f"{CHECK}exit 1\n"})
    assert cached.outcome() == "failed"
    cached.commit({"check.sh": CHECK})
    assert said(cached) == ["main", "deep"]


def test_it_never_stands_in_the_place_of_the_trees_own_files(cached: GateGround) -> None:
    """A tree that has something at such a path is tested as it is, without any."""
    said(cached)
    cached.commit({"kept/of": "the tree's own\n"}, branch="own")
    assert said(cached, "own") == ["the tree's own"]


@pytest.mark.parametrize("path", ["../out", "/etc", ".git", "a/../..", "*"])
def test_what_leads_out_of_the_tree_is_no_cache(cached: GateGround, path: str) -> None:
    """It is left out, and the run goes on."""
    cached.commit({".windlass/config.toml": CONFIG.replace('"kept", "deep/kept"', f'"{path}"')})
    assert said(cached) == []
    assert said(cached) == []
