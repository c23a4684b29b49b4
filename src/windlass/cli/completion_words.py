"""What a shell offers after TAB: commands, then what the parser of a command says may come next.

Sub-commands, options and choices are read off the parser, so a new command needs nothing here;
only what a daemon knows (agents, trash entries, keys ...) is told apart by the argument's name.
"""

from __future__ import annotations

import os
from argparse import ONE_OR_MORE, OPTIONAL, REMAINDER, ZERO_OR_MORE, Action, ArgumentParser
from argparse import _SubParsersAction as SubCommands
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Literal, NamedTuple, get_args, get_origin

from windlass.api import client
from windlass.cli.commands.message import OPEN
from windlass.cli.index import ALL, EXPERTS, LISTED, NAMES, RARE
from windlass.cli.output import write
from windlass.core.errors import WindlassError


def complete(words: list[str]) -> int:
    """Prints one offer a line; `words` are those typed after `wl`, the last perhaps in part."""
    for offer in offers(words):
        write(offer + "\n")
    return 0


def offers(words: list[str]) -> list[str]:
    """Everything that could stand where the last word stands."""
    typed = words[-1] if words else ""
    if len(words) <= 1:
        return _started(sorted(entry.name for entry in (*LISTED, *RARE)), typed)
    if words[0] == "dev" and (len(words) == 2 or words[1] in EXPERTS):
        return offers(words[1:]) if len(words) > 2 else _started(EXPERTS, typed)
    entry = NAMES.get(words[0])
    if entry is None:
        return []
    from windlass.cli.main import parser_of  # noqa: PLC0415 - main imports this module

    place = _place(parser_of(entry, import_module(entry.module)), words[1:-1])
    place = place._replace(typed=typed)
    return [offer for offer in _possible(place, typed) if offer.startswith(typed)]


def _started(names: Iterable[str], typed: str) -> list[str]:
    return [name for name in names if name.startswith(typed)]


class _Position(NamedTuple):
    """Where the words before the last have led."""

    parser: ArgumentParser
    option: Action | None
    """The option whose value comes next."""
    before: list[str]
    """The plain words since the last sub-command."""
    plain: bool
    """Whether `--` has said that no options follow."""
    typed: str = ""
    """What there is of the last word."""


def _place(parser: ArgumentParser, words: Iterable[str]) -> _Position:
    place = _Position(parser, None, [], plain=False)
    for word in words:
        if place.option is not None and not word.startswith("-"):
            place = place._replace(option=None)
        elif word == "--":
            place = place._replace(option=None, plain=True)
        elif word.startswith("-") and not place.plain:
            place = place._replace(option=_valued(place.parser, word))
        elif isinstance(below := _positional(place), SubCommands):
            into = below.choices.get(word)
            place = _Position(into or ArgumentParser(add_help=False), None, [], plain=place.plain)
        else:
            place = place._replace(before=[*place.before, word])
    return place


def _valued(parser: ArgumentParser, word: str) -> Action | None:
    """The option that this word is, if a value follows it."""
    actions = (a for a in _actions(parser) if word in a.option_strings and a.nargs != 0)
    return next(actions, None)


def _positional(place: _Position) -> Action | None:
    """The argument that comes next."""
    taken = len(place.before)
    for action in _actions(place.parser):
        if action.option_strings:
            continue
        if taken == 0 or action.nargs in (ZERO_OR_MORE, ONE_OR_MORE, REMAINDER):
            return action
        taken -= 1
    return None


def _actions(parser: ArgumentParser) -> list[Action]:
    return parser._actions  # noqa: SLF001 - argparse has no public way


def _possible(place: _Position, typed: str) -> list[str]:
    if typed.startswith("-") and not place.plain:
        named = {name for action in _actions(place.parser) for name in action.option_strings}
        return sorted(named)
    action = place.option or _positional(place)
    if action is None:
        return []
    words = _values(action, place)
    # Whoever may leave the value of an option out may go on with what comes after it.
    if place.option is not None and place.option.nargs == OPTIONAL:
        words += _possible(place._replace(option=None), typed)
    return [offer for offer in dict.fromkeys(words) if offer not in place.before]


