"""The wait for a change to leave the queue, as a terminal shows it."""

from __future__ import annotations

from typing import Any

from windlass.cli import progress_line
from windlass.cli.call import Call
from windlass.core.landing.changes import OPEN
from windlass.core.printable import printable_line

_QUIET = 10.0
"""Seconds after which also a program's log is told what a change waits for."""


def wait(call: Call, change: dict[str, Any]) -> dict[str, Any]:
    """Waits until a change has landed, came back or is held; a terminal shows where it is."""
    name, told = change["change"], [""]

    def look(_: dict[str, Any], seconds: float | None) -> dict[str, Any]:
        seen: dict[str, Any] = call.ask("change.wait", change=name, seconds=seconds)
        return seen

    def news(seen: dict[str, Any]) -> list[str]:
        """Why it waits, as often as that is another reason: a remote does not answer, say."""
        if seen["state"] not in OPEN or seen["why"] in ("", told[-1]):
            return []
        told.append(seen["why"])
        return [seen["why"]]

    def tell(why: str) -> None:
        call.remark(f"{name} waits: {printable_line(why)}")

    if not call.shows_progress:
        change = look(change, _QUIET)
        for why in news(change):
            tell(why)
    progress_line.watch(
        call,
        change,
        look=look,
        is_over=lambda seen: seen["state"] not in OPEN,
        lines=lambda seen: [f"{name} {_where(seen)}"],
        news=news,
        tell=tell,
    )
    return look(change, None)  # what has landed may still be on its way into the branch here


def _where(change: dict[str, Any]) -> str:
    if change["state"] == "gating":
        return "is in the gate"
    before = change["position"]
    return f"waits, {before} before it" if before else "waits for the gate"
