"""One daemon per state folder, also when somebody tidies up in it."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from windlass.core.errors import Conflict
from windlass.daemon.kernel.clock import SystemClock
from windlass.daemon.kernel.daemon_lock import Lock


class Hasty(SystemClock):
    """A clock on which every rest takes a minute."""

    def __init__(self) -> None:
        super().__init__()
        self._rested = 0.0

    def monotonic(self) -> float:
        """Counts the rests alone."""
        return self._rested

    def sleep(self, seconds: float) -> None:
        """Rests."""
        del seconds
        self._rested += 60.0

    @property
    def unscaled(self) -> Hasty:
        """Is itself."""
        return self


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Lock]:
    """The lock of a daemon that runs."""
    lock = Lock(tmp_path / "daemon.lock")
    lock.take({}, Hasty())
    yield lock
    lock.release()


def test_a_second_daemon_is_refused(held: Lock, tmp_path: Path) -> None:
    second = Lock(tmp_path / "daemon.lock")
    with pytest.raises(Conflict, match="a daemon runs already"):
        second.take({}, Hasty())
    second.release()
    assert held.is_in_place()


def test_the_note_says_what_was_told_last_and_nothing_else(held: Lock, tmp_path: Path) -> None:
    held.tell(waits="git (pid 7)")
    held.tell(waits=None)
    note = json.loads((tmp_path / "daemon.lock").read_text())
    assert note == {"pid": os.getpid(), "waits": None}


@pytest.mark.parametrize("replaced", [False, True])
def test_a_second_daemon_is_refused_also_where_the_file_of_the_first_was_moved_away(
    held: Lock, tmp_path: Path, *, replaced: bool
) -> None:
    path = tmp_path / "daemon.lock"
    path.rename(tmp_path / "moved")
    if replaced:
        path.touch()
    assert not held.is_in_place()
    second = Lock(path)
    with pytest.raises(Conflict, match="was moved away"):
        second.take({}, Hasty())
    second.release()
    held.release()
    third = Lock(path)
    third.take({}, Hasty())
    assert third.is_in_place()
    third.release()


def test_a_lock_whose_note_could_not_be_written_is_let_go_of_all_the_same(tmp_path: Path) -> None:
    lock = Lock(tmp_path / "daemon.lock")
    lock.take({}, Hasty())
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            lock.tell(more="x" * 100)
        lock.release()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    second = Lock(tmp_path / "daemon.lock")
    second.take({}, Hasty())
    second.release()
