"""Machines that have few programs."""

from __future__ import annotations

import shutil
from pathlib import Path

PLAIN = ("bwrap", "cat", "cp", "env", "git", "ls", "mkdir", "python3", "rm", "sh", "true")
"""What any machine has: neither tmux nor an agent's program."""


def machine_with(folder: Path, *names: str) -> str:
    """A PATH with these programs alone, as far as this machine has them."""
    folder.mkdir()
    for name in names:
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    return str(folder)
