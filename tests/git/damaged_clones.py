# ruff: noqa: PTH102, PTH118, PTH211
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Clones damaged by dice: what is in one is flipped, cut, exchanged, forged and lost."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

from tests.git.bombs import committed
from tests.git.conftest import git
from tests.git.hostile_clones import ATTACKS, Target

_SLOW = frozenset({"tree_that_unfolds", "deep_folders", "deep_git_folders"})
_CHEAP = tuple(attack for attack in ATTACKS if attack.__name__ not in _SLOW)
_NAMES = (b"a b", b"\xff\xfe", b"new\nline", b"-rf", b"\x1b[2J", b"HEAD", b".gitmodules", b"git~1")


def files_of(target: Target, dice: random.Random) -> Path:
    """Any file of the clone's git folder."""
    found = sorted(path for path in (target.clone / ".git").rglob("*") if not path.is_dir())
    return dice.choice(found)


def flip(target: Target, dice: random.Random) -> None:
    """Changes a few bytes of a file."""
    path = files_of(target, dice)
    if path.is_symlink() or not path.is_file():
        return
    content = bytearray(path.read_bytes())
    for _ in range(dice.randint(1, 8)):
        if content:
            content[dice.randrange(len(content))] = dice.randrange(256)
    replace(path, bytes(content))


def cut(target: Target, dice: random.Random) -> None:
    """Cuts a file off, or fills it with zeros or noise."""
    path = files_of(target, dice)
    if path.is_symlink() or not path.is_file():
        return
    content = path.read_bytes()
    cuts = (content[: dice.randint(0, len(content))], bytes(len(content)), dice.randbytes(200))
    replace(path, dice.choice(cuts))


def exchange(target: Target, dice: random.Random) -> None:
    """Puts a pipe, a folder or a link to the person's file in the place of a file."""
    path = files_of(target, dice)
    path.unlink()
    match dice.randrange(4):
        case 0:
            os.mkfifo(path)
        case 1:
            path.mkdir()
        case 2:
            path.symlink_to(target.outside / "secret")
        case _:
            path.symlink_to(dice.choice((path, target.outside, Path(target.repo.git_dir))))


def scribble(target: Target, dice: random.Random) -> None:
    """Writes files and folders of odd names, nested repositories and links among them."""
    here = os.fsencode(target.clone)
    for _ in range(dice.randint(1, 5)):
        path = os.path.join(here, dice.choice(_NAMES) + b"%d" % dice.randrange(100))
        if os.path.lexists(path):
            continue
        match dice.randrange(4):
            case 0:
                os.mkdir(path)
                Path(os.fsdecode(path), ".git").write_bytes(dice.randbytes(30))
            case 1:
                os.symlink(os.fsencode(target.outside), path)
            case 2:
                os.mkdir(path)
                git(os.fsdecode(path), "init", "-q")
            case _:
                Path(os.fsdecode(path)).write_bytes(dice.randbytes(50))


def lose(target: Target, dice: random.Random) -> None:
    """Deletes a file of the git folder."""
    files_of(target, dice).unlink()


def mark(target: Target, dice: random.Random) -> None:
    """Has the index say of a file that it is not to be looked at, and changes that unseen."""
    flag = dice.choice(("--skip-worktree", "--assume-unchanged"))
    tracked = [target.clone / name for name in git(target.clone, "ls-files", "-z").split("\0")]
    plain = [
        path
        for path in tracked
        if path.is_file() and not path.is_symlink() and path.name != "work.txt"
    ]
    if not plain:
        return
    path = dice.choice(plain)
    git(target.clone, "update-index", flag, "--", path)
    before = path.lstat()
    path.write_bytes(dice.randbytes(before.st_size))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns), follow_symlinks=False)


def force(target: Target, dice: random.Random) -> None:
    """Commits a file that is ignored."""
    path = target.clone / f"forced{dice.randrange(100)}.log"
    path.write_bytes(dice.randbytes(20))
    git(target.clone, "add", "-f", path.name)
    committed(target.clone, git(target.clone, "write-tree"))


def attack(target: Target, dice: random.Random) -> None:
    """One of those that somebody thought of."""
    try:
        dice.choice(_CHEAP)(target)
    except (OSError, AssertionError):
        return  # what it wants to forge was damaged before


def replace(path: Path, content: bytes) -> None:
    """Writes a file that git may have made read-only."""
    path.chmod(0o644)
    path.write_bytes(content)


WAYS: tuple[Callable[[Target, random.Random], None], ...] = (
    flip,
    flip,
    cut,
    exchange,
    scribble,
    lose,
)


def damage(target: Target, dice: random.Random) -> None:
    """Does some of all that to a clone."""
    if dice.random() < 0.25:
        attack(target, dice)  # first and once: some forge with git, which would wait at a pipe
    elif dice.random() < 0.5:
        dice.choice((mark, force))(target, dice)  # with git, too
    for _ in range(dice.randint(1, 4)):
        dice.choice(WAYS)(target, dice)
