"""Shows help: the verbs of every day, more with --all, or one command."""

from __future__ import annotations

from argparse import ArgumentParser, _SubParsersAction
from importlib import import_module

from windlass.cli import render
from windlass.cli.call import Call
from windlass.cli.index import ALL, EXPERTS, LISTED, NAMES, SHORT, CommandEntry
from windlass.core.errors import NotFound

EXAMPLES = ("wl help", "wl help --all", "wl help merge")


def arguments(parser: ArgumentParser) -> None:
    """Takes a command, or --all."""
    parser.add_argument("command", nargs="*", help="the command to explain")
    parser.add_argument("--all", action="store_true", help="list more of them")


def run(call: Call) -> int:
    """Prints help."""
    if call.args.command:
        return _explain(call, call.args.command)
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


def _explain(call: Call, words: list[str]) -> int:
    """Explains a command, or what of its parts the words lead to: `gate run`, `dev jobs`."""
    from windlass.cli.main import near, parser_of  # noqa: PLC0415 - main imports commands, not the other way

    name, *parts = words[1:] if words[0] == "dev" and len(words) > 1 else words
    entry = NAMES.get(name) or EXPERTS.get(name)
    if entry is None:
        raise NotFound(f"no command {name!r}", near(name))
    parser = parser_of(entry, import_module(entry.module))
    for part in parts:
        below = _parts(parser)
        if part not in below:
            known = f"it has: {', '.join(below)}" if below else f"`wl help {name}` explains it"
            raise NotFound(f"wl {name} has no part {part!r}", known)
        parser = below[part]
    text = parser.format_help().rstrip()
    if entry.aliases and not call.json:
        text += f"\n\nalso: {', '.join(f'wl {name}' for name in entry.aliases)}"
    about = {"name": entry.name, "about": entry.about, "aliases": entry.aliases}
    call.data(about | {"help": text})
    call.say(text)
    return 0


def _parts(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    """The sub-commands of a command, by their words."""
    found: dict[str, ArgumentParser] = {}
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to its subcommands
        if isinstance(action, _SubParsersAction):
            found |= action.choices
    return found
