"""How much folders take on their disk, whatever an agent has made of them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

_PATIENCE = 60.0


def count(*folders: Path) -> int:
    """MiB of all that is in these folders; raises ValueError where that cannot be counted."""
    return _counted("m", folders)


def count_bytes(*folders: Path) -> int:
    """The same in bytes, as exactly as every `du` says it: in KiB."""
    return _counted("k", folders) << 10


def _counted(unit: str, folders: Sequence[Path]) -> int:
    try:
        done = subprocess.run(
            ["du", f"-sx{unit}", "--", *map(str, folders)],
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.SubprocessError as error:
        raise ValueError(str(error)) from error
    lines = [line for line in done.stdout.splitlines() if line[:1].isdigit()]
    if len(lines) < len(folders):
        raise ValueError(done.stderr.decode(errors="replace").strip() or "du says nothing")
    return sum(int(line.split(b"\t")[0]) for line in lines)
