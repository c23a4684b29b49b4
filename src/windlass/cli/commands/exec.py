"""Runs a command in an agent's workspace, told the agent's ports and slot.

In a boxed agent's box: what agents wrote runs with no more than they have. --outside, before the
agent's name, runs it as yourself. The command ends when the agent does, before the agent's work is
kept; one with --outside goes on, so use that for your editor. What it prints on a terminal is
filtered: text, colours and moving the cursor pass, what would reach your clipboard, title, modes or
keyboard does not. Programs that fill the screen need --raw, which filters nothing. In a box it
never has your own terminal: it has one of its own, or where it prints elsewhere, none. Of files
that you give it it has the content, and not the files.
"""

from __future__ import annotations

import os
from argparse import REMAINDER, SUPPRESS, Action, ArgumentParser, Namespace
from typing import Any

from windlass.cli import terminal_relay
from windlass.cli.call import Call
from windlass.core.errors import UserError

EXAMPLES = ("wl exec api -- make test", "wl exec api -- git log --oneline")


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent and a command."""
    parser.add_argument("agent")
    parser.add_argument(
        "--outside", action="store_true", help="run it as yourself, not in the agent's box"
    )
    parser.add_argument(
        "--raw", action="store_true", help="filter nothing of what it prints on a terminal"
    )
    parser.add_argument("command", nargs=REMAINDER, action=_Command, metavar="-- COMMAND ...")


def run(call: Call) -> int:
    """Runs the command; where that prints on a terminal or is boxed, stands between the two."""
    command = call.args.command
    if not command:
        raise UserError("which command?", "wl exec AGENT -- COMMAND ...")
    on_terminal = os.isatty(0) and os.isatty(1)
    place = call.ask("place", agent=call.args.agent, terminal=on_terminal)
    os.chdir(place["path"])
    if place["box"] and not call.args.outside:
        # A box brings its own environment; what is the person's stays out of it.
        shown = {name: os.environ[name] for name in ("TERM", "COLORTERM") if name in os.environ}
        return terminal_relay.run_boxed([*place["box"], *command], shown, raw=call.args.raw)
    env = _own_environment(place, outside=call.args.outside)
    if terminal_relay.is_needed() and not call.args.raw:
        return terminal_relay.run(command, env)
    try:
        os.execvpe(command[0], command, env)  # noqa: S606 - what was asked for
    except OSError as error:
        raise UserError(f"cannot run {command[0]}: {error.strerror}", "is it on PATH?") from None


def _own_environment(place: dict[str, Any], *, outside: bool) -> dict[str, str]:
    """The person's, with what an agent is told; marked, unless it is to outlive the agent."""
    unmarked = {name: text for name, text in os.environ.items() if name not in place["mark"]}
    return {**unmarked, **place["env"], **({} if outside else place["mark"])}


class _Command(Action):
    """Takes what follows the agent: our own options up to `--`, then the command."""

    def __call__(
        self, parser: ArgumentParser, namespace: Namespace, values: Any, _: str | None = None
    ) -> None:
        from windlass.cli.main import Parser, take_common  # noqa: PLC0415 - main imports commands

        words = list(values)
        if words and words[0].startswith("-"):
            end = words.index("--") if "--" in words else len(words)
            options = Parser(prog=parser.prog, add_help=False)
            take_common(options, default=SUPPRESS)
            options.parse_args(words[:end], namespace)
            words = words[end + 1 :]
        setattr(namespace, self.dest, words)
