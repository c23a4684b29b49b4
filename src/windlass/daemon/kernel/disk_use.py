"""How much folders take on their disk, whatever an agent has made of them."""

from __future__ import annotations

import subprocess
from pathlib import Path

_PATIENCE = 60.0
_PAST_PERMISSIONS = ("unshare", "--map-root-user", "--")
"""Who owns a folder may close it to itself; the root of a namespace of our own sees into it all the
same. Where there are no such namespaces there are no boxes either, whose disk this counts."""


def count(*folders: Path) -> int:
    """MiB of all that is in these folders; raises ValueError where that cannot be counted."""
    done = _du(folders)
    if done.returncode != 0:
        past = _du(folders, *_PAST_PERMISSIONS)
        done = past if _counted(past) >= _counted(done) else done
    if len(_lines(done)) < len(folders):
        raise ValueError(done.stderr.decode(errors="replace").strip() or "du says nothing")
    return _counted(done)


def _du(folders: tuple[Path, ...], *before: str) -> subprocess.CompletedProcess[bytes]:
    words = [*before, "du", "-sxm", "--", *map(str, folders)]
    try:
        return subprocess.run(words, capture_output=True, timeout=_PATIENCE, check=False)
    except FileNotFoundError as error:
        return subprocess.CompletedProcess(words, 127, b"", str(error).encode())
    except subprocess.SubprocessError as error:
        raise ValueError(str(error)) from error


def _lines(done: subprocess.CompletedProcess[bytes]) -> list[bytes]:
    return [line for line in done.stdout.splitlines() if line[:1].isdigit()]


def _counted(done: subprocess.CompletedProcess[bytes]) -> int:
    return sum(int(line.split(b"\t")[0]) for line in _lines(done))
