"""Shows help: the verbs of every day, more with --all, or one command."""

from __future__ import annotations

from argparse import ArgumentParser
from importlib import import_module

from windlass.cli import render
from windlass.cli.call import Call
from windlass.cli.index import ALL, LISTED, NAMES, SHORT, CommandEntry
from windlass.core.errors import NotFound

EXAMPLES = ("wl help", "wl help --all", "wl help merge")


def arguments(parser: ArgumentParser) -> None:
    """Takes a command, or --all."""
    parser.add_argument("command", nargs="*", help="the command to explain")
    parser.add_argument("--all", action="store_true", help="list more of them")


def run(call: Call) -> int:
    """Prints help."""
    if call.args.command:
        return _explain(call, call.args.command[-1])
    if call.json:
        call.data([{"name": e.name, "about": e.about, "aliases": e.aliases} for e in ALL])
        return 0
    call.say("wl: run a crew of coding agents on a git repository\n")
    if call.args.all:
        for entry in LISTED:
            say_entry(call, entry)
        more = "`wl dev` lists what is for experts, `wl COMMAND --help` explains one."
    else:
        for purpose, entries in SHORT.items():
            call.say(call.paint(purpose, "bold"))
            for entry in entries:
                say_entry(call, entry)
        more = "`wl help --all` lists more of them, `wl COMMAND --help` explains one."
    call.say("\n" + render.folded(call, "", more, indent=0))
    return 0


def say_entry(call: Call, entry: CommandEntry) -> None:
    """Prints a command and the line about it."""
    call.say(render.folded(call, f"  {entry.name:<12} ", entry.about, indent=15))


def _explain(call: Call, name: str) -> int:
    from windlass.cli.main import near, parser_of  # noqa: PLC0415 - main imports commands, not the other way

    entry = NAMES.get(name)
    if entry is None:
        raise NotFound(f"no command {name!r}", near(name))
    text = parser_of(entry, import_module(entry.module)).format_help().rstrip()
    if entry.aliases and not call.json:
        text += f"\n\nalso: {', '.join(f'wl {name}' for name in entry.aliases)}"
    about = {"name": entry.name, "about": entry.about, "aliases": entry.aliases}
    call.data(about | {"help": text})
    call.say(text)
    return 0
