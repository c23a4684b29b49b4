"""What is said of a revision that waits for a person; imports nothing, for every screen has it."""

from __future__ import annotations

REVIEW = "nobody has looked at it yet"
"""Why a person has to look at a revision that has nothing special about it."""
