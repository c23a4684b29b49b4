"""Commands that run other commands: what `env`, `timeout`, `xargs`, `find -exec`, `bash -c` start.

`started` says which, when it can be read off exactly; Doubt is raised when it cannot. A program
that starts others in ways of its own (`make`, `ssh`, `npm`) is judged by its name alone: whoever
allowed it allowed that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from windlass.core.shell.tree import SETTING, Piece, Word, lead, may_be_option, splits

Words = tuple[Word, ...]


class Doubt(Exception):
    """Why no pattern can vouch for a command."""


class Settled(Doubt):
    """One that no other spelling of the command would dispel."""


class _Options(NamedTuple):
    """Of a program that runs what follows its options and `operands` words."""

    flags: str = ""
    valued: str = ""
    long: tuple[str, ...] = ()
    """Without a value, or with one behind `=`."""
    operands: int = 0
    settings: bool = False
    unknown_more: bool = False
    """Whether words that nobody knows are added."""


_THROUGH = {
    "env": _Options(flags="i", valued="u", long=("--ignore-environment",), settings=True),
    "nice": _Options(valued="n", long=("--adjustment",)),
    "nohup": _Options(),
    "setsid": _Options(flags="cfw", long=("--fork", "--wait", "--ctty")),
    "stdbuf": _Options(valued="ioe", long=("--input", "--output", "--error")),
    "ionice": _Options(flags="t", valued="cn"),
    "timeout": _Options(
        flags="v",
        valued="sk",
        long=("--signal", "--kill-after", "--preserve-status", "--foreground", "--verbose"),
        operands=1,
    ),
    "xargs": _Options(
        flags="0rtx",
        valued="nPLsdEa",
        long=("--null", "--no-run-if-empty", "--max-args", "--max-procs", "--max-lines"),
        unknown_more=True,
    ),
    "command": _Options(flags="p"),
    "builtin": _Options(),
    "exec": _Options(),
    "time": _Options(flags="pv", valued="fo"),
    "busybox": _Options(),
}
_SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh"))
_EXEC = frozenset(("-exec", "-execdir", "-ok", "-okdir"))
_UNKNOWN = Word((Piece("variable", "?", quoted=False),), plain=False)

_FOUND = Word((Piece("text", "./", quoted=True), Piece("variable", "?", quoted=True)), plain=False)
"""What find puts in: it begins with where find began."""


def started(words: Words) -> Iterator[Words | str]:
    """What a command starts: commands as words, or the text of a line for a shell."""
    name = words[0].literal
    if name in _SHELLS:
        yield from _shell(words)
    elif name == "find":
        yield from _found(words)
    elif name in ("command", "type") and _queries(words):
        return
    elif name == "xargs" and any(_text(word).startswith("-I") for word in words[1:]):
        yield from _replacing(words)
    elif name is not None and name in _THROUGH:
        inner = _behind(name, words[1:], _THROUGH[name])
        if inner:
            yield inner


def settings(words: Words) -> Iterator[str]:
    """The names of what `env` sets or unsets for what it runs, and of what looks like it."""
    if words[0].literal == "env":
        yield from (setting[1] for word in words[1:] if (setting := _setting(word)) is not None)
        yield from _unset(words)


def _unset(words: Words) -> Iterator[str]:
    """What `env` takes away; `-` and `-i` take all, so that our own variables are among it."""
    rest = iter(words[1:])
    for word in rest:
        text = word.text
        if not text.startswith("-"):
            if _setting(word) is None:
                return
            continue
        flags, unset, name = text[1:].partition("u")
        if text == "-" or text.startswith("--ig") or (text[1] != "-" and "i" in flags):
            yield "WINDLASS_SOCKET"
        elif unset and text[1] != "-":
            # What nobody can read may be any of them.
            yield name or next((each.literal for each in rest), None) or "WINDLASS_SOCKET"


def _setting(word: Word) -> re.Match[str] | None:
    first = lead(word)
    said = word.literal or (first.text if first is not None and first.kind == "text" else "")
    return SETTING.match(said)


def _queries(words: Words) -> bool:
    return len(words) > 1 and _text(words[1]) in ("-v", "-V")


def _behind(name: str, rest: Sequence[Word], options: _Options) -> Words:
    """The words behind a program's own options; Doubt about one that is not known."""
    at, operands = 0, options.operands
    while at < len(rest):
        word = rest[at].literal
        sets = options.settings and _setting(rest[at]) is not None
        if word is None and not sets:
            if operands and not rest[at].dynamic:
                raise Doubt(f"what {name} is given is not plain")
            break
        text = rest[at].text
        if text == "--":
            at += 1 + operands
            operands = 0
            break
        if sets and splits(rest[at]):
            raise Doubt(f"{name} with a value that may be more than one word; quote it")
        if text.startswith("-") and text != "-":
            at += _option(name, text, options)
            if at <= len(rest) and splits(rest[at - 1]):
                raise Doubt(f"{name} with a value that may be more than one word; quote it")
        elif sets or (text == "-" and name == "env"):
            at += 1
        elif operands:
            operands -= 1
            at += 1
        else:
            break
    inner = tuple(rest[at:])
    if options.unknown_more:
        return (*inner, _UNKNOWN) if inner else ()
    return inner


