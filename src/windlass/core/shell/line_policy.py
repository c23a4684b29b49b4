"""Shell lines against patterns: which commands a line runs, and whether patterns vouch for them.

The way into this package: `read_line` reads a line once; `unallowed_commands` says which of its
commands no pattern allows, `mentions` whether a pattern may mean one of them, `suggestions` which
patterns would help. Where they do not know, allowing says no and denying yes.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

from windlass.core.shell import doubts as shell_doubts
from windlass.core.shell import reader, runs, second_reader
from windlass.core.shell.runs import Doubt, Settled, Words
from windlass.core.shell.steps import COMMAND, WORD, Steps, TooLong
from windlass.core.shell.tree import Broken, Node, Word, commands, nodes
from windlass.core.shell.values import Values

LONGEST = 32_768
"""Of a line that is read; the second reader cannot be told to stop half way."""
_DEEPEST = 4
_ANY_NAME = "*"
"""Stands for the name in patterns that mean commands of many names."""
_LONGEST_CHAIN = 16
"""How many programs may start one another in one command; each has to be judged again."""
_LOOSE_WORD = re.compile(r"[^\s;&|(){}`$<>!=]+")
_STARTERS = frozenset(
    (
        *("sh", "bash", "dash", "zsh", "ksh", "busybox", "find", "xargs", "env", "command", "exec"),
        *("eval", "sudo", "doas", "su", "watch", "ssh", "parallel", "nohup", "nice", "setsid"),
        *("timeout", "time", "script", "unshare", "chroot", "strace", "docker", "podman", "npx"),
        *("trap", "builtin", "stdbuf", "ionice", "source", ".", "flock", "systemd-run", "at"),
    )
)
"""Programs that start what their arguments name; a denied command may hide in them."""

_INTERPRETER = re.compile(r"(?:python|node|deno|perl|ruby|php|lua|tclsh|pypy)[0-9.]*")
_REPEATABLE = re.compile(r"[^'*]{1,300}")
"""Lines that a person can be given between single quotes, and that mean no more than themselves."""


class LineReading(NamedTuple):
    """What one line says: its commands, and what cannot be known of them."""

    node: Node | None
    """None when it cannot be read at all."""
    commands: tuple[Words, ...]
    """Every command with its words, those that others start included."""
    doubts: tuple[str, ...]
    """Why no pattern can vouch for it, whatever its commands are called."""
    settled: bool
    """Whether none of the doubts would go if it were written in another way."""


@lru_cache(maxsize=256)
def read_line(line: str) -> LineReading:
    """Reads a line and everything that it starts."""
    try:
        return _read_line(line, depth=0, steps=Steps())
    except TooLong as reason:
        return LineReading(None, (), (str(reason),), settled=False)


def unallowed_commands(line: str, contents: Iterable[str]) -> list[Words]:
    """The commands of a line that none of these patterns allows."""
    by_name: dict[str, list[str]] = {}
    for content in contents:
        name = "".join(_pattern(content).words[:1])
        by_name.setdefault(_ANY_NAME if "*" in name else name, []).append(content)
    unknown = []
    for command in read_line(line).commands:
        said = _said(command)
        named = (*by_name.get(said[0] or "", ()), *by_name.get(_ANY_NAME, ()))
        if not any(_means(said, content) for content in named):
            unknown.append(command)
    return unknown


def spelled(command: Words, contents: Iterable[str]) -> int:
    """How many words of a command stand in a pattern that allows it."""
    said = _said(command)
    fitting = [each for each in contents if _means(said, each)]
    return max(
        (len(each.removesuffix(":*").removesuffix("*").split()) for each in fitting), default=0
    )


def vouches(line: str, contents: Iterable[str]) -> bool:
    """Whether patterns together allow a line: all of its commands, or exactly this text."""
    known = list(contents)
    if is_one_of(line, known):
        return True
    reading = read_line(line)
    return (
        not reading.doubts and bool(line.strip() and known) and not unallowed_commands(line, known)
    )


def is_one_of(line: str, contents: Iterable[str]) -> bool:
    """Whether a person has written down just this line."""
    return bool(line.strip()) and any(line.strip() == each.strip() for each in contents)


def mentions(line: str, content: str) -> bool:
    """Whether a pattern may mean any command that a line runs.

    In what cannot be read or judged, and in what is given to a program that starts others, it is
    enough that its words stand there in order.
    """
    wanted = content.strip().removesuffix(":*").removesuffix("*").split()
    if not wanted:
        return True
    reading = read_line(line)
    if (reading.node is None or reading.doubts) and _in_order(wanted, line):
        return True
    if is_one_of(line, [content]) or (reading.node is not None and not reading.commands):
        return is_one_of(line, [content])
    return any(
        _fits(command, content) or _may_mean(command, wanted) for command in reading.commands
    )


def may_mean(command: Words, content: str) -> bool:
    """Whether a pattern may mean a command, with options between its words."""
    wanted = content.strip().removesuffix(":*").removesuffix("*").split()
    return not wanted or _fits(command, content) or _may_mean(command, wanted)


def suggestions(line: str, contents: Iterable[str]) -> list[str]:
    """The patterns that a person would add to have lines like this one allowed; none if none do.

    A line that no pattern vouches for can still be allowed word for word.
    """
    if read_line(line).doubts:
        return [f"Bash({line.strip()})"] if _repeatable(line) else []
    prefixes: dict[str, None] = {}
    for command in unallowed_commands(line, contents):
        name = command[0].literal or ""
        if not re.fullmatch(r"[A-Za-z0-9_./+@%:-]+", name) or name.endswith(":"):
            return []
        prefixes[" ".join((name, *_subcommand(command)))] = None
    return [f"Bash({prefix}:*)" for prefix in prefixes]


def word_for_word(line: str) -> list[str]:
    """The pattern that allows just this line, if a person can be given one between quotes."""
    bare = line.strip()
    ok = bare.isprintable() and _REPEATABLE.fullmatch(bare) is not None
    return [f"Bash({bare})"] if ok else []


def boundless(pattern: str) -> bool:
    """Whether a pattern that was suggested lets every program run, by one that starts others."""
    program = re.fullmatch(r"Bash\((?:\S*/)?([^\s/]+):\*\)", pattern)
    return program is not None and (
        program[1] in _STARTERS or bool(_INTERPRETER.fullmatch(program[1]))
    )


def patterns(line: str) -> list[str]:
    """The patterns that allow a line of a person's, as it is and with more behind its commands."""
    exact = [f"Bash({line.strip()})"] if line.strip() else []
    reading = read_line(line)
    if reading.node is None:
        return exact
    own = dict.fromkeys(tuple(_plain(command)) for command in reading.commands)
    return [*exact, *(f"Bash({' '.join(words)}:*)" for words in own if words)]