def _values(action: Action, place: _Position) -> list[str]:
    if action.choices is not None:
        return [str(choice) for choice in action.choices]
    if action.nargs == REMAINDER:  # somebody else's command
        return []
    for name in (action.metavar, action.dest):
        known = _KNOWN.get(name) if isinstance(name, str) else None
        if known is not None:
            return known(place)
    return []


def _commands(_: _Position) -> list[str]:
    return [entry.name for entry in ALL]


def _agents(_: _Position) -> list[str]:
    return [agent["id"] for agent in _asked("agents")]


def _changes(place: _Position) -> list[str]:
    """Changes of which something may still become, and the one that landed last."""
    if place.parser.prog == "wl undo":
        return _landed(place)
    known = dict(_asked("unfinished"))
    last = [known["last"]["id"]] if known.get("last") else []
    return [*(change["id"] for change in known.get("changes", [])), *last]


def _branches(_: _Position) -> list[str]:
    """Branches of the person's with something to merge; an agent goes by its own name."""
    found = dict(_asked("candidates")).get("candidates", [])
    return [item["branch"] for item in found if item["agent"] is None]


def _landed(_: _Position) -> list[str]:
    """What there is to take back, the newest first."""
    landings = dict(_asked("landings", last=_LANDINGS)).get("landings", [])
    changes = [change for landing in landings for change in landing["changes"]]
    return [change["id"] for change in changes if not change["undone_by"]]


def _revisions(place: _Position) -> list[str]:
    return ["HEAD", *_branches(place), *_agent_branches(place)]


def _agent_branches(_: _Position) -> list[str]:
    return [agent["branch"] for agent in _asked("agents") if agent["branch"]]


def _proposed(place: _Position) -> list[str]:
    return [*_agents_and_changes(place), *_branches(place)]


def _tasks(_: _Position) -> list[str]:
    from windlass.cli import completion_files  # noqa: PLC0415 - as below

    return completion_files.tasks()


def _files(place: _Position) -> list[str]:
    """Pipelines go by their names; any other file is the shell's to offer."""
    if not place.parser.prog.startswith("wl pipeline"):
        return []
    from windlass.cli import completion_files  # noqa: PLC0415 - it reads what others do not

    return completion_files.pipelines()


def _agents_and_changes(place: _Position) -> list[str]:
    return [*_agents(place), *_changes(place)]


def _recipients(place: _Position) -> list[str]:
    """Whom a message can go to; after a comma, somebody more."""
    agents = _asked("agents")
    words = ["all", "children", "user", *(["parent"] if _inside_an_agent() else [])]
    roles = sorted({*(agent["role"] for agent in agents), *_roles(place)})
    before, comma, _ = place.typed.rpartition(",")
    named = before.split(",")
    offered = [*(agent["id"] for agent in agents), *words, *roles]
    return [before + comma + word for word in offered if word not in named]


def _subjects(place: _Position) -> list[str]:
    """What `wl why` explains; messages are many, and only looked for where one may be meant."""
    agents = _agents_and_changes(place)
    if any(name.startswith(place.typed) for name in agents):
        return agents
    return _messages(place)


def _messages(_: _Position) -> list[str]:
    """Messages that are not dealt with, to the caller or from it, the newest first."""
    messages = [*_received(), *_asked("inbox", sent=True)]
    messages.sort(key=lambda message: float(message["created_at"]), reverse=True)
    return [message["id"] for message in messages if message["state"] in OPEN]


def _received_ids(_: _Position) -> list[str]:
    return [message["id"] for message in _received()]