def _option(name: str, text: str, options: _Options) -> int:
    """How many words an option takes, itself included."""
    if text.startswith("--"):
        if text.partition("=")[0] in options.long:
            return 1
        raise Doubt(f"what {name} runs is unclear with {text}")
    if name == "nice" and re.fullmatch(r"-[0-9]+", text):
        return 1
    for at, letter in enumerate(text[1:], 2):
        if letter in options.valued:
            return 1 if at < len(text) else 2
        if letter not in options.flags:
            raise Doubt(f"what {name} runs is unclear with {text}")
    return 1


def _replacing(words: Words) -> Iterator[Words]:
    """`xargs -I{} command {}`: where the sign stands, anything may come."""
    at = next(n for n, word in enumerate(words) if _text(word).startswith("-I"))
    sign = _text(words[at])[2:]
    rest = words[at + 1 :]
    if not sign:
        sign, rest = (_text(rest[0]) if rest else ""), rest[1:]
    if not sign or words[0].dynamic:
        raise Doubt("what xargs runs is unclear")
    inner = _behind("xargs", [*words[1:at], *rest], _THROUGH["xargs"])
    if inner:
        yield tuple(_UNKNOWN if sign in word.text else word for word in inner)


def _found(words: Words) -> Iterator[Words]:
    rest = iter(words[1:])
    free = 0
    for word in rest:
        text = word.literal
        if text in _EXEC:
            yield tuple(_FOUND if "{}" in w.text else w for w in _until_end(rest))
        elif text in (";", "+"):
            raise Doubt("what find runs is unclear")
        elif may_be_option(word):
            free += 1
            # One word that is not known cannot be -exec, its command and its end at once.
            if free > 1 or not all(piece.quoted for piece in word.pieces):
                raise Doubt("find with words that are not written out; quote and use only one")


def _until_end(rest: Iterator[Word]) -> list[Word]:
    run: list[Word] = []
    for word in rest:
        if _text(word) in (";", "+") and run:
            return run
        run.append(word)
    raise Doubt("what find runs is unclear")


def _shell(words: Words) -> Iterator[str]:
    for at, word in enumerate(words[1:], 1):
        text = word.literal
        if text is None:
            raise Doubt("what the shell is given is not written out")
        if not text.startswith("-"):
            return
        if not re.fullmatch("-[celux]+", text):
            raise Doubt(f"what the shell runs is unclear with {text}")
        if "c" in text:
            if at + 1 >= len(words) or (line := words[at + 1].literal) is None:
                raise Doubt("what the shell runs is not written out")
            if line.startswith("-"):
                raise Doubt("what the shell runs is unclear")
            yield line
            return


def _text(word: Word) -> str:
    return word.literal or ""
