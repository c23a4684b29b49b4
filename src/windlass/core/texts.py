"""How long a text may be that is kept: a goal, a message, a note, a question."""

from __future__ import annotations

from windlass.core.errors import UserError

LONGEST = 100_000
"""Characters."""


def require_short(text: str) -> str:
    """A text that may be kept, as it is."""
    if len(text) > LONGEST:
        raise UserError(
            f"the text has {len(text)} characters, and {LONGEST} is the most",
            "write it into a file and say where that is",
        )
    return text
