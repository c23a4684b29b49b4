"""Shows what this repository's .windlass/config.toml asks for beyond what it may, and accepts it.

A repository's file narrows what is in force at once. What would widen it (weaker isolation, more
network, allowed tools, higher budgets, commands that run outside of a box ...) is not in force
until you have seen and accepted it. Exactly the lines shown are accepted; a line that changes, or
whose own value in your configuration does, waits again. With --json and without --yes nothing is
asked or changed.
"""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser
from typing import Any

from windlass.cli import render
from windlass.cli.call import Call, take_yes
from windlass.core.ages import age
from windlass.core.errors import NotFound
from windlass.core.printable import printable_line

EXAMPLES = (
    "wl trust",
    "wl trust workspace.setup --yes",
    "wl trust --list",
    "wl trust --revoke",
    "wl trust --revoke isolation",
    "wl trust --json",
)


_INCLUDED = ".worktreeinclude"


def arguments(parser: ArgumentParser) -> None:
    """Takes which lines, and what to do with them."""
    parser.add_argument("keys", nargs="*", metavar="KEY", help="only these keys")
    take_yes(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", help="what was accepted here")
    what.add_argument("--revoke", action="store_true", help="take back what was accepted")


def run(call: Call) -> int:
    """Shows what waits, asks, and has it accepted; or lists or takes back what was."""
    if call.args.revoke:
        return _revoke(call)
    known = call.ask("trust")
    if call.args.list:
        return _list(call, known)
    lines = _chosen(call, known["waiting"])
    if call.json and not call.args.force:
        call.data({**known, "waiting": lines})
        return 0
    digests = [line["digest"] for line in lines if not line["personal"]]
    if not digests:
        call.data(known)
        _show(call, known, lines)
        return 0
    _show(call, known, lines)
    if not call.args.force:
        count = "this line" if len(digests) == 1 else f"these {len(digests)} lines"
        call.confirm(f"accept {count} of {printable_line(known['config'])}?")
    done = call.ask("trust.accept", digests=digests)
    call.data(done)
    call.tell("accepted; `wl trust --revoke` takes that back")
    return 0


def _chosen(call: Call, waiting: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines that are meant."""
    known = {line["key"] for line in waiting}
    for key in call.args.keys:
        if key not in known:
            _require_key(key)
            raise NotFound(f"{key} does not wait here", "`wl trust` shows what does")
    return [line for line in waiting if not call.args.keys or line["key"] in call.args.keys]


def _require_key(key: str) -> None:
    """Says so where there is no such key at all."""
    from windlass.core import config  # noqa: PLC0415 - with msgspec, too slow for help

    if not config.about(key):
        raise NotFound(f"no key {key!r}", config.near(key))


def _show(call: Call, known: dict[str, Any], lines: list[dict[str, Any]]) -> None:
    for problem in known["problems"]:
        call.remark(printable_line(problem))
    if not lines:
        call.tell(f"nothing waits: all of {printable_line(known['config'])} is in force")
        return
    call.say(f"{printable_line(known['config'])} asks for what is not in force:")
    for line in lines:
        call.say(f"  {call.paint(line['key'], 'bold')} = {_written(line['value'])}")
        call.say(f"      instead of {_written(line['instead_of'])}{_note(line, known['root'])}")


def _note(line: dict[str, Any], root: str) -> str:
    if line["personal"]:
        return "; counts in your own configuration alone, and cannot be accepted"
    if line["key"] == "workspace.include" and os.path.lexists(os.path.join(root, _INCLUDED)):
        return f"; what {_INCLUDED} lists is among it"
    return "; agents in a box have it already" if line["in_boxes"] else ""


def _written(value: Any) -> str:
    """A value in full: what is accepted is what was shown."""
    from windlass.core import config_values  # noqa: PLC0415 - with msgspec, too slow for help

    return "nothing" if value is None else printable_line(config_values.written(value))


def _list(call: Call, known: dict[str, Any]) -> int:
    call.data(known["accepted"])
    if call.json:
        return 0
    if not known["accepted"]:
        call.tell(f"nothing of {printable_line(known['config'])} was accepted")
        return 0
    now = time.time()
    lines = [
        (line["key"], _written(line["value"]), f"{age(now - line['at'])} ago")
        for line in known["accepted"]
    ]
    render.table(call, ("KEY", "VALUE", "ACCEPTED"), lines, grow=1, spare=())
    return 0


def _revoke(call: Call) -> int:
    accepted = [line["key"] for line in call.ask("trust")["accepted"]]
    done = call.ask("trust.revoke", keys=call.args.keys)
    call.data(done)
    left = {line["key"] for line in done["accepted"]}
    gone = [key for key in accepted if key not in left]
    call.tell(f"no longer accepted: {', '.join(gone)}" if gone else "nothing was accepted here")
    return 0
