"""Makes your own agent session part of the crew: tells it of Windlass, and wakes it with news.

Installs hooks into a settings file of Claude Code: by default this clone's own
(.claude/settings.local.json), with --user yours for every repository. Everything else in the file
stays as it is, and uninstall leaves no trace. For an agent CLI without hooks, --instructions writes
a marked block into CLAUDE.md or AGENTS.md instead; add --project or --user to have both.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from typing import Any

from windlass.cli.call import Call
from windlass.core.printable import printable_line

EXAMPLES = (
    "wl hooks install",
    "wl hooks install --user",
    "wl hooks install --instructions agents-md",
    "wl hooks status",
    "wl hooks uninstall",
)
_OPTIONS = {
    "project": "",
    "user": " --user",
    "claude-md": " --instructions claude-md",
    "agents-md": " --instructions agents-md",
}
"""What `install` is told to put something into each place."""


def arguments(parser: ArgumentParser) -> None:
    """Takes what to do, and where."""
    verbs = parser.add_subparsers(dest="verb", metavar="install|uninstall|status")
    made = {
        "install": "put them in, in place of older ones",
        "uninstall": "take them out, and blocks of instructions with the project's",
        "status": "say where they are, and whether they are of this version",
    }
    for name, about in made.items():
        one = verbs.add_parser(name, help=about)
        if name == "status":
            continue
        where = one.add_mutually_exclusive_group()
        for place, file in (("project", "this clone's settings"), ("user", "your own settings")):
            where.add_argument(
                f"--{place}", dest="where", action="store_const", const=place, help=file
            )
        if name == "install":
            one.add_argument(
                "--instructions",
                choices=("claude-md", "agents-md"),
                help="write instructions into that file, for CLIs without hooks",
            )


def run(call: Call) -> int:
    """Dispatches."""
    verb = call.args.verb or "status"
    asked = {name: getattr(call.args, name, None) for name in ("where", "instructions")} | {
        "config_folder": _config_folder()
    }
    found = call.ask(f"hooks.{verb}", **asked)
    call.data(found)
    if verb == "status":
        for one in found:
            _print(call, one)
        return 0
    for file in found["files"]:
        word = f"{verb}ed" if file["changed"] else "unchanged"
        call.tell(f"{word:<11} {printable_line(file['path'])}")
    if verb == "install":
        call.tell(f"sessions that you start from now on know of it; {_undone_by(asked)}")
    return 0


def _undone_by(asked: dict[str, Any]) -> str:
    """What takes out what was put in: each place has a command of its own."""
    if asked["where"] != "user":
        return "wl hooks uninstall undoes it"
    if asked["instructions"] is None:
        return "wl hooks uninstall --user undoes it"
    return "wl hooks uninstall --user and wl hooks uninstall undo it"


def _config_folder() -> str:
    """Where the caller's agent CLI has its settings; the daemon's environment may be another."""
    given = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join("~", ".claude")
    return os.path.abspath(os.path.expanduser(given))


def _print(call: Call, one: dict[str, Any]) -> None:
    word, colour = "-", "dim"
    if one["problem"]:
        word, colour = "unusable", "red"
    elif one["installed"]:
        word, colour = ("installed", "green") if one["current"] else ("old", "yellow")
    shown = call.paint(f"{word:<10}", colour)
    call.say(f"{one['where']:<10} {shown} {printable_line(one['path'])}")
    if one["problem"]:
        call.say(f"           {printable_line(one['problem'])}")
    elif one["installed"]:
        if one.get("events"):
            call.say(f"           {', '.join(map(printable_line, one['events']))}")
        if not one["current"]:
            again = f"wl hooks install{_OPTIONS[one['where']]}"
            call.say(f"           of another version or place: {again} puts it right")
