"""What root may and others may not, given up for a while: else no permission would ever be missing.

Capabilities belong to a thread, and so do those that its programs can have. What is tried runs in a
thread of its own, which gives them up for good.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

Result = TypeVar("Result")

DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER = 1, 2, 3
_PAST_PERMISSIONS = (DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER)
_PR_CAPBSET_DROP = 24
_VERSION_3 = 0x20080522


class _Header(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


def unprivileged(work: Callable[[], Result], *, closed: Path) -> Result:
    """Does something as who may read only what its permissions allow, programs that it starts too.

    `closed` is a file or folder that must not be readable to it, or the try proves nothing.
    """

    def alone() -> Result:
        if os.geteuid() == 0:
            _give_up()
        assert not os.access(closed, os.R_OK | os.X_OK), f"{closed} is open to whoever tries it"
        return work()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(alone).result()


def _give_up() -> None:
    """Gives up, in this thread, what passes over permissions."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in _PAST_PERMISSIONS:
        _require(libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0))
    header = _Header(_VERSION_3, 0)
    # Effective, permitted and inheritable, for the first 32 capabilities and then for the others.
    sets = (ctypes.c_uint32 * 6)()
    _require(libc.capget(ctypes.byref(header), sets))
    for number in range(3):
        for capability in _PAST_PERMISSIONS:
            sets[number] &= ~(1 << capability)
    _require(libc.capset(ctypes.byref(header), sets))


def _require(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
