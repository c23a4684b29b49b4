"""The branches of a repository, and the one of a work tree, read from git's own files.

For commands that need no daemon: git itself is run by nobody here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from windlass.core.errors import ConfigError

_MOST = 64 << 10
_MOST_BRANCHES = 10_000
_HEAD = re.compile(rb"ref: refs/heads/(.+)\n?")
_PACKED = re.compile(rb"^[0-9a-f]{40,64} refs/heads/(.+)$", re.MULTILINE)


def _read(path: str, most: int = _MOST) -> bytes:
    try:
        if not os.path.isfile(path):
            return b""
        with open(path, "rb") as file:
            return file.read(most)
    except OSError:
        return b""


def git_folder(tree: str) -> str:
    """Where the git folder of a work tree lies; nothing where there is none."""
    path = os.path.join(tree, ".git")
    if os.path.isdir(path):
        return path
    said = _read(path).decode("utf-8", "surrogateescape")
    if not said.startswith("gitdir: "):
        return ""
    return _named(path, tree, said.removeprefix("gitdir: ").rstrip("\n"))


def _named(file: str, folder: str, said: str) -> str:
    """The folder that one of git's files names."""
    if "\0" in said:
        raise ConfigError(f"{file} names no folder: it has a NUL in it", "mend it: `git status`")
    return os.path.normpath(os.path.join(folder, said))


def branch(tree: str) -> str:
    """The branch that a work tree is on; nothing where it is on none."""
    held = _HEAD.fullmatch(_read(os.path.join(git_folder(tree) or tree, "HEAD")))
    return held[1].decode("utf-8", "surrogateescape") if held else ""


def branches(tree: str) -> list[str]:
    """The branches of a repository, as far as its files tell."""
    git = git_folder(tree)
    if not git:
        return []
    file = os.path.join(git, "commondir")
    common = _read(file).decode("utf-8", "surrogateescape").strip()
    git = _named(file, git, common) if common else git
    found = list(_loose(os.path.join(git, "refs", "heads")))
    packed = _PACKED.findall(_read(os.path.join(git, "packed-refs"), 8 << 20))
    found += [name.decode("utf-8", "surrogateescape") for name in packed[:_MOST_BRANCHES]]
    return sorted(set(found))


def _loose(heads: str) -> Iterator[str]:
    """The branches that have a file each: no link is followed, and the number is bounded."""
    if os.path.islink(heads) or os.path.islink(os.path.dirname(heads)):
        return
    count = 0
    for place, folders, names in os.walk(heads):
        count += len(folders) + len(names)
        if count > _MOST_BRANCHES:
            return
        for name in names:
            path = os.path.join(place, name)
            if not name.endswith(".lock") and not os.path.islink(path):
                yield os.path.relpath(path, heads)
