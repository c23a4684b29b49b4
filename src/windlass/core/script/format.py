"""The one format for "what the model would say": parsed, checked and filled in.

Owns the shape of a script and its errors. How far a session has come in one is not here (that is
`core/script/cursor.py`), nor is reading files. docs/scripts.md tells users about it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import isfinite
from shlex import quote
from typing import Any, Literal, TypeAlias

import msgspec

from windlass.core.errors import UserError

HINT = "docs/scripts.md describes the format"
TOKEN_KINDS = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)
NAMES = ("MESSAGE", "AGENT", "GOAL")


class Entry(msgspec.Struct, frozen=True):
    """One thing that the model does, or that happens to it."""


class Text(Entry, frozen=True):
    """Says something."""

    text: str


class Thinking(Entry, frozen=True):
    """Thinks aloud."""

    thinking: str


class Tool(Entry, frozen=True):
    """Calls a tool, and gets its result before the next entry."""

    name: str
    input: dict[str, Any]


class Pause(Entry, frozen=True):
    """Lets time pass, as a slow model would."""

    seconds: float


class Crash(Entry, frozen=True):
    """Dies by a signal, there and then."""

    signal: int


class UsageEntry(Entry, frozen=True):
    """The tokens that the next message reports."""

    tokens: dict[str, int]


class Await(Entry, frozen=True):
    """Ends the turn; the next message that no rule takes plays on from here."""


class ApiError(Entry, frozen=True):
    """The call to the model fails: `times` times, or for good, which ends the turn."""

    status: int
    retry_after: float | None = None
    message: str | None = None
    times: int | None = None


class Rule(msgspec.Struct, frozen=True):
    """Turns to play when a message matches; `times` bounds how often."""

    match: str
    turns: tuple[Entry, ...]
    times: int | None = None


class Script(msgspec.Struct, frozen=True):
    """What a model would say: a list from the first prompt on, and rules for later messages."""

    turns: tuple[Entry, ...]
    on: tuple[Rule, ...] = ()


class _Bad(Exception):
    """A fault at one place in a script."""

    def __init__(self, place: str, problem: str) -> None:
        super().__init__(f"{place}: {problem}" if place else problem)


Reader: TypeAlias = Callable[[Any, str], Entry]
Keys: TypeAlias = frozenset[str]


def parse(source: str | bytes, name: str = "script") -> Script:
    """Reads a script; `name` says in errors which one it was."""
    try:
        return _script(_decode(source))
    except _Bad as bad:
        raise UserError(f"{name}: {bad}", HINT) from None


def default_script(goal: str, agent: str) -> Script:
    """Returns what an agent without a script does: notes its goal, commits, and says it is done."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", agent).strip(".-") or "agent"
    path = f"notes/{stem}.md"
    return Script(
        turns=(
            Text(f"I will note the goal in {path} and commit it."),
            Tool(
                "Write", {"file_path": path, "content": f"# {stem}\n\n{_escaped(goal.strip())}\n"}
            ),
            Tool(
                "Bash",
                {
                    "command": f"git add -- {quote(path)} && "
                    f"git commit -q -m {quote(f'notes: the goal of {stem}')}",
                    "description": "Commit the note",
                },
            ),
            Text(f"The goal is noted in {path} and committed.\n\nI HAVE COMPLETED THE GOAL"),
        )
    )


def default_answer() -> tuple[Entry, ...]:
    """Returns what is said to a message when nothing is left to play and no rule takes it."""
    return (Text("Noted.\n\nWAITING"),)


