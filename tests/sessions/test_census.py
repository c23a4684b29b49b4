"""Threads that look at all processes at the same time look together."""

from __future__ import annotations

import os
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.ground import until

from windlass.box import probes
from windlass.sessions import census
from windlass.sessions.census import ProcessEntry, Together


def test_who_asks_while_another_looks_has_a_look_that_begins_later_and_shares_it() -> None:
    """What began before somebody asked may have missed what that one means to see."""
    looks: list[dict[int, ProcessEntry]] = []
    may_end = threading.Event()

    def slow() -> dict[int, ProcessEntry]:
        looks.append({})
        assert may_end.wait(30)
        return looks[-1]

    together = Together(slow)
    with ThreadPoolExecutor(9) as threads:
        first = threads.submit(together.take)
        until(lambda: bool(looks), what="the first look")
        others = [threads.submit(together.take) for _ in range(8)]
        until(lambda: together.waiting == len(others), what="the others")
        may_end.set()
        assert first.result() is looks[0]
        assert all(other.result() is looks[1] for other in others)
    assert len(looks) == 2


def test_a_look_that_fails_is_done_again_by_whoever_asks_next() -> None:
    fails: list[OSError | None] = [OSError("no processes"), None]

    def look() -> dict[int, ProcessEntry]:
        if error := fails.pop(0):
            raise error
        return {}

    together = Together(look)
    with pytest.raises(OSError, match="no processes"):
        together.take()
    assert together.take() == {}


def test_it_sees_this_very_process() -> None:
    assert census.take()[os.getpid()].identity.lives()


_BOX = ("bwrap", "--unshare-user", "--unshare-pid", "--dev-bind", "/", "/", "--proc", "/proc")


@pytest.mark.skipif(not probes.usable().host_network, reason="no namespaces here")
@pytest.mark.parametrize("marked", [True, False])
def test_the_environment_of_who_is_in_a_box_is_asked_for_only_where_nobody_above_says_whose(
    *, marked: bool
) -> None:
    """Reading it waits for as long as a process in a box likes: measured, seconds for each."""
    inner = ["sh", "-c", "sleep 60 & echo; wait"]
    outer = [*_BOX, "--die-with-parent", "--setenv", "WINDLASS_SESSION", "inner", *inner]
    env = {"PATH": os.environ["PATH"], **({"WINDLASS_SESSION": "outer"} if marked else {})}
    with subprocess.Popen(outer, env=env, stdout=subprocess.PIPE) as box:
        try:
            assert box.stdout is not None
            assert box.stdout.readline()
            found = census.take()
            (first,) = (entry for entry in found.values() if entry.parent == box.pid)
            below = [each for each in found.values() if each.parent == first.identity.pid]
        finally:
            box.kill()
    assert found[box.pid].has(b"WINDLASS_SESSION=outer") == marked
    assert below
    assert not any(each.environ for each in below)
    assert bool(first.environ) != marked
