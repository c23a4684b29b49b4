"""Hooks of ours in the text of a settings file: put in, and taken out again to the byte.

Nothing is remembered beside the file. What is ours is known by its command, in which the program
`primary.py` is followed by the marker; behind the marker's colon stand letters for what was made
along with it, and goes with it if nothing else is in there by then: `e` the event's list, `h` the
table of hooks, `f` the file, `d` its folder. Every other byte stays: text is put in behind the last
item of a list or object, or right behind the bracket that opens an empty one.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from shlex import join, split
from typing import Any, NamedTuple, NoReturn

MARKER = "windlass-hook"
PROGRAM = "primary.py"
_MODES = {
    "SessionStart": ("tell", "wait"),
    "UserPromptSubmit": ("tell",),
    "PreToolUse": ("tell",),
    "PostToolUse": ("tell",),
    "Stop": ("wait",),
    "StopFailure": ("wait",),
}
_MATCHERS = {"PreToolUse": "Bash"}
_TIMEOUT = 10
_WAITS_AT_MOST = 86_400
_BLANK = " \t\r\n"
_BLANKS = re.compile(f"[{_BLANK}]*")
_LINE_END = re.compile(r"(\r\n|\n|\r)([ \t]*)")
_USUAL = "  "


class Unusable(Exception):
    """Why a text is no settings file that hooks could be put into."""


class HookProgram(NamedTuple):
    """What is run: the program up to its own name, and what it is told behind marker and mode."""

    program: tuple[str, ...]
    arguments: tuple[str, ...]

    def command(self, mode: str, letters: str = "") -> str:
        """The command line; `exec`, so that the agent CLI itself is the parent of what runs."""
        marker = f"{MARKER}:{letters}" if letters else MARKER
        return "exec " + join((*self.program, marker, mode, *self.arguments))


class Bare(NamedTuple):
    """A file without our hooks; no text where nothing is left of a file that we made."""

    text: str | None
    folder: bool
    """Whether its folder was made for it."""


class _Item(NamedTuple):
    """A member of an object, from its key on, or an element of an array."""

    key: str
    value: Any
    start: int
    at: int
    """Where its value begins."""
    end: int


class _Cut(NamedTuple):
    """What is to go: pieces of text, whether all that was inside, and the letters seen there."""

    pieces: tuple[tuple[int, int], ...] = ()
    emptied: bool = False
    letters: frozenset[str] = frozenset()


class _Style(NamedTuple):
    """How a file is laid out."""

    line_end: str
    unit: str
    flat: bool


def install(text: str | None, hook: HookProgram, *, folder: bool = False) -> str:
    """Puts our hooks in, in place of older ones; `folder` says that it is made along with them."""
    if text is not None:
        text, made = take_out(text)
        folder = folder or made
    letters = ("f" if text is None else "") + ("d" if folder else "")
    return _put_in("{}\n" if text is None else text, hook, letters)


def take_out(text: str) -> Bare:
    """Takes our hooks out, and what was made along with them where nothing else has come in."""
    root = _root(text)
    cut = _cut(text, root, _of_table)
    for start, end in sorted(cut.pieces, reverse=True):
        text = text[:start] + text[end:]
    gone = cut.emptied and "f" in cut.letters
    return Bare(None if gone else text, "d" in cut.letters)


def refusal(text: str, hook: HookProgram) -> str | None:
    """Why `install` would not put a hook into a text; None where it would."""
    try:
        install(text, hook)
    except Unusable as why:
        return str(why)
    return None


def installed_commands(text: str) -> dict[str, list[str]]:
    """The commands of ours by event, without their letters."""
    commands: dict[str, list[str]] = {}
    for table in _members(text, _root(text), "hooks", dict):
        for event in _items(text, table.at):
            listed = event.value if isinstance(event.value, list) else []
            for command in _commands(listed):
                if isinstance(command, str) and _letters(command) is not None:
                    plain = re.sub(rf"{MARKER}:[a-z]*", MARKER, command, count=1)
                    commands.setdefault(event.key, []).append(plain)
    return commands


def expected(hook: HookProgram) -> dict[str, list[str]]:
    """What `found` finds where exactly this hook is installed."""
    return {event: [hook.command(mode) for mode in modes] for event, modes in _MODES.items()}


def _put_in(text: str, hook: HookProgram, letters: str) -> str:
    root = _root(text)
    style = _style(text, root)
    tables = [item for item in _items(text, root) if item.key == "hooks"]
    if not tables:
        whole = {event: [_group(hook, event, letters + "he")] for event in _MODES}
        return _insert(text, [_added(text, root, [("hooks", whole)], style)])
    table = tables[-1]  # the last of two counts, as for every reader of JSON
    if not isinstance(table.value, dict):
        raise Unusable('its "hooks" is no object')
    lists = {item.key: item for item in _items(text, table.at)}
    added, new = [], []
    for event in _MODES:
        listed = lists.get(event)
        if listed is None:
            new.append((event, [_group(hook, event, letters + "e")]))
        elif isinstance(listed.value, list):
            group = [("", _group(hook, event, letters))]
            added.append(_added(text, listed.at, group, style))
        else:
            raise Unusable(f'its "hooks" have "{event}", which is no list')
    if new:
        added.append(_added(text, table.at, new, style))
    return _insert(text, added)


def _group(hook: HookProgram, event: str, letters: str) -> dict[str, Any]:
    matcher = {"matcher": _MATCHERS[event]} if event in _MATCHERS else {}
    return {**matcher, "hooks": [_entry(hook, mode, letters) for mode in _MODES[event]]}


def _entry(hook: HookProgram, mode: str, letters: str) -> dict[str, Any]:
    entry = {"type": "command", "command": hook.command(mode, letters)}
    if mode == "wait":
        return {**entry, "asyncRewake": True, "timeout": _WAITS_AT_MOST}
    return {**entry, "timeout": _TIMEOUT}


def _insert(text: str, added: list[tuple[int, str]]) -> str:
    for at, more in sorted(added, reverse=True):
        text = text[:at] + more + text[at:]
    return text


def _added(text: str, at: int, new: Sequence[tuple[str, Any]], style: _Style) -> tuple[int, str]:
    """Where and what to insert for new items of the list or object that opens there."""
    present = _items(text, at)
    if present:
        last = present[-1]
        before = text[len(text[: last.start].rstrip(_BLANK)) : last.start]
        line = _last_line_end(before)
        gap = line[0] if line else before if len(present) > 1 else " "
        indent = line[2] if line else None
        return last.end, "".join(f",{gap}{_rendered(value, indent, style)}" for value in new)
    if style.flat:
        return at + 1, ", ".join(_rendered(value, None, style) for value in new)
    outer = _indentation(text, at)
    indent = outer + style.unit
    gap = style.line_end + indent
    inside = ",".join(gap + _rendered(value, indent, style) for value in new)
    return at + 1, inside + style.line_end + outer


def _rendered(new: tuple[str, Any], indent: str | None, style: _Style) -> str:
    key, value = new
    name = f"{json.dumps(key)}: " if key else ""
    if indent is None:
        return name + json.dumps(value)
    lines = json.dumps(value, indent=style.unit).split("\n")
    return name + (style.line_end + indent).join(lines)


def _style(text: str, root: int) -> _Style:
    items = _items(text, root)
    first_end = _LINE_END.search(text)
    line_end = first_end[1] if first_end else "\n"
    if not items:
        return _Style(line_end, _USUAL, flat=False)
    flat = _LINE_END.search(text, root, items[-1].end) is None
    line = _last_line_end(text[root + 1 : items[0].start])
    unit = line[2].removeprefix(_indentation(text, root)) if line else _USUAL
    return _Style(line_end, unit, flat)


def _indentation(text: str, at: int) -> str:
    """The blanks that begin the line around a place."""
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    line = text[start:at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _last_line_end(blanks: str) -> re.Match[str] | None:
    return next(
        (line_end for line_end in _LINE_END.finditer(blanks) if line_end.end() == len(blanks)), None
    )


def _cut(text: str, at: int, of_item: Callable[[str, _Item], tuple[_Cut, bool]]) -> _Cut:
    """What of a list or object is to go; `of_item` says what of an item, and whether all of it."""
    items = _items(text, at)
    judged = [of_item(text, item) for item in items]
    pieces = [piece for cut, whole in judged if not whole for piece in cut.pieces]
    gone = [whole for _, whole in judged]
    letters = frozenset[str]().union(*(cut.letters for cut, _ in judged))
    pieces += _removed(text, at, items, gone)
    return _Cut(tuple(pieces), bool(gone) and all(gone), letters)


def _of_table(text: str, item: _Item) -> tuple[_Cut, bool]:
    if item.key != "hooks" or not isinstance(item.value, dict):
        return _Cut(), False
    cut = _cut(text, item.at, _of_event)
    return cut, cut.emptied and "h" in cut.letters


def _of_event(text: str, item: _Item) -> tuple[_Cut, bool]:
    if not isinstance(item.value, list):
        return _Cut(), False
    cut = _cut(text, item.at, _of_group)
    return cut, cut.emptied and "e" in cut.letters


def _of_group(text: str, item: _Item) -> tuple[_Cut, bool]:
    """A group goes with the last of its hooks: somebody may have put others in with ours."""
    if not isinstance(item.value, dict):
        return _Cut(), False
    cuts = [_cut(text, member.at, _of_hook) for member in _members(text, item.at, "hooks", list)]
    pieces = tuple(piece for cut in cuts for piece in cut.pieces)
    letters = frozenset[str]().union(*(cut.letters for cut in cuts))
    emptied = bool(cuts) and all(cut.emptied for cut in cuts)
    return _Cut(pieces, emptied, letters), emptied


def _of_hook(_: str, item: _Item) -> tuple[_Cut, bool]:
    command = item.value.get("command") if isinstance(item.value, dict) else None
    letters = _letters(command)
    return _Cut(letters=letters or frozenset()), letters is not None


def _removed(text: str, at: int, items: list[_Item], gone: list[bool]) -> Iterator[tuple[int, int]]:
    """The text of items, with what was put around them."""
    if not any(gone):
        return
    if all(gone):
        yield at + 1, items[-1].end + len(_behind(text, at, items))
        return
    stays = gone.index(False)
    if stays:
        yield items[0].start, items[stays].start
    for before, item, goes in zip(
        items[stays:], items[stays + 1 :], gone[stays + 1 :], strict=False
    ):
        if goes:
            yield before.end, item.end


def _behind(text: str, at: int, items: list[_Item]) -> str:
    """What was put behind the items of a list or object that was empty: the line of its bracket."""
    line = _last_line_end(text[at + 1 : items[0].start])
    inner = _LINE_END.search(text, items[0].start, items[0].end)
    if line is None or inner is None or not inner[2].startswith(line[2]):
        return ""
    unit = len(inner[2]) - len(line[2])
    closing = line[1] + line[2][: max(0, len(line[2]) - unit)]
    return closing if text.startswith(closing, items[-1].end) else ""


def _letters(command: object) -> frozenset[str] | None:
    """The letters of a command of ours; None for anybody else's."""
    if not isinstance(command, str) or MARKER not in command:
        return None
    try:
        words = split(command)
    except ValueError:  # quotes that do not end: no shell would run it
        return None
    for program, word in pairwise(words):
        name, _, letters = word.partition(":")
        if name == MARKER and posixpath.basename(program) == PROGRAM:
            return frozenset(letters)
    return None


