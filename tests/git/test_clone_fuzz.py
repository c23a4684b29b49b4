# ruff: noqa: PTH102, PTH118, PTH211
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Hostile clones at random: what is in one is damaged, exchanged and forged in ways nobody chose.

Whatever it is, nothing outside the clone changes or is told, and its work is kept and comes back.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.git.conftest import git
from tests.git.hostile_clones import ATTACKS, SECRET, Scene

from windlass.git import workspaces
from windlass.git.repository import Repository

_SLOW = frozenset({"tree_that_unfolds", "deep_folders"})
_CHEAP = tuple(attack for attack in ATTACKS if attack.__name__ not in _SLOW)
_AT_ONCE = 10
_NAMES = (b"a b", b"\xff\xfe", b"new\nline", b"-rf", b"\x1b[2J", b"HEAD", b".gitmodules", b"git~1")


def files_of(scene: Scene, dice: random.Random) -> Path:
    """Any file of the clone's git folder."""
    found = sorted(path for path in (scene.clone / ".git").rglob("*") if not path.is_dir())
    return dice.choice(found)


def flip(scene: Scene, dice: random.Random) -> None:
    """Changes a few bytes of a file."""
    path = files_of(scene, dice)
    if path.is_symlink() or not path.is_file():
        return
    content = bytearray(path.read_bytes())
    for _ in range(dice.randint(1, 8)):
        if content:
            content[dice.randrange(len(content))] = dice.randrange(256)
    replace(path, bytes(content))


def cut(scene: Scene, dice: random.Random) -> None:
    """Cuts a file off, or fills it with zeros or noise."""
    path = files_of(scene, dice)
    if path.is_symlink() or not path.is_file():
        return
    content = path.read_bytes()
    cuts = (content[: dice.randint(0, len(content))], bytes(len(content)), dice.randbytes(200))
    replace(path, dice.choice(cuts))


def exchange(scene: Scene, dice: random.Random) -> None:
    """Puts a pipe, a folder or a link to the person's file in the place of a file."""
    path = files_of(scene, dice)
    path.unlink()
    match dice.randrange(4):
        case 0:
            os.mkfifo(path)
        case 1:
            path.mkdir()
        case 2:
            path.symlink_to(scene.outside / "secret")
        case _:
            path.symlink_to(dice.choice((path, scene.outside, Path(scene.repo.git_dir))))


def scribble(scene: Scene, dice: random.Random) -> None:
    """Writes files and folders of odd names, nested repositories and links among them."""
    here = os.fsencode(scene.clone)
    for _ in range(dice.randint(1, 5)):
        path = os.path.join(here, dice.choice(_NAMES) + b"%d" % dice.randrange(100))
        if os.path.lexists(path):
            continue
        match dice.randrange(4):
            case 0:
                os.mkdir(path)
                Path(os.fsdecode(path), ".git").write_bytes(dice.randbytes(30))
            case 1:
                os.symlink(os.fsencode(scene.outside), path)
            case 2:
                os.mkdir(path)
                git(os.fsdecode(path), "init", "-q")
            case _:
                Path(os.fsdecode(path)).write_bytes(dice.randbytes(50))


def lose(scene: Scene, dice: random.Random) -> None:
    """Deletes a file of the git folder."""
    files_of(scene, dice).unlink()


def attack(scene: Scene, dice: random.Random) -> None:
    """One of those that somebody thought of."""
    try:
        dice.choice(_CHEAP)(scene)
    except (OSError, AssertionError):
        return  # what it wants to forge was damaged before


def replace(path: Path, content: bytes) -> None:
    """Writes a file that git may have made read-only."""
    path.chmod(0o644)
    path.write_bytes(content)


WAYS: tuple[Callable[[Scene, random.Random], None], ...] = (
    flip,
    flip,
    cut,
    exchange,
    scribble,
    lose,
)


def try_one(repo: Repository, folder: Path, seed: int) -> None:
    """Damages a clone by a seed, looks at it, and ends it."""
    dice = random.Random(seed)  # noqa: S311 - to be the same again
    folder.mkdir()
    scene = Scene(repo, folder)
    (scene.clone / "work.txt").write_text("work\n")
    git(scene.clone, "add", "work.txt")
    if dice.random() < 0.5:
        git(scene.clone, "commit", "-q", "-m", "work")
    if dice.random() < 0.25:
        attack(scene, dice)  # first and once: some forge with git, which would wait at a pipe
    for _ in range(dice.randint(1, 4)):
        dice.choice(WAYS)(scene, dice)
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
