"""Small disks that a test fills, so that no real one is ever full; only root may mount them."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ONLY_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small disk")
_BLOCK = 4096


class SmallDisk:
    """A file system of its own, and a file that takes up its room."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self, *, but: int = 0) -> None:
        """Takes all the room that there is, but so many bytes."""
        with self._filler.open("wb", buffering=0) as file:
            with contextlib.suppress(OSError):
                while file.write(bytes(_BLOCK)):
                    pass
            file.truncate(max(0, file.tell() - but))

    def make_room(self) -> None:
        """Gives all of it back."""
        self._filler.unlink(missing_ok=True)


@contextlib.contextmanager
def mounted(folder: Path, *, megabytes: int) -> Iterator[SmallDisk]:
    """Has an empty folder lie on a small disk; whoever uses it has to be gone at the end."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=700", "tmpfs", str(folder)]
    subprocess.run(mount, check=True)
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
