"""A run of the gate as a terminal shows it: while it goes on, and how it ended."""

from __future__ import annotations

import math
import os
import re
import time
from contextlib import suppress
from typing import Any

from windlass.cli import progress_line, render
from windlass.cli.call import Call
from windlass.core.printable import printable_line

COLOURS = {"passed": "green", "failed": "red", "could-not-run": "yellow", "ran-nothing": "yellow"}
_NAMED = 10
_END_BYTES = 32 << 10
_END_LINES = 15
_MOST_LACKED = 3
_LACKED = re.compile(
    r"No module named|Cannot find (?:module|package)|command not found|: not found$"
    r"|CERTIFICATE_VERIFY_FAILED|self.signed certificate"
)


def wait(call: Call, job: str, *, seconds: float | None = None) -> dict[str, Any]:
    """Waits until a run is over, or so long; a terminal shows what is being done."""
    until = math.inf if seconds is None else time.monotonic() + seconds

    def look(_: dict[str, Any], patience: float | None) -> dict[str, Any]:
        left = max(0.0, until - time.monotonic())
        limit = min(left, math.inf if patience is None else patience)
        seen: dict[str, Any] = call.ask(
            "gate.wait", job=job, seconds=None if limit == math.inf else limit
        )
        return seen

    return progress_line.watch(
        call,
        look({}, 0.0),
        look=look,
        is_over=lambda run: run["outcome"] is not None or time.monotonic() >= until,
        lines=lambda run: [_doing(run)],
    )


def _doing(run: dict[str, Any]) -> str:
    doing = printable_line(", ".join(run["doing"]))
    return f"{doing} with the network" if run["network"] and run["tried"] else doing


def say_check(call: Call, check: dict[str, Any]) -> None:
    """Says how one check ended."""
    outcome = check["outcome"]
    if outcome is None:
        call.say(f"  {printable_line(check['name'])}  not run")
        return
    counted = []
    if check["tests"] is not None:
        counted.append(render.counted(check["tests"], "test"))
    if check["skipped"]:
        counted.append(f"{check['skipped']} skipped")
    if check["seconds"] is not None:
        counted.append(f"{check['seconds']:.1f} s")
    more = f" ({', '.join(counted)})" if counted else ""
    name = printable_line(check["name"])
    call.say(f"  {name}  {call.paint(outcome, COLOURS[outcome])}{more}")
    if check["why"]:
        call.say(f"    {printable_line(check['why'])}")
    for failed in check["failed"][:_NAMED]:
        call.say(f"    {printable_line(failed)}")
    if len(check["failed"]) > _NAMED:
        call.say(f"    and {len(check['failed']) - _NAMED} more")
    if outcome != "passed" and check["log"]:
        call.say(f"    log: {printable_line(check['log'])}")


def end_of_log(check: dict[str, Any]) -> list[str]:
    """The last lines that a check, or the setup before it, said; first what it lacked."""
    held = b""
    with suppress(OSError), open(check["log"], "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _END_BYTES))
        held = file.read(_END_BYTES)
    lines = [line.rstrip() for line in held.decode(errors="replace").splitlines() if line.strip()]
    end = lines[-_END_LINES:]
    lacked = dict.fromkeys(line for line in lines if _LACKED.search(line) and line not in end)
    return [printable_line(line) for line in (*list(lacked)[:_MOST_LACKED], *end)]
