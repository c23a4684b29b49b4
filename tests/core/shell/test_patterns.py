"""Every regular expression that judges what agents write costs no more than its input is long."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support.counted_regex import Counted

import windlass.core

CORE = Path(windlass.core.__file__).parent
_JUDGING = ("board", "claude", "gate", "mail", "pipeline", "policy", "runs", "shell")
ROOMS = [CORE, *(CORE / room for room in _JUDGING)]
SEARCHING = ("search", "findall", "finditer", "sub", "split")
CAPPED = "_AWK_WRITES"
"""Looks ahead from every print, in programs of limited length."""


class Given(NamedTuple):
    """A pattern in the source, and whether it is searched for or has to fit from where it is."""

    said: str
    flags: int
    searched: bool


def _flags(call: ast.Call) -> int:
    names = set(re.findall("VERBOSE|DOTALL|IGNORECASE", ast.unparse(call)))
    return sum(int(getattr(re, name)) for name in names)


def _patterns(path: Path) -> Iterator[tuple[str, Given]]:
    source = path.read_text()
    searched = set(re.findall(rf"(\w+)\.(?:{'|'.join(SEARCHING)})\(", source))
    for node in ast.walk(ast.parse(source)):
        where = f"{path.parent.name}/{path.stem}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            name = ast.unparse(node.targets[0])
            said = node.value.args[0] if node.value.args else None
            if isinstance(said, ast.Constant) and name != CAPPED and _made(node.value):
                yield where, Given(str(said.value), _flags(node.value), name in searched)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re."):
            way = ast.unparse(node.func).removeprefix("re.")
            if node.args and isinstance(node.args[0], ast.Constant) and way != "compile":
                yield where, Given(str(node.args[0].value), _flags(node), way in SEARCHING)
        elif isinstance(node, ast.Constant) and str(node.value).startswith("-["):
            yield f"{where} in a table", Given(str(node.value), 0, searched=False)


def _made(call: ast.Call) -> bool:
    return ast.unparse(call.func) == "re.compile"


FILES = [path for room in ROOMS for path in sorted(room.glob("*.py"))]
"""But for what proposes a gate: that reads a few files of bounded size, once, for the person."""
PATTERNS = dict(
    pattern
    for path in FILES
    if not path.name.startswith("proposals")
    for pattern in _patterns(path)
)


def _inputs(pattern: str, length: int) -> Iterator[str]:
    """Repetitions of what the pattern speaks of, behind beginnings and before ends that fail."""
    dice = random.Random(ascii(pattern))  # noqa: S311 - the same every time
    signs = [*dict.fromkeys(re.sub(r"\\[bsSw]|[\\^*+?]", "", pattern))][:24] or ["a"]
    words = [*dict.fromkeys(re.findall(r"[A-Za-z]{2,}", pattern))][:6]
    signs += [" ", "0", "a", *words]
    lead = re.split(r"[\\\[(.*+?|^$]", pattern)[0]
    yield from (lead + (sign * length)[:length] + "\n" for sign in signs)
    for _ in range(100):
        before = "".join(dice.choices(signs, k=dice.randint(0, 3)))
        again = "".join(dice.choices(signs, k=dice.choice((1, 1, 1, 2))))
        yield (
            before
            + (again * length)[:length]
            + dice.choice(("\0", "\n", "", dice.choice(signs) + "\n"))
        )


def _worst(pattern: str, flags: int, *, searched: bool, length: int) -> list[int]:
    counted = Counted(pattern, flags)
    counts: list[int] = []
    for text in _inputs(pattern, length):
        before = counted.steps
        (counted.search if searched else counted.fullmatch)(text)
        counts.append(counted.steps - before)
    return counts


@pytest.mark.parametrize("where", PATTERNS)
def test_a_pattern_takes_twice_the_steps_for_twice_the_text(where: str) -> None:
    pattern, flags, searched = PATTERNS[where]
    once = _worst(pattern, flags, searched=searched, length=15)
    twice = _worst(pattern, flags, searched=searched, length=30)
    four = _worst(pattern, flags, searched=searched, length=60)
    for n, steps in enumerate(four):
        assert steps - twice[n] <= 2.5 * (twice[n] - once[n]) + 60, list(_inputs(pattern, 60))[n]


@pytest.mark.parametrize(
    ("pattern", "searched"),
    [(r"a*a*b", False), (r"\s*!?\s*x", False), (r"print[^;]*>", True), (r"-[a-z]*x.*", False)],
)
def test_what_takes_more_is_noticed(pattern: str, *, searched: bool) -> None:
    counts = [_worst(pattern, 0, searched=searched, length=n) for n in (15, 30, 60)]
    assert any(c - b > 2.5 * (b - a) + 60 for a, b, c in zip(*counts, strict=True))


def test_the_counter_matches_as_python_does() -> None:
    for pattern, flags, searched in PATTERNS.values():
        counted, real = Counted(pattern, flags), re.compile(pattern, flags)
        for text in _inputs(pattern, 3):
            if searched:
                assert counted.search(text) is (real.search(text) is not None), (pattern, text)
            else:
                assert counted.fullmatch(text) is (real.fullmatch(text) is not None), (
                    pattern,
                    text,
                )


def test_they_are_found() -> None:
    assert len(PATTERNS) > 50
    assert any(r"\s*+!?\s*+" in given.said for given in PATTERNS.values())
