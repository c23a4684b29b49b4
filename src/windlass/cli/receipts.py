"""Printing messages and their receipts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windlass.cli import render
from windlass.cli.call import Call
from windlass.core.ages import age
from windlass.core.printable import printable_line

_LEAST = 12
"""What a receipt keeps where the terminal is too narrow for all of it."""
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
    # The way it came is not how somebody dealt with it.
    travelled = message["route"] and state != "acked"
    return f"{state} by {message['route']}" if travelled else str(state)


def line(call: Call, message: Mapping[str, Any]) -> str:
    """A message in two lines, cut to the terminal: its id, parties, age and receipt; its text."""
    marks = ("urgent " if message["urgent"] else "") + (
        "" if message["kind"] == "note" else f"{message['kind']} "
    )
    who = f"{message['from']} to {message['to']}"
    head = f"{message['id']}  {who}  {age(message['age'])} ago  {marks}"
    words, text = receipt(message), f"    {printable_line(message['text'])}"
    if call.terminal:
        room = render.columns()
        words = render.fit(words, max(_LEAST, room - render.width(head) - 2))
        text = render.fit(text, room)
    return f"{head}[{call.paint(words, _COLOURS.get(message['state'], 'dim'))}]\n{text}"
