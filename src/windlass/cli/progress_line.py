"""A wait that a terminal shows in lines that move, with what happens meanwhile above them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
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
    lines: Callable[[Seen], Sequence[str]],
    news: Callable[[Seen], Iterable[Any]] = lambda _: (),
    tell: Callable[[Any], None] = lambda _: None,
) -> Seen:
    """Looks until it is over, and returns what was seen last.

    `look` waits so many seconds for anything new, or as long as it takes. A terminal sees the
    `lines`, the first with how long it has been; whoever it is is told the `news` of each look.
    """
    shows, began, live = call.shows_progress, time.monotonic(), output.LiveLines()
    while not is_over(seen):
        if shows:
            first, *more = lines(seen)
            waited = f"{first} … {time.monotonic() - began:.0f} s"
            live.write(*(render.fit(line, render.columns() - 1) for line in (waited, *more)))
        seen = look(seen, _LOOK if shows else None)
        for number, piece in enumerate(news(seen)):
            if shows and not number:
                live.write()
            tell(piece)
    if shows:
        live.write()
    return seen
