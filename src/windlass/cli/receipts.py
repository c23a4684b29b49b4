"""Printing messages and their receipts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windlass.cli.call import Call
from windlass.core.ages import age
from windlass.core.printable import printable_line

_COLOURS = {
    "queued": "yellow",
    "failed": "red",
    "expired": "red",
    "collapsed": "dim",
    "acked": "green",
}


def receipt(message: Mapping[str, Any]) -> str:
    """What became of a message, in a few words."""
    state = message["state"]
    if state == "collapsed":
        return f"collapsed into {message['survivor']}"
    if state in ("failed", "expired"):
        return f"{state}: {printable_line(message['reason'])}"
    if state == "queued":
        return "queued, on its way" if message["under_way"] else "queued"
    return f"{state} by {message['route']}" if message["route"] else str(state)


def line(call: Call, message: Mapping[str, Any]) -> str:
    """A message in one line and a bit: its id, parties, age, receipt and text."""
    marks = ("urgent " if message["urgent"] else "") + (
        "" if message["kind"] == "note" else f"{message['kind']} "
    )
    told = call.paint(receipt(message), _COLOURS.get(message["state"], "dim"))
    who = f"{message['from']} to {message['to']}"
    head = f"{message['id']}  {who}  {age(message['age'])} ago  {marks}[{told}]"
    return f"{head}\n    {printable_line(message['text'])}"
