"""A command that is run whole: its output has an end, and so has everything that it started."""

from __future__ import annotations

import io
import os
import tracemalloc
import uuid
from pathlib import Path

import pytest

from windlass.core.sessions import WholeRun
from windlass.daemon.gate.checks import LOG_BYTES
from windlass.sessions import commands
from windlass.sessions.capped_output import CappedOutput

ENV = {"PATH": "/usr/bin:/bin"}


def run(tmp_path: Path, command: str, *, timeout: float = 60.0, most: int = 1 << 20) -> WholeRun:
    """Runs a command in a folder of its own."""
    return commands.run_whole(
        command,
        cwd=tmp_path,
        env=ENV,
        log=tmp_path / "log",
        timeout=timeout,
        mark=f"test-{uuid.uuid4()}",
        most=most,
    )


@pytest.mark.parametrize("code", [0, 3, 127])
def test_it_tells_how_the_command_ended(tmp_path: Path, code: int) -> None:
    """With both of its outputs in the log."""
    done = run(tmp_path, f"echo said; echo wrong >&2; exit {code}")
    assert (done.code, done.timed_out, done.left_out) == (code, False, 0)
    assert (tmp_path / "log").read_text() == "said\nwrong\n"


def test_one_that_is_killed_has_the_code_of_its_signal(tmp_path: Path) -> None:
    """As a shell would tell it."""
    assert run(tmp_path, "kill -9 $$").code == 137


def test_what_it_leaves_running_is_ended_with_it(tmp_path: Path) -> None:
    """Also what holds its output open, and what left its group; nobody waits for them."""
    done = run(tmp_path, "setsid sleep 1000 & sleep 1000 & echo done; exit 0")
    assert (done.code, done.timed_out, done.survivors) == (0, False, 0)
    assert (tmp_path / "log").read_text() == "done\n"


def test_one_whose_time_is_over_is_ended_with_all_of_it(tmp_path: Path) -> None:
    """And it is told; what it said before is kept."""
    done = run(tmp_path, "echo begun; trap '' TERM; sleep 1000 & wait", timeout=1.0)
    assert (done.timed_out, done.survivors) == (True, 0)
    assert (tmp_path / "log").read_text() == "begun\n"


def test_of_more_output_than_there_is_room_for_head_and_end_are_kept(tmp_path: Path) -> None:
    """The command is not held up by that."""
    done = run(tmp_path, "echo first; yes | head -c 3000000; echo last", most=10_000)
    kept = (tmp_path / "log").read_bytes()
    assert done.code == 0
    assert kept.startswith(b"first\ny\n")
    assert kept.endswith(b"y\nlast\n")
    assert f"{done.left_out} bytes are left out here".encode() in kept
    assert len(kept) < 10_200
    said = (
        b"\n[windlass: output cut here]\n[windlass: %d bytes are left out here]\n" % done.left_out
    )
    assert len(kept.replace(said, b"")) == 3_000_000 + len("first\nlast\n") - done.left_out


@pytest.mark.parametrize("parts", [[b"abcdefghij"], [b"abc", b"def", b"ghij"], [b"a"] * 10])
def test_nothing_is_lost_while_there_is_room(parts: list[bytes]) -> None:
    """However it is cut."""
    file = io.BytesIO()
    output = CappedOutput(file, most=10)
    for part in parts:
        output.feed(part)
    output.close()
    assert file.getvalue() == b"".join(parts)


def test_of_a_gigabyte_what_a_gate_keeps_is_kept_head_and_end(tmp_path: Path) -> None:
    """As much as gates allow, on the disk and, of the end, in memory."""
    part = b"x" * (1 << 20)
    tracemalloc.start()
    try:
        with (tmp_path / "log").open("wb") as file:
            output = CappedOutput(file, most=LOG_BYTES)
            for said in (b"first\n", *[part] * 1024, b"last\n"):
                output.feed(said)
            output.close()
        assert tracemalloc.get_traced_memory()[1] < LOG_BYTES
    finally:
        tracemalloc.stop()
    assert LOG_BYTES == 64 << 20
    assert output.left_out == (1 << 30) + len("first\nlast\n") - LOG_BYTES
    with (tmp_path / "log").open("rb") as file:
        assert file.read(7) == b"first\nx"
        assert file.seek(-6, os.SEEK_END) < LOG_BYTES + 100
        assert file.read() == b"xlast\n"


def test_what_is_said_a_byte_at_a_time_takes_no_more_room() -> None:
    """A part of the output by itself has a price that is a multiple of one byte."""
    output = CappedOutput(io.BytesIO(), most=400_000)
    tracemalloc.start()
    try:
        for _ in range(500_000):
            output.feed(b"x")
        assert tracemalloc.get_traced_memory()[1] < 1_500_000
    finally:
        tracemalloc.stop()
    assert output.left_out == 100_000
