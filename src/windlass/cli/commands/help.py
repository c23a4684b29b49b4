"""Shows help: sixteen verbs, every command with --all, or one command."""

from __future__ import annotations

from argparse import ArgumentParser
from importlib import import_module

from windlass.cli.call import Call
from windlass.cli.index import ALL, NAMES, SHORT
from windlass.core.errors import NotFound

EXAMPLES = ("wl help", "wl help --all", "wl help merge")


def arguments(parser: ArgumentParser) -> None:
    """Takes a command, or --all."""
    parser.add_argument("command", nargs="?", help="the command to explain")
    parser.add_argument("--all", action="store_true", help="list every command")


def run(call: Call) -> int:
    """Prints help."""
    if call.args.command:
        return _explain(call, call.args.command)
    if call.json:
        call.data([{"name": e.name, "about": e.about, "aliases": e.aliases} for e in ALL])
        return 0
    call.say("wl: run a crew of coding agents on a git repository\n")
    if call.args.all:
        for entry in ALL:
            other = f"  (also {', '.join(entry.aliases)})" if entry.aliases else ""
            call.say(f"  {entry.name:<12} {entry.about}{other}")
    else:
        for purpose, entries in SHORT.items():
            call.say(call.paint(purpose, "bold"))
            for entry in entries:
                call.say(f"  {entry.name:<12} {entry.about}")
        call.say("\n`wl help --all` lists every command, `wl COMMAND --help` explains one.")
    return 0


def _explain(call: Call, name: str) -> int:
    from windlass.cli.main import near, parser_of  # noqa: PLC0415 - main imports commands, not the other way

    entry = NAMES.get(name)
    if entry is None:
        raise NotFound(f"no command {name!r}", near(name))
    text = parser_of(entry, import_module(entry.module)).format_help().rstrip()
    about = {"name": entry.name, "about": entry.about, "aliases": entry.aliases}
    call.data(about | {"help": text})
    call.say(text)
    return 0
