"""Looks into the works: lists what is for experts, `wl dev NAME`, and what few people need.

What is for experts works without `dev` as well.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call
from windlass.cli.commands import help as help_
from windlass.cli.index import DEV, NAMES, RARE
from windlass.core.errors import UserError

EXAMPLES = ("wl dev", "wl dev jobs", "wl dev explain screen capture.txt")


def arguments(parser: ArgumentParser) -> None:
    """Takes what none of them is called: those are found before."""
    parser.add_argument("expert", nargs="?", metavar="NAME", help="one of those that it lists")


def run(call: Call) -> int:
    """Lists them."""
    name = call.args.expert
    if name is not None:
        hint = f"`wl {name}` is a command" if name in NAMES else "`wl dev` lists what there is"
        raise UserError(f"no command 'dev {name}'", hint)
    call.data([{"name": entry.typed, "about": entry.about} for entry in (*DEV, *RARE)])
    call.say(call.paint("wl dev ...", "bold"))
    for entry in DEV:
        help_.say_entry(call, entry)
    call.say(call.paint("needed now and then, or by programs and agents", "bold"))
    for entry in RARE:
        help_.say_entry(call, entry)
    return 0
