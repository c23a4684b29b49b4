"""A box of the tests' own making: it shows the system and what is named, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

SYSTEM = ("bin", "sbin", "lib", "lib64")


def box(*, writable: Iterable[Path | str] = (), readable: Iterable[Path | str] = ()) -> list[str]:
    """Gives the words that start a program in a box with these folders, at their own paths."""
    words = ["bwrap", "--unshare-all", "--die-with-parent", "--cap-drop", "ALL"]
    words += ["--ro-bind", "/usr", "/usr"]
    for name in SYSTEM:
        at = Path("/", name)
        if at.is_symlink():
            words += ["--symlink", str(at.readlink()), str(at)]
        elif at.is_dir():
            words += ["--ro-bind", str(at), str(at)]
    words += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]
    for place in readable:
        words += ["--ro-bind", str(place), str(place)]
    for place in writable:
        words += ["--bind", str(place), str(place)]
    return [*words, "--"]
