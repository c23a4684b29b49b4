"""Threads that look at all processes at the same time look together."""

from __future__ import annotations

import os
import signal
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


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Whose environments are read."""
    seen: list[int] = []
    environ = census.environ

    def read(pid: int) -> bytes:
        seen.append(pid)
        return environ(pid)

    monkeypatch.setattr(census, "environ", read)
    return seen


_BECOMES_ANOTHER = (
    'echo; read line; WINDLASS_RUN=two exec sh -c \'echo; read line; WINDLASS_RUN=six exec "$0"'
    ' -c "echo; read line"\' sh'
)


def test_an_environment_is_read_once_for_each_program_that_a_process_becomes(
    reads: list[int],
) -> None:
    """Reading it waits for a process that is busy with its memory: measured, half a second."""
    env = {"PATH": os.environ["PATH"], "WINDLASS_RUN": "one"}
    with subprocess.Popen(
        ["sh", "-c", _BECOMES_ANOTHER], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number, mark in enumerate((b"one", b"two", b"six"), 1):
            assert process.stdout.readline()
            for _ in range(3):
                assert census.take()[process.pid].has(b"WINDLASS_RUN=" + mark)
            assert reads.count(process.pid) == number
            process.stdin.write(b"\n")
            process.stdin.flush()


def test_the_environment_of_a_fork_is_its_parents_until_it_becomes_another_program(
    reads: list[int],
) -> None:
    program = "( read line; exec sleep 60 ) <&3 & echo $!; wait"
    with subprocess.Popen(
        ["sh", "-c", f"exec 3<&0; echo; read line; {program}"],
        env={"PATH": os.environ["PATH"], "WINDLASS_RUN": "one"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline()
        census.take()
        process.stdin.write(b"\n")
        process.stdin.flush()
        fork = int(process.stdout.readline())
        assert census.take()[process.pid].has(b"WINDLASS_RUN=one")
        assert census.take()[fork].has(b"WINDLASS_RUN=one")
        assert reads.count(process.pid) == 1
        assert reads.count(fork) == 0
        process.stdin.write(b"\n")
        process.stdin.flush()
        # While it is being made another program it has none, and is asked again.
        until(lambda: census.take()[fork].has(b"WINDLASS_RUN=one") and fork in reads)
        os.kill(fork, signal.SIGKILL)


def test_no_environment_is_read_by_the_number_of_a_thread(reads: list[int]) -> None:
    """It is that of its process, which may be busy, once for each thread."""
    over, begun = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        over.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        assert begun.wait(10)
        list(census.newest())
    finally:
        over.set()
        thread.join()
    assert thread.native_id not in reads


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
