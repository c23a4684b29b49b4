"""Taking what pays for a question out of the answer to it, where an address says it back.

Gateways that are asked to debug, or that fail, repeat a request's headers. What is taken out is
replaced by as many stars, so that a length that was announced still holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_PAYS = re.compile(r"key|token|secret|auth|pass|cookie|credential|session|jwt|signature")
"""What the name of a header has in it whose value is nobody else's to know."""
_SHORTEST = 16
"""Characters of a secret. A gateway on this machine may be happy with `test` for a key, and that
word must not be taken out of answers."""


class Echoes:
    """What must not come back; one for each answer, because it may come in two pieces."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        words = {
            word.encode()
            for name, value in headers.items()
            if _PAYS.search(name)
            for word in re.split(r"[\s;,]+", value)
            if len(word) >= _SHORTEST
        }
        # Longest first: one may be a part of another.
        self._words = sorted(words, key=len, reverse=True)
        self._held = b""

    def is_in(self, value: bytes) -> bool:
        """Whether any of it stands in a value."""
        return any(word in value for word in self._words)

    def without(self, piece: bytes) -> bytes:
        """What may be said of a piece; an end that may be the beginning of a secret waits."""
        said = self._held + piece
        for word in self._words:
            said = said.replace(word, b"*" * len(word))
        held = max((_begun(said, word) for word in self._words), default=0)
        cut = len(said) - held
        self._held = said[cut:]
        return said[:cut]

    def rest(self) -> bytes:
        """What has waited, once nothing more comes."""
        rest, self._held = self._held, b""
        return rest


def _begun(said: bytes, word: bytes) -> int:
    """How much of a word stands at the end of what was said."""
    last = said[-len(word) + 1 :]
    at = last.find(word[:1])
    while at >= 0:
        if word.startswith(last[at:]):
            return len(last) - at
        at = last.find(word[:1], at + 1)
    return 0
