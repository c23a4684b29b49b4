"""A repository's own configuration: read once, as what it is, and never as anything else.

It comes from anywhere: no link is followed to it, nothing but a plain file is opened, and no more
of it is read than anybody writes. Who judges it and who uses it have the same bytes.
"""

from __future__ import annotations

import os
from pathlib import Path

from windlass.core.errors import ConfigError
from windlass.daemon.kernel import untrusted_files

PROJECT_FILE = ".windlass/config.toml"
INCLUDE_FILE = ".worktreeinclude"
"""Patterns of files that workspaces get copies of: a repository's `workspace.include`."""
LARGEST = 64 << 10


def read(root: str, name: str = PROJECT_FILE) -> bytes | None:
    """What a repository's file holds, None where there is none; raises for what is no such file."""
    path = Path(root) / name
    try:
        held = untrusted_files.read(path, most=LARGEST + 1, below=Path(root))
    except FileNotFoundError:
        return None
    except OSError as error:
        if not os.path.lexists(path):  # which is no problem, wherever its folder leads
            return None
        why = next(
            (f"{place} is a link" for place in (path.parent, path) if place.is_symlink()), ""
        )
        said = why or error.strerror or "it is no plain file"
        raise ConfigError(f"{path} is not read: {said}", "put a plain file in its place") from None
    if len(held) > LARGEST:
        raise ConfigError(f"{path} is larger than {LARGEST >> 10} KiB", "write less into it")
    return held


def include_patterns(root: str) -> list[str]:
    """The patterns of a repository's list of ignored files, without its comments."""
    try:
        lines = (read(root, INCLUDE_FILE) or b"").decode().splitlines()
    except UnicodeDecodeError:
        raise ConfigError(f"{Path(root) / INCLUDE_FILE} is no text", "write it in UTF-8") from None
    patterns = [line if line.endswith("\\ ") else line.rstrip(" ") for line in lines]
    return [pattern for pattern in patterns if pattern and not pattern.startswith("#")]


def to_be_written(root: str) -> Path:
    """The path of the file; refuses what is neither missing nor a plain file, links above all."""
    read(root)
    return Path(root) / PROJECT_FILE