def fill(value: Any, names: Mapping[str, str]) -> Any:
    """Replaces `${MESSAGE}`, `${AGENT}` and `${GOAL}` in every string of a JSON value, once.

    `$${GOAL}` stays as `${GOAL}`; any other `${...}` is left alone, for the shell.
    """
    if isinstance(value, str):
        return _NAME.sub(lambda match: _filled(match, names), value)
    if isinstance(value, dict):
        return {key: fill(item, names) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [fill(item, names) for item in value]
    return value


_NAME = re.compile(r"\$(\$?)\{(" + "|".join(NAMES) + r")\}")


def _filled(match: re.Match[str], names: Mapping[str, str]) -> str:
    if match[1]:
        return match[0][1:]
    return names.get(match[2], match[0])


def _escaped(text: str) -> str:
    return _NAME.sub(lambda match: "$" + match[0], text)


def _decode(source: str | bytes) -> Any:
    try:
        text = source.decode("utf-8-sig") if isinstance(source, bytes) else source
    except UnicodeDecodeError as error:
        raise _Bad("", f"not UTF-8 at byte {error.start}") from None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _Bad("", _located(text, str(error))) from None


def _located(text: str, problem: str) -> str:
    """Says where JSON breaks; the fast decoder counts bytes, the standard one lines and columns."""
    import json  # noqa: PLC0415 - only a broken script pays for it

    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"line {error.lineno} column {error.colno}: {error.msg}"
    except RecursionError:
        return "nested too deeply"
    return problem


def _script(data: Any) -> Script:
    _object(data, "", allowed=frozenset({"$schema", "turns", "on"}), needed=("turns",))
    if not isinstance(data.get("$schema", ""), str):
        raise _Bad("$schema", f"expected a string, got {_kind(data['$schema'])}")
    turns = _turns(data["turns"], "turns")
    rules = data.get("on", [])
    if not isinstance(rules, list):
        raise _Bad("on", f"expected a list, got {_kind(rules)}")
    return Script(turns, tuple(_rule(rule, f"on[{n}]") for n, rule in enumerate(rules)))


def _rule(data: Any, place: str) -> Rule:
    allowed = frozenset({"match", "turns", "times"})
    _object(data, place, allowed=allowed, needed=("match", "turns"))
    match = _string(data["match"], f"{place}.match")
    try:
        re.compile(match)
    except (re.error, OverflowError, RecursionError) as error:
        raise _Bad(f"{place}.match", f"bad regular expression: {error}") from None
    times = data.get("times")
    if "times" in data:
        times = _whole(times, f"{place}.times", least=1)
    return Rule(match, _turns(data["turns"], f"{place}.turns"), times)


def _turns(data: Any, place: str) -> tuple[Entry, ...]:
    if not isinstance(data, list):
        raise _Bad(place, f"expected a list, got {_kind(data)}")
    return tuple(_entry(item, f"{place}[{n}]") for n, item in enumerate(data))


def _entry(data: Any, place: str) -> Entry:
    if not isinstance(data, dict):
        raise _Bad(place, f"expected an object, got {_kind(data)}")
    kinds = [key for key in data if key in _READERS]
    if not kinds:
        raise _Bad(place, f"expected one of {', '.join(_READERS)}, got {_listed(data)}")
    if len(kinds) > 1:
        raise _Bad(place, f"one entry does one thing, this has {' and '.join(kinds)}")
    kind = kinds[0]
    extra = {"tool": frozenset({"input"})}.get(kind, frozenset())
    _object(data, place, allowed=extra | {kind})
    if kind == "tool":
        return _tool(data, place)
    return _READERS[kind](data[kind], f"{place}.{kind}")


def _tool(data: dict[str, Any], place: str) -> Tool:
    arguments = data.get("input", {})
    if not isinstance(arguments, dict):
        raise _Bad(f"{place}.input", f"expected an object, got {_kind(arguments)}")
    return Tool(_string(data["tool"], f"{place}.tool"), arguments)


def _usage(data: Any, place: str) -> UsageEntry:
    _object(data, place, allowed=frozenset(TOKEN_KINDS))
    return UsageEntry({key: _whole(data[key], f"{place}.{key}", least=0) for key in data})


def _await(data: Any, place: str) -> Await:
    if data != "message":
        raise _Bad(place, 'the only thing to await is "message"')
    return Await()


def _error(data: Any, place: str) -> ApiError:
    allowed = frozenset({"status", "retry_after", "message", "times"})
    _object(data, place, allowed=allowed, needed=("status",))
    retry = data.get("retry_after")
    message = data.get("message")
    return ApiError(
        _whole(data["status"], f"{place}.status", least=400, most=599),
        _seconds(retry, f"{place}.retry_after") if "retry_after" in data else None,
        _string(message, f"{place}.message") if "message" in data else None,
        _whole(data["times"], f"{place}.times", least=1) if "times" in data else None,
    )


def _seconds(data: Any, place: str) -> float:
    if isinstance(data, bool) or not isinstance(data, int | float):
        raise _Bad(place, f"expected seconds, got {_kind(data)}")
    if not 0 <= data <= 86400 or not isfinite(data):
        raise _Bad(place, f"expected 0 to 86400 seconds, got {data}")
    return float(data)


def _whole(data: Any, place: str, *, least: int, most: int | None = None) -> int:
    if isinstance(data, bool) or not isinstance(data, int | float) or data != int(data):
        raise _Bad(place, f"expected a whole number, got {_kind(data)}")
    if data < least or (most is not None and data > most):
        bounds = f"{least} to {most}" if most is not None else f"at least {least}"
        raise _Bad(place, f"expected {bounds}, got {int(data)}")
    return int(data)


def _string(data: Any, place: str) -> str:
    if not isinstance(data, str):
        raise _Bad(place, f"expected a string, got {_kind(data)}")
    if not data:
        raise _Bad(place, "must not be empty")
    return data


def _object(data: Any, place: str, *, allowed: Keys, needed: tuple[str, ...] = ()) -> None:
    if not isinstance(data, dict):
        raise _Bad(place, f"expected an object, got {_kind(data)}")
    unknown = [key for key in data if key not in allowed]
    if unknown:
        known = ", ".join(sorted(allowed - {"$schema"}))
        raise _Bad(place, f"unknown key {unknown[0]!r}; known are {known}")
    for key in needed:
        if key not in data:
            raise _Bad(place, f"{key!r} is missing")


def _listed(data: dict[str, Any]) -> str:
    return ", ".join(repr(key) for key in data) or "an empty object"


def _kind(data: Any) -> Literal["null", "a boolean", "a number", "a string", "a list", "an object"]:
    if data is None:
        return "null"
    if isinstance(data, bool):
        return "a boolean"
    if isinstance(data, int | float):
        return "a number"
    if isinstance(data, str):
        return "a string"
    return "a list" if isinstance(data, list) else "an object"


_READERS: dict[str, Reader] = {
    "text": lambda data, place: Text(_string(data, place)),
    "thinking": lambda data, place: Thinking(_string(data, place)),
    "tool": _tool,
    "pause": lambda data, place: Pause(_seconds(data, place)),
    "crash": lambda data, place: Crash(_whole(data, place, least=1, most=31)),
    "usage": _usage,
    "await": _await,
    "error": _error,
}
