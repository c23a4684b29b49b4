"""Where tests keep their files: in memory, where there is enough of it.

A test makes and removes hundreds of files, and waits for the disk as often as what it tests makes
sure of something: on a busy disk that is most of its time. Who sets TMPDIR has it elsewhere.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import psutil

_PLACE = Path("/dev/shm")
_ENOUGH = 6 << 30
"""Bytes, of which a run of everything takes a tenth."""


def use() -> None:
    """Has this process, and all that it starts, make temporary files there."""
    if "TMPDIR" in os.environ or not _is_usable(_PLACE):
        return
    os.environ["TMPDIR"] = str(_PLACE)
    tempfile.tempdir = None  # asked anew


def _is_usable(place: Path) -> bool:
    if not os.access(place, os.W_OK | os.X_OK) or os.statvfs(place).f_flag & os.ST_NOEXEC:
        return False
    free = min(shutil.disk_usage(place).free, psutil.virtual_memory().available)
    return free > _ENOUGH
