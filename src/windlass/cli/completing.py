"""What a shell offers after TAB: commands, then options, agents, trash entries or keys."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from windlass.api import client
from windlass.cli.call import write
from windlass.cli.index import ALL, NAMES
from windlass.core.errors import WindlassError

_TRASH_VERBS = ("list", "show", "restore", "empty")
_VERBS = {
    "archive": ("list", "show"),
    "completion": ("bash", "zsh", "fish"),
    "config": ("list", "get", "set", "add", "remove"),
    "daemon": ("start", "stop", "status", "logs", "run"),
    "repo": ("list", "add", "remove"),
    "trash": _TRASH_VERBS,
}
_TAKE_NO_AGENT = frozenset({"init", "new", "demo", "list", "undo", "doctor", "version"})


def complete(words: list[str]) -> int:
    """Prints one offer a line; `words` are those typed after `wl`, the last perhaps in part."""
    for offer in offers(words):
        write(offer + "\n")
    return 0


def offers(words: list[str]) -> list[str]:
    """Everything that could stand where the last word stands."""
    typed = words[-1] if words else ""
    if len(words) <= 1:
        return [entry.name for entry in ALL if entry.name.startswith(typed)]
    entry = NAMES.get(words[0])
    if entry is None:
        return []
    if typed.startswith("-"):
        return [option for option in _options(words[0]) if option.startswith(typed)]
    return [offer for offer in _words(entry.name, words[1:-1]) if offer.startswith(typed)]


def _words(name: str, before: list[str]) -> list[str]:
    if name == "help":
        return [entry.name for entry in ALL]
    if name in _VERBS:
        if not before:
            return list(_VERBS[name])
        if name == "trash" and before[0] in _TRASH_VERBS[1:]:
            return [entry["id"] for entry in _asked("trash")]
        if name == "config" and before[0] != "list":
            return list(_asked("config"))
        return []
    if name in _TAKE_NO_AGENT:
        return []
    return [agent["id"] for agent in _asked("agents")]


def _options(name: str) -> list[str]:
    from windlass.cli.main import parser_of  # noqa: PLC0415 - main imports this module

    entry = NAMES[name]
    found = parser_of(entry, import_module(entry.module))._actions  # noqa: SLF001 - no public way
    return sorted({option for action in found for option in action.option_strings})


def _asked(verb: str) -> Any:
    """Asks a daemon that is there; a TAB starts nothing and complains of nothing."""
    try:
        return client.ask(verb, {"cwd": os.getcwd()}, timeout=1.0)
    except (client.Gone, client.VersionMismatch, WindlassError, OSError):
        return []