def _read_line(line: str, *, depth: int, steps: Steps) -> LineReading:
    if len(line) > LONGEST:
        raise TooLong
    try:
        if depth > _DEEPEST:
            raise Broken("it is nested too deeply")
        read = reader.read(line, steps)
        _agree(read.node, read.outline, steps)
    except Broken as broken:
        return LineReading(None, (), (f"the line cannot be read: {broken}",), settled=False)
    doubts: list[Doubt] = list(shell_doubts.in_line(read.node, read.sums))
    started: list[Words] = []
    whole = Values(read.node, {}, steps).unsplit()
    waiting = deque(
        (_as_quoted(command.words, whole), 0) for command in commands(read.node) if command.words
    )
    while waiting:
        command, chain = waiting.popleft()
        started.append(command)
        steps.take(COMMAND * (chain > 0) + WORD * len(command))
        try:
            if chain > _LONGEST_CHAIN:
                raise Doubt("too many programs start one another")
            shell_doubts.check(command)
            for inner in runs.started(command):
                if not isinstance(inner, str):
                    waiting.append((inner, chain + 1))
                    continue
                below = _read_line(inner, depth=depth + 1, steps=steps)
                started += below.commands
                kind = Settled if below.settled else Doubt
                doubts += map(kind, below.doubts)
        except Doubt as doubt:
            doubts.append(doubt)
    settled = all(isinstance(doubt, Settled) for doubt in doubts)
    return LineReading(read.node, tuple(started), tuple(dict.fromkeys(map(str, doubts))), settled)


def _as_quoted(words: Words, whole: frozenset[str]) -> Words:
    """Variables that certainly stay one word are as good as quoted."""
    if not whole:
        return words
    return tuple(
        word._replace(
            pieces=tuple(
                piece._replace(quoted=True)
                if piece.kind == "variable" and piece.text in whole
                else piece
                for piece in word.pieces
            )
        )
        for word in words
    )