def _questions(_: _Position) -> list[str]:
    """Open questions, and who asks one thing only."""
    asked = [
        message
        for message in _received()
        if message["kind"] == "question" and message["from"] != "user"
    ]
    askers = [message["from"] for message in asked]
    return [
        *(message["id"] for message in asked),
        *(name for name in askers if askers.count(name) == 1),
    ]


def _proposed_or_tasks(place: _Position) -> list[str]:
    return [*_proposed(place), *_tasks(place)]


def _received() -> list[dict[str, Any]]:
    """What waits for the caller, the newest first.

    Only peeks: a TAB shows nobody what a message says, so nobody has seen it.
    """
    return list(reversed(_asked("inbox", peek=True)))


def _inside_an_agent() -> bool:
    return "WINDLASS_SOCKET" in os.environ


def _roles(_: _Position) -> list[str]:
    return [role["name"] for role in _asked("roles")]


def _archives(_: _Position) -> list[str]:
    return [archive["id"] for archive in _asked("archives")]


def _drivers(_: _Position) -> list[str]:
    return [driver["name"] for driver in _asked("drivers")]


def _entries(_: _Position) -> list[str]:
    return [entry["id"] for entry in _asked("trash")]


def _keys(_: _Position) -> list[str]:
    return list(_configured())


def _trusted_keys(_: _Position) -> list[str]:
    known = dict(_asked("trust"))
    return [line["key"] for which in ("waiting", "accepted") for line in known.get(which, [])]


def _repos(_: _Position) -> list[str]:
    return [repo["id"] for repo in _asked("repos")]


def _settings(place: _Position) -> list[str]:
    """What a key can be set to, or what its list holds."""
    key = place.before[0]
    if key.rpartition(".")[2] == "driver":
        return _drivers(place)
    held = _configured().get(key, {}).get("value")
    return [str(item) for item in held] if isinstance(held, list) else _literals(key)


def _configured() -> dict[str, Any]:
    known: dict[str, Any] = dict(_asked("config")).get("settings", {})
    return known


def _literals(key: str) -> list[str]:
    from windlass.core import config  # noqa: PLC0415 - with msgspec, too slow for other offers

    if config.about(key) is None:
        return []
    kind = config.kind(key)
    return list(get_args(kind)) if get_origin(kind) is Literal else []


_KNOWN: dict[str, Callable[[_Position], list[str]]] = {
    "AGENT": _agents,
    "AGENT|BRANCH|CHANGE": _proposed,
    "AGENT|CHANGE": _agents_and_changes,
    "BRANCH": _branches,
    "CHANGE": _changes,
    "CHANGE|AGENT|BRANCH": _proposed,
    "FILE": _files,
    "KEY": _trusted_keys,
    "PARENT": _agents,
    "QUESTION": _questions,
    "REV": _revisions,
    "SUBJECT": _subjects,
    "TASK": _tasks,
    "TASK|AGENT|CHANGE": _proposed_or_tasks,
    "TASK|CHANGE|AGENT|BRANCH": _proposed_or_tasks,
    "TASK,…": _tasks,
    "WHOM": _recipients,
    "agent": _agents,
    "archive": _archives,
    "command": _commands,
    "driver": _drivers,
    "entries": _entries,
    "entry": _entries,
    "key": _keys,
    "manager": _agents,
    "message": _messages,
    "messages": _received_ids,
    "reply_to": _received_ids,
    "repo": _repos,
    "role": _roles,
    "value": _settings,
}
"""What the daemon knows, by the name that an argument has in help, or else in code."""


_LANDINGS = 20
"""Commits of the target's among which something is to be taken back."""


def _asked(verb: str, **request: Any) -> Any:
    """Asks a daemon that is there; a TAB starts nothing and complains of nothing."""
    try:
        return client.ask(verb, {"cwd": os.getcwd(), **request}, timeout=1.0)
    except (client.Gone, client.VersionMismatch, WindlassError, OSError):
        return []