def _commands(groups: list[Any]) -> Iterator[object]:
    for group in groups:
        listed = group.get("hooks") if isinstance(group, dict) else None
        for hook in listed if isinstance(listed, list) else []:
            if isinstance(hook, dict):
                yield hook.get("command")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


# Numbers stay text: nobody asks for them, and one of five thousand digits would be refused.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_no_constant)


def _root(text: str) -> int:
    """Where the one object of the text begins; Unusable if it is anything else."""
    at = _blanks(text, 1 if text.startswith("\ufeff") else 0)
    try:
        value, end = _DECODER.raw_decode(text, at)
    except RecursionError:
        raise Unusable("it is nested too deeply") from None
    except ValueError as error:
        raise Unusable(f"it is not JSON: {error}" if text.strip() else "it is empty") from None
    if _blanks(text, end) < len(text):
        raise Unusable("it is not JSON: something follows its end")
    if not isinstance(value, dict):
        raise Unusable("it holds no JSON object")
    return at


def _members(text: str, at: int, key: str, kind: type) -> list[_Item]:
    return [item for item in _items(text, at) if item.key == key and isinstance(item.value, kind)]


def _items(text: str, at: int) -> list[_Item]:
    """The items of the list or object that opens there; of valid JSON, which `_root` has seen."""
    named = text[at] == "{"
    items: list[_Item] = []
    at = _blanks(text, at + 1)
    while text[at] not in "]}":
        start, key = at, ""
        if named:
            key, at = _DECODER.raw_decode(text, at)
            at = _blanks(text, _blanks(text, at) + 1)
        value, end = _DECODER.raw_decode(text, at)
        items.append(_Item(key, value, start, at, end))
        at = _blanks(text, end)
        if text[at] == ",":
            at = _blanks(text, at + 1)
    return items


def _blanks(text: str, at: int) -> int:
    """Where the blanks that begin there end."""
    matched = _BLANKS.match(text, at)
    return matched.end() if matched else at
