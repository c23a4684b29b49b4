"""The lock of an index is there with all that it tells, or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from windlass.git import index_lock
from windlass.git.index_lock import CheckoutBusy, Move

_MOVE = Move(old="1" * 40, new="2" * 40, staged=frozenset({b"a"}))
# A limit of nothing on files that are written kills it in its first write, as `kill -9` might.
_KILLED_IN_WRITING = """
import os, resource, signal, sys
from windlass.git import index_lock
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
top = os.open(sys.argv[1], os.O_RDONLY)
index_lock.take(top, index_lock.Move(old="1" * 40, new="2" * 40), git_dir=sys.argv[1])
"""


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    """A git folder."""
    made = tmp_path / "git"
    made.mkdir()
    return made


@pytest.fixture
def top(git_dir: Path) -> Iterator[int]:
    """The same, open."""
    folder = os.open(git_dir, os.O_RDONLY)
    yield folder
    os.close(folder)


def take(top: int, folder: Path) -> None:
    """Takes the lock for a move."""
    index_lock.take(top, _MOVE, git_dir=str(folder))


def test_who_is_killed_while_taking_it_leaves_no_lock_of_nobody(top: int, git_dir: Path) -> None:
    """An empty one would be another git's, and every git of the person's would fail by it."""
    words = [sys.executable, "-c", _KILLED_IN_WRITING, str(git_dir)]
    killed = subprocess.run(words, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert killed.returncode < 0
    assert not (git_dir / "index.lock").exists()
    take(top, git_dir)
    assert index_lock.left(top) == _MOVE
    assert [path.name for path in git_dir.iterdir()] == ["index.lock"]


def test_the_lock_of_another_git_is_left_to_it(top: int, git_dir: Path) -> None:
    (git_dir / "index.lock").touch()
    with pytest.raises(CheckoutBusy, match="another git"):
        take(top, git_dir)
    assert (git_dir / "index.lock").read_bytes() == b""
    assert [path.name for path in git_dir.iterdir()] == ["index.lock"]
    assert index_lock.left(top) is None
