"""Hostile clones at random: what is in one is damaged, exchanged and forged in ways nobody chose.

Whatever it is, nothing outside the clone changes or is told, and its work is kept and comes back.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.git.conftest import git
from tests.git.damaged_clones import damage
from tests.git.hostile_clones import SECRET, Scene

from windlass.git import workspaces
from windlass.git.repository import Repository

_AT_ONCE = 10


def try_one(repo: Repository, folder: Path, seed: int) -> None:
    """Damages a clone by a seed, looks at it, and ends it."""
    dice = random.Random(seed)  # noqa: S311 - to be the same again
    folder.mkdir()
    scene = Scene(repo, folder)
    (scene.clone / "work.txt").write_text("work\n")
    git(scene.clone, "add", "work.txt")
    if dice.random() < 0.5:
        git(scene.clone, "commit", "-q", "-m", "work")
    damage(scene, dice)
    before = scene.untouched()
    if seed % 2:
        assert SECRET.encode() not in scene.look(), f"seed {seed}"
    kept = scene.keep()
    shown = git(repo.root, "cat-file", "blob", f"{kept.commit}:files/work.txt")
    assert shown == "work", f"seed {seed}"
    scene.end()
    if seed % 5 == 0:
        back = scene.restore()
        assert (back / "work.txt").read_text() == "work\n", f"seed {seed}"
        workspaces.remove(repo, path=str(back), branch="agent/back", agent="back")
    assert scene.untouched() == before, f"seed {seed}"
    git(repo.root, "update-ref", "-d", kept.ref)


@pytest.mark.parametrize("start", range(0, 200, _AT_ONCE))
def test_a_clone_damaged_at_random_is_kept_and_leads_nowhere(
    repo: Repository, tmp_path: Path, start: int
) -> None:
    for seed in range(start, start + _AT_ONCE):
        try_one(repo, tmp_path / str(seed), seed)


@pytest.mark.soak
@pytest.mark.parametrize("start", range(200, 5200, 10 * _AT_ONCE))
def test_thousands_of_clones_damaged_at_random_are_kept_and_lead_nowhere(
    repo: Repository, tmp_path: Path, start: int
) -> None:
    for seed in range(start, start + 10 * _AT_ONCE):
        try_one(repo, tmp_path / str(seed), seed)
