"""Reads and changes configuration: this repository's, or your own with --global."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from windlass.cli import render
from windlass.cli.call import Call
from windlass.core.errors import ConfigError
from windlass.core.printable import printable_line

EXAMPLES = (
    "wl config list",
    "wl config set max_agents 20",
    "wl config add permissions.worker.allow 'Bash(npm test:*)'",
    "wl config remove max_agents --global",
)
_MOST_VALUE = 24
"""Places that a value has in the table of a terminal: `wl config get` has it whole."""


def arguments(parser: ArgumentParser) -> None:
    """Takes what to do with which key."""
    verbs = parser.add_subparsers(dest="verb", metavar="list|get|set|add|remove")
    made = {
        "list": "every key, its value and where it comes from",
        "get": "one value",
        "set": "give a key a value",
        "add": "add to a list",
        "remove": "unset a key, or take a value from a list",
    }
    for name, about in made.items():
        verb = verbs.add_parser(name, help=about)
        if name != "list":
            verb.add_argument("key")
        if name in ("set", "add"):
            verb.add_argument("value")
        if name == "remove":
            verb.add_argument("value", nargs="?")
        if name not in ("list", "get"):
            verb.add_argument("--global", dest="user", action="store_true", help="your own")


def run(call: Call) -> int:
    """Runs the verb that was given."""
    args = call.args
    if args.verb in (None, "list"):
        reply = call.ask("config")
        settings = reply["settings"]
        call.data({key: setting["value"] for key, setting in settings.items()})
        if not call.json:
            lines = [(k, _shown(o["value"]), o["origin"], o["about"]) for k, o in settings.items()]
            if call.terminal:  # one long list would leave no room for what a key is about
                lines = [(k, render.fit(v, _MOST_VALUE), o, about) for k, v, o, about in lines]
            render.table(call, ("KEY", "VALUE", "FROM", "ABOUT"), lines, grow=3, spare=(2,))
        _tell_waiting(call, reply)
        _refuse_wrong(reply["problems"])
        return 0
    if args.verb == "get":
        reply = call.ask("config", config_key=args.key)
        value = reply["settings"][args.key]["value"]
        call.data(value)
        call.say(_shown(value))
        _tell_waiting(call, reply)
        _refuse_wrong(reply["problems"])
        return 0
    value = getattr(args, "value", None)
    reply = call.ask(f"config.{args.verb}", config_key=args.key, value=value, user=args.user)
    _tell_changed(call, reply)
    return 0


def _tell_changed(call: Call, reply: dict[str, Any]) -> None:
    """Says what a key is now, and what else is to be mended."""
    key = call.args.key
    setting = reply["settings"].get(key)
    call.data(setting and setting["value"])
    call.tell(f"{key} = {_shown(setting['value'])}" if setting else f"{key} is gone")
    _tell_waiting(call, reply)
    for problem in reply["problems"]:
        call.tell(f"still wrong: {_worded(problem)}")


def _tell_waiting(call: Call, reply: dict[str, Any]) -> None:
    """Says which values are not in force, though the repository's file has them."""
    for line in reply["waiting"]:
        value = printable_line(_shown(line["value"]))
        where = "never counts in a repository" if line["personal"] else "waits: wl trust"
        call.remark(f"{line['key']} = {value} of .windlass/config.toml {where}")


def _refuse_wrong(problems: list[dict[str, str]]) -> None:
    """Raises what is wrong, after what there is has been shown."""
    if not problems:
        return
    keys = [problem["key"] for problem in problems if problem["key"]]
    mend = f"wl config remove {keys[0]}; with --global in your own file" if keys else ""
    raise ConfigError("\n    ".join(map(_worded, problems)), mend)


def _worded(problem: dict[str, str]) -> str:
    return f"{problem['message']} ({problem['hint']})" if problem["hint"] else problem["message"]


def _shown(value: Any) -> str:
    """A value as it would be typed, or as its file has it; `-` where there is none."""
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "-"
    if isinstance(value, dict):
        from windlass.core import config_values  # noqa: PLC0415 - with msgspec, too slow for help

        return config_values.written(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "-" if value in (None, "") else str(value)
