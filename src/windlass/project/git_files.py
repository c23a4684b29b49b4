"""The branches of a repository, and the one of a work tree, read from git's own files.

For commands that need no daemon: git itself is run by nobody here.
"""

from __future__ import annotations

import os
import re

_MOST = 64 << 10
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


def _git_folder(tree: str) -> str:
    """Where the git folder of a work tree lies; nothing where there is none."""
    path = os.path.join(tree, ".git")
    if os.path.isdir(path):
        return path
    said = _read(path).decode("utf-8", "surrogateescape")
    if not said.startswith("gitdir: "):
        return ""
    return os.path.normpath(os.path.join(tree, said.removeprefix("gitdir: ").rstrip("\n")))


def branch(tree: str) -> str:
    """The branch that a work tree is on; nothing where it is on none."""
    held = _HEAD.fullmatch(_read(os.path.join(_git_folder(tree) or tree, "HEAD")))
    return held[1].decode("utf-8", "surrogateescape") if held else ""


def branches(tree: str) -> list[str]:
    """The branches of a repository, as far as its files tell."""
    git = _git_folder(tree)
    if not git:
        return []
    common = _read(os.path.join(git, "commondir")).decode("utf-8", "surrogateescape").strip()
    git = os.path.normpath(os.path.join(git, common)) if common else git
    heads = os.path.join(git, "refs", "heads")
    found = [
        os.path.relpath(os.path.join(place, name), heads)
        for place, _, names in os.walk(heads)
        for name in names
        if not name.endswith(".lock")
    ]
    packed = _PACKED.findall(_read(os.path.join(git, "packed-refs"), 8 << 20))
    found += [name.decode("utf-8", "surrogateescape") for name in packed]
    return sorted(set(found))
