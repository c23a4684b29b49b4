"""What is said of lines of a repository's configuration that wait for the person."""

from __future__ import annotations

from collections.abc import Sequence

_NAMED = 4


def lines(keys: Sequence[str]) -> list[str]:
    """One line that names the keys and how to look at them; none where nothing waits."""
    if not keys:
        return []
    more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    verb = "waits" if len(keys) == 1 else "wait"
    named = f"{', '.join(keys[:_NAMED])}{more}"
    return [f"{named} of .windlass/config.toml {verb} for your word: wl trust"]
