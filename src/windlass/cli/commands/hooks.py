"""Makes your own agent session part of the crew: tells it of Windlass, and wakes it with news.

Installs hooks into a settings file of Claude Code: by default this clone's own
(.claude/settings.local.json), with --user yours for every repository. Everything else in the file
stays as it is, and uninstall leaves no trace. Beside it goes a skill, `kanban`, that says how tasks
are written. For an agent CLI without hooks, --instructions writes
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
        verb = verbs.add_parser(name, help=about)
        if name == "status":
            continue
        scope = verb.add_mutually_exclusive_group()
        for place, file in (("project", "this clone's settings"), ("user", "your own settings")):
            scope.add_argument(
                f"--{place}", dest="where", action="store_const", const=place, help=file
            )
        if name == "install":
            verb.add_argument(
                "--instructions",
                choices=("claude-md", "agents-md"),
                help="write instructions into that file, for CLIs without hooks",
            )


def run(call: Call) -> int:
    """Runs the verb that was given."""
    verb = call.args.verb or "status"
    asked = {name: getattr(call.args, name, None) for name in ("where", "instructions")} | {
        "config_folder": _config_folder()
    }
    states = call.ask(f"hooks.{verb}", **asked)
    call.data(states)
    if verb == "status":
        for state in states:
            _print(call, state)
        return 0
    for file in states["files"]:
        word = f"{verb}ed" if file["changed"] else "unchanged"
        call.tell(f"{word:<11} {printable_line(file['path'])}")
    for note in states.get("notes", []):
        call.remark(printable_line(note))
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
    folder = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join("~", ".claude")
    return os.path.abspath(os.path.expanduser(folder))


def _print(call: Call, state: dict[str, Any]) -> None:
    word, colour = "-", "dim"
    if state["problem"]:
        word, colour = "unusable", "red"
    elif state["installed"]:
        word, colour = ("installed", "green") if state["current"] else ("old", "yellow")
    shown = call.paint(f"{word:<10}", colour)
    call.say(f"{state['where']:<10} {shown} {printable_line(state['path'])}")
    if state["problem"]:
        call.say(f"           {printable_line(state['problem'])}")
    elif state["installed"]:
        if state.get("events"):
            call.say(f"           {', '.join(map(printable_line, state['events']))}")
        if not state["current"]:
            again = f"wl hooks install{_OPTIONS[state['where']]}"
            call.say(f"           of another version or place: {again} puts it right")