def _agree(node: Node, outline: str, steps: Steps) -> None:
    """Has the line read a second time; raises Broken if that finds other commands."""
    mine = [
        each.words[0].text
        for each in nodes(node, documents=False)
        if not isinstance(each, Node) and each.words
    ]
    theirs = [_named(name, steps) for name in second_reader.names(outline, steps)]
    if sorted(mine) != sorted(theirs):
        raise Broken("two readers do not agree on its commands")
    for each in nodes(node, documents=False):
        for body in (redirect.target for redirect in each.redirects if redirect.operator == "<<"):
            for piece in body.pieces:
                if piece.inside is not None:
                    _agree(piece.inside, piece.text, steps)


def _named(name: str, steps: Steps) -> str:
    word = reader.word(name, steps)
    return word.text if word is not None else ""


class _Pattern(NamedTuple):
    """What a pattern says: its words, and whether more may follow them."""

    words: tuple[str, ...]
    is_open: bool


@lru_cache(maxsize=1024)
def _pattern(content: str) -> _Pattern:
    content = content.strip()
    if content.endswith(":*"):
        return _Pattern(tuple(content.removesuffix(":*").split()), is_open=True)
    words = tuple(content.split())
    if words[-1:] == ("*",):
        return _Pattern(words[:-1], is_open=True)
    return _Pattern(words, is_open=False)


def _said(command: Words) -> tuple[str | None, ...]:
    return tuple(word.literal for word in command)


def _fits(command: Words, content: str) -> bool:
    """Whether a pattern certainly means a command: whole words, from its name on."""
    words, is_open = _pattern(content)
    return _means(_said(command[: len(words)] if is_open else command), content)


def _means(said: tuple[str | None, ...], content: str) -> bool:
    words, is_open = _pattern(content)
    if is_open:
        return bool(words) and said[: len(words)] == words
    if None in said:
        return False
    exact = " ".join(words)
    return said == words or ("*" in exact and fnmatchcase(" ".join(map(str, said)), exact))


def _may_mean(command: Words, wanted: list[str]) -> bool:
    name = command[0].literal
    if name is None:
        return True
    bare = name.rpartition("/")[2]
    if bare == wanted[0].rpartition("/")[2]:
        return _reaches(command[1:], wanted[1:])
    return bare in _STARTERS and _in_order(wanted, " ".join(word.text for word in command))


def _reaches(rest: Words, wanted: list[str]) -> bool:
    """Whether the words may follow, with options and their values between them."""
    if not wanted:
        return True
    # How many of the wanted words may stand before this word, and before the next.
    here, then = {0}, set[int]()
    for word in rest:
        text = word.literal
        skips = text is None or text.startswith("-")
        found = {n + 1 for n in here if text is None or fnmatchcase(text, wanted[n])}
        if len(wanted) in found:
            return True
        here, then = (here if skips else set()) | found | then, here if skips else set()
    return False


def _in_order(wanted: list[str], text: str) -> bool:
    bare = re.sub(r"[\"'\\]", "", text.replace("\\\n", " "))
    said = iter(word.rpartition("/")[2] or word for word in _LOOSE_WORD.findall(bare))
    return all(
        any(fnmatchcase(word_said, word.rpartition("/")[2]) for word_said in said)
        for word in wanted
    )


def _subcommand(command: Words) -> Iterator[str]:
    """The second word, for programs that are many."""
    name = command[0].literal
    second = command[1].literal if len(command) > 1 else None
    many = ("npm", "pnpm", "yarn", "bun", "cargo", "go", "make", "just", "uv", "poetry", "pip")
    if name not in (*many, "docker", "kubectl", "gh", "bundle", "mvn", "dotnet", "npx"):
        return
    if second is not None and re.fullmatch(r"[A-Za-z][A-Za-z0-9_.:-]*[A-Za-z0-9_]", second):
        yield second


def _repeatable(line: str) -> bool:
    """Whether to offer a line word for word: no spelling would help, and it is not our own."""
    reading = read_line(line)
    said = (word.literal for command in reading.commands for word in command)
    ours = not {"wl", "windlass"}.isdisjoint(said)
    bare = line.strip()
    return reading.settled and not ours and bare.isprintable() and bool(_REPEATABLE.fullmatch(bare))


def _plain(said: tuple[Word, ...]) -> list[str]:
    texts = [word.literal or "" for word in said]
    return texts if all(re.fullmatch(r"[^\s()*]+", text) for text in texts) else []
