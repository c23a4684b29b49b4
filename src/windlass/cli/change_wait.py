"""The wait for a change to leave the queue, as a terminal shows it."""

from __future__ import annotations

import time
from typing import Any

from windlass.cli import output, render
from windlass.cli.call import Call
from windlass.core.landing.changes import OPEN
from windlass.core.printable import printable_line

_QUIET = 10.0
"""Seconds after which also a program's log is told what a change waits for."""
_LOOK = 1.0
"""Seconds between two looks, where somebody watches."""


def wait(call: Call, change: dict[str, Any]) -> dict[str, Any]:
    """Waits until a change has landed, came back or is held; a terminal shows where it is."""
    name = change["change"]
    if call.shows_progress:
        _watch(call, change)
    else:
        looked = call.ask("change.wait", change=name, seconds=_QUIET)
        if looked["state"] in OPEN and looked["why"]:  # a remote that does not answer, say
            call.remark(f"{name} waits: {printable_line(looked['why'])}")
    # What has landed may still be on its way into the branch here.
    ended: dict[str, Any] = call.ask("change.wait", change=name)
    return ended


def _watch(call: Call, change: dict[str, Any]) -> None:
    """Shows where a change is until it has left the queue."""
    name, said = change["change"], ""
    began = time.monotonic()
    while change["state"] in OPEN:
        line = f"{name} {_where(change)} … {time.monotonic() - began:.0f} s"
        output.write_progress(render.fit(line, render.columns() - 1))
        change = call.ask("change.wait", change=name, seconds=_LOOK)
        if change["state"] in OPEN and change["why"] not in ("", said):
            said = change["why"]
            output.write_progress("")
            call.remark(f"{name} waits: {printable_line(said)}")
    output.write_progress("")


def _where(change: dict[str, Any]) -> str:
    if change["state"] == "gating":
        return "is in the gate"
    before = change["position"]
    return f"waits, {before} before it" if before else "waits for the gate"
