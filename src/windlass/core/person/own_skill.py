"""A skill of ours in the person's folder: whether it is still as we wrote it.

Its last line holds a digest of the rest. What has another one, or none, is somebody's own.
"""

from __future__ import annotations

import hashlib
import re

_SEAL = re.compile(r"<!-- windlass ([0-9a-f]{16}) -->\n\Z")


def sealed(text: str) -> str:
    """The text with the line that says whose it is."""
    return f"{text}<!-- windlass {_digest(text)} -->\n"


def is_ours(text: str) -> bool:
    """Whether we wrote this, whichever version of us, and nobody has changed it."""
    seal = _SEAL.search(text)
    return seal is not None and seal[1] == _digest(text[: seal.start()])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
