"""Finds the agent CLI behind its box: two processes of the box stand between it and its holder.

By the names of processes, which an agent may choose: good enough to look at one, and never a reason
to spare or to end one for good.
"""

from __future__ import annotations

import os

import psutil

WRAPPER = b"bwrap"
"""The name of both processes of a box's own: the one outside, and the first one in it."""


def program(child: int) -> int:
    """The number of the program outside of its box; the child's own without a box."""
    pid = child
    while is_wrapper(pid):
        below = _children(pid)
        if not below:
            break
        pid = min(below)
    return pid


def is_wrapper(pid: int) -> bool:
    """Whether a process is, by its name, one of a box's own."""
    return _read(f"/proc/{pid}/comm").strip() == WRAPPER


def _children(pid: int) -> list[int]:
    listed = _read(f"/proc/{pid}/task/{pid}/children").split()
    if listed:
        return [int(number) for number in listed]
    try:  # a kernel without that list
        return [child.pid for child in psutil.Process(pid).children()]
    except psutil.Error:
        return []


def _read(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""  # it has ended, or this system has no such file
    try:
        return os.read(descriptor, 1 << 16)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
