"""Captured screens made fit for people: as plain text, or with their colours and nothing else."""

from __future__ import annotations

from windlass.core.printable import keep_colour, without_escapes


def plain(text: str) -> str:
    """Returns the text of a screen without trailing blanks, escapes or control characters."""
    return _trimmed(without_escapes(text))


def coloured(text: str) -> str:
    """Returns the text of a screen with colours as its only escapes."""
    return keep_colour(text.rstrip("\n") + "\n" if text.strip() else "")


def _trimmed(text: str) -> str:
    rows = [row.rstrip() for row in text.split("\n")]
    while rows and not rows[-1]:
        rows.pop()
    return "".join(f"{row}\n" for row in rows)
