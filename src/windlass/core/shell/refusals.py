"""Why a line is not run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Refusal(NamedTuple):
    """Why a line is not run, and what decided so."""

    reason: str
    rule: str
    patterns: tuple[str, ...] = ()
    """What a person would allow to have it nevertheless."""
    path: str = ""
    """What of the line leads outside, where that is it."""
    writes: bool = False
    """Whether it would be written there."""


class Refused(Exception):
    """Ends the judging of a line."""

    def __init__(
        self,
        reason: str,
        rule: str = "paths",
        patterns: Iterable[str] = (),
        path: str = "",
        *,
        writes: bool = False,
    ) -> None:
        super().__init__(reason)
        self.refusal = Refusal(reason, rule, tuple(patterns), path, writes)


def identity(name: str) -> Refused:
    """That a line would change who the agent is."""
    return Refused(
        f"{name} says who you are to Windlass: leave it as it is, and use `wl` as yourself",
        "others",
    )
