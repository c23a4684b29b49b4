"""A cache is what the target's last green run left, and no run of a change hands anything on."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.daemon.gate.gate_ground import GateGround

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
