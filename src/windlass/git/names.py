"""Names that agents make: which of them we use as paths and refs of our own.

A tree, an index or a packed list of refs may hold any bytes; git itself refuses only some of them,
and only in some places. Whatever is written, deleted or looked up by such a name passes here first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_REF_PART = re.compile(rb"(?!\.)(?!.*\.\.)(?!.*@\{)[^\x00-\x20\x7f~^:?*\[\\/]+(?<!\.lock)")
_NO_PATH = re.compile(rb"\0|(?:\A|/)(?:\.{0,2}|\.git)(?:/|\Z)", re.IGNORECASE)
"""A name that is empty, means its own folder or the one above, or is git's; by `is_dotgit`."""
LONGEST = 4096
"""Bytes of a path, as the system allows."""


def is_dotgit(name: bytes) -> bool:
    """Says whether git would refuse the name in a tree; some file systems fold its case."""
    return name.lower() == b".git"


def is_path(name: bytes) -> bool:
    """Says whether a name leads to a place below the folder that it is joined to, and to no `.git`.

    By its letters alone: that none of its folders is a link is for whoever opens them.
    """
    return len(name) <= LONGEST and _NO_PATH.search(name) is None


def is_ref(name: bytes) -> bool:
    """Says whether it is the full name of a ref, as `git check-ref-format` has it."""
    parts = name.split(b"/")
    return (
        len(name) <= LONGEST
        and len(parts) > 1
        and parts[0] == b"refs"
        and not name.endswith(b".")
        and all(_REF_PART.fullmatch(part) for part in parts)
    )


def folders_above(paths: Iterable[bytes]) -> set[bytes]:
    """Lists every folder on the way to these paths."""
    found: set[bytes] = set()
    for path in paths:
        folder = path.rpartition(b"/")[0]
        while folder and folder not in found:
            found.add(folder)
            folder = folder.rpartition(b"/")[0]
    return found
