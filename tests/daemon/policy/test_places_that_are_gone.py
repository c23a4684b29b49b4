"""Paths that lead nowhere any more are judged as they are written."""

from __future__ import annotations

import subprocess
import sys

import pytest

from windlass.daemon.policy import decisions

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")


def test_the_folder_of_a_process_that_has_ended_is_no_defect() -> None:
    """Its links are there until somebody takes note of its end, and cannot be read."""
    child = subprocess.Popen(["true"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.read()  # its end is ours
    place = f"/proc/{child.pid}/cwd"
    while _state(child.pid) != "Z":
        pass
    assert decisions.followed(place) == place
    child.stdout.close()
    child.wait()


def _state(pid: int) -> str:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:  # noqa: PTH123
        return file.read().rpartition(")")[2].split()[0]
