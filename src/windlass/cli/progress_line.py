"""A wait that a terminal shows in one line that moves, with what happens meanwhile above it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from windlass.cli import output, render
from windlass.cli.call import Call

_LOOK = 1.0
"""Seconds between two looks, where somebody watches."""
Seen: TypeAlias = dict[str, Any]


def watch(
    call: Call,
    seen: Seen,
    *,
    look: Callable[[Seen, float | None], Seen],
    is_over: Callable[[Seen], bool],
    line: Callable[[Seen], str],
    news: Callable[[Seen], Iterable[Any]] = lambda _: (),
    tell: Callable[[Any], None] = lambda _: None,
) -> Seen:
    """Looks until it is over, and returns what was seen last.

    `look` waits so many seconds for anything new, or as long as it takes. A terminal sees the
    `line`, and how long it has been; whoever it is is told the `news` of each look.
    """
    shows, began = call.shows_progress, time.monotonic()
    while not is_over(seen):
        if shows:
            waited = f"{line(seen)} … {time.monotonic() - began:.0f} s"
            output.write_progress(render.fit(waited, render.columns() - 1))
        seen = look(seen, _LOOK if shows else None)
        for number, piece in enumerate(news(seen)):
            if shows and not number:
                output.write_progress("")
            tell(piece)
    if shows:
        output.write_progress("")
    return seen
