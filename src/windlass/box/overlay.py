"""Folders stacked over each other and seen as one, with everything written going to the top.

A gate's run sees a work tree, the dependencies and a cache like this: none of them changes, and
what the run writes is thrown away. Where the kernel has no such mounts for ordinary users, the
stack is copied instead.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from windlass.box import overlay_mount, wrapper

_SPEC = "stack.json"


def prefix(lowers: Sequence[Path], *, folder: Path, place: Path) -> list[str]:
    """Returns what to put before a command so that it sees `lowers` as one folder at `place`.

    The topmost comes first. What it writes there goes to the folder `folder`, which has to be on a
    disk of its own file system alone, as the upper part of a stack must.
    """
    upper, work = folder / "upper", folder / "work"
    for made in (upper, work, place):
        made.mkdir(mode=0o700, parents=True, exist_ok=True)
    spec = {
        "lowers": [str(lower) for lower in lowers],
        "upper": str(upper),
        "work": str(work),
        "place": str(place),
    }
    file = folder / _SPEC
    file.write_bytes(json.dumps(spec).encode("utf-8", "surrogateescape"))
    python, _ = wrapper.interpreter()
    return [python, "-I", "-S", "-X", "utf8", overlay_mount.__file__, str(file), "--"]


def copy(lowers: Sequence[Path], place: Path) -> None:
    """Makes the same of copies, where there are no such mounts; `place` must be empty."""
    for lower in reversed(lowers):
        shutil.copytree(lower, place, symlinks=True, dirs_exist_ok=True)


def works(folder: Path) -> bool:
    """Whether this machine can mount a stack that is kept in a folder; tried once."""
    return _tried(folder)


@cache
def _tried(folder: Path) -> bool:
    if sys.platform != "linux":
        return False
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="probe-", dir=folder) as made:
        own = Path(made)
        (own / "lower").mkdir()
        (own / "lower" / "there").touch()
        line = prefix([own / "lower"], folder=own / "top", place=own / "place")
        words = ["/bin/sh", "-c", 'test -e "$1/there" && : >"$1/made"', "-", str(own / "place")]
        try:
            done = subprocess.run(
                [*line, *words], capture_output=True, timeout=20, check=False, env={}
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0 and (own / "top" / "upper" / "made").exists()
