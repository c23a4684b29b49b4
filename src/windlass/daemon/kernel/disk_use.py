"""How much folders take on their disk, whatever an agent has made of them.

A disk has no more room for names than for bytes: each of them counts for something.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from windlass.box import read_box

_PATIENCE = 60.0
_OF_A_FILE = 4
"""KiB for each file, folder and link at least: empty ones take no block, and a disk has only so
many. Others have that as well, so ordinary folders are as large as they were."""


class TooLong(ValueError):
    """It was not counted in the time that there is: of very many files, or on a busy disk."""


def count(*folders: Path) -> int:
    """MiB of all that is in these folders; raises ValueError where that cannot be counted."""
    return -(-_counted(folders) // 1024)


def count_bytes(*folders: Path) -> int:
    """The same in bytes, as exactly as every `du` says it: in KiB."""
    return _counted(folders) << 10


def _counted(folders: tuple[Path, ...]) -> int:
    taken = _said("-sxk", folders)
    if sys.platform != "linux":
        return taken
    return max(taken, _OF_A_FILE * _said("-sx", folders, "--inodes"))


def _said(options: str, folders: tuple[Path, ...], *more: str) -> int:
    """The sum of what `du` says, also of folders that an agent has closed to us."""
    line = ["du", options, *more, "--", *map(str, folders)]
    done = _run(line)
    if done.returncode and (sees_all := read_box.past_permissions()):
        again = _run([*sees_all, *line])
        done = done if len(_sums(again)) < len(folders) else again
    if len(_sums(done)) < len(folders):
        raise ValueError(f"du ended with {done.returncode}")
    return sum(_sums(done))


def _run(line: list[str]) -> subprocess.CompletedProcess[bytes]:
    """Runs it without its complaints: an agent chooses how many those are, and how long."""
    try:
        return subprocess.run(
            line,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise TooLong(f"it was not counted within {_PATIENCE:.0f} s") from None


def _sums(done: subprocess.CompletedProcess[bytes]) -> list[int]:
    lines = (line.partition(b"\t")[0] for line in done.stdout.splitlines())
    return [int(size) for size in lines if size.isdigit()]
