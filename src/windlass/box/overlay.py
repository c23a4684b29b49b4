"""Folders stacked over each other and seen as one, with everything written going to the top.

A gate's run sees a work tree, the dependencies and a cache like this: none of them changes, and
what the run writes is thrown away. Where the kernel has no such mounts for ordinary users, whoever
wants a stack has to copy it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from windlass.box import overlay_mount, wrapper

_PROGRAMS = os.path.dirname(overlay_mount.__file__)  # noqa: PTH120 - text, for a program


class Stack(NamedTuple):
    """Folders that are seen as one at `place`, the topmost first; writes go below `folder`.

    That is made, and has to be on a file system that can be the top of a stack: not another stack.
    """

    lowers: Sequence[Path]
    folder: Path
    place: Path


def prefix(stacks: Sequence[Stack], *, file: Path) -> list[str]:
    """Returns what to put before a command so that it sees these stacks; `file` says which."""
    spec: list[list[bytes]] = []
    for stack in stacks:
        upper, work = stack.folder / "upper", stack.folder / "work"
        for made in (upper, work, stack.place):
            made.mkdir(mode=0o700, parents=True, exist_ok=True)
        spec.append([os.fsencode(path) for path in (stack.place, upper, work, *stack.lowers)])
    file.write_bytes(overlay_mount.written(spec))
    python, _ = wrapper.interpreter()
    # Our folder is looked through last: no module of ours stands for one of Python's own.
    start = "import overlay_mount; overlay_mount.start()"
    load = f"import sys; sys.path.append({_PROGRAMS!r}); {start}"
    return [python, "-I", "-S", "-X", "utf8", "-c", load, str(file)]


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
        stack = Stack([own / "lower"], own / "top", own / "place")
        line = prefix([stack], file=own / "stacks")
        words = ["/bin/sh", "-c", 'test -e "$1/there" && : >"$1/made"', "-", str(own / "place")]
        try:
            done = subprocess.run(
                [*line, *words], capture_output=True, timeout=20, check=False, env={}
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.returncode == 0 and (own / "top" / "upper" / "made").exists()
