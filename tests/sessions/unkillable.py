"""A process that no signal ends, for as long as a test wants: it is traced, and held at its exit.

That is what a process looks like that hangs in the kernel, on a disk that does not answer.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_SEIZE, _DETACH, _HOLD_AT_EXIT = 0x4206, 17, 0x40
"""Of Linux, from <sys/ptrace.h>."""


@contextmanager
def unkillable(pid: int) -> Iterator[None]:
    """Has a process outlive every signal; those that came end it afterwards."""
    if sys.platform != "linux":
        pytest.skip("processes are held at their exit on Linux only")
    if _ptrace(_SEIZE, pid, _HOLD_AT_EXIT) != 0:
        pytest.skip(f"no process may be traced here: {os.strerror(ctypes.get_errno())}")
    try:
        yield
    finally:
        _ptrace(_DETACH, pid, 0)


def _ptrace(request: int, pid: int, data: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.ptrace(request, pid, None, ctypes.c_void_p(data)))
