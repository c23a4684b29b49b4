"""JSON that people write: read strictly, and each thing wrong with it a sentence with its path.

Pure. A key that stands twice, a number that is none, and nesting without end are refused, because
whoever wrote them meant something else than what would be read.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from windlass.core.errors import ConfigError
from windlass.core.printable import printable_line

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_LONE = re.compile("[\ud800-\udfff]")
_LARGEST = (1 << 63) - 1
_SHOWN = 60
_MOST = 50


class Problem(NamedTuple):
    """Something that is wrong with a value, and what would mend it."""

    path: str
    what: str
    remedy: str
    level: str = "error"

    def __str__(self) -> str:
        """One line for people."""
        warning = "warning: " if self.level == "warning" else ""
        return f"{self.path}: {warning}{self.what}; {self.remedy}"


def read(data: bytes, name: str) -> Any:
    """The value of a JSON text; `name` is what errors call it."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{printable_line(name)} is no UTF-8 text (byte {error.start})", "save it as UTF-8"
        ) from None
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{printable_line(name)} is no JSON: {error.msg} in line {error.lineno}, "
            f"column {error.colno}",
            "mend it there",
        ) from None
    except RecursionError:
        raise ConfigError(
            f"{printable_line(name)} is nested without end", "nothing needs so many levels"
        ) from None
    except ValueError as error:
        raise ConfigError(f"{printable_line(name)} is no JSON: {error}", "mend it") from None
    for problem in _unusable(value):
        raise ConfigError(f"{printable_line(name)}: {problem.path}: {problem.what}", problem.remedy)
    return value


def _unusable(value: Any) -> Iterator[Problem]:
    """What JSON can say and no file or number here can hold, wherever it stands."""
    waiting = [("$", value)]
    while waiting:
        path, held = waiting.pop()
        if isinstance(held, dict):
            for name in held:
                if _LONE.search(name):
                    yield Problem(path, f"the key {name!a} has half of a character", "mend it")
            waiting += [(key(path, name), below) for name, below in held.items()]
        elif isinstance(held, list):
            waiting += [(f"{path}[{place}]", below) for place, below in enumerate(held)]
        elif isinstance(held, str) and _LONE.search(held):
            yield Problem(path, f"{kind(held)} has half of a character", "mend that escape")
        elif isinstance(held, int | float) and not -_LARGEST <= held <= _LARGEST:
            yield Problem(path, f"{kind(held)} is out of range", "write a smaller number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return found


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number")


def key(path: str, name: str) -> str:
    """The path of a member of an object."""
    return f"{path}.{name}" if _PLAIN.fullmatch(name) else f"{path}[{json.dumps(name)}]"


def kind(value: Any) -> str:
    """What a value is, in words."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "null"
    if isinstance(value, str):
        return json.dumps(value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…")
    if isinstance(value, int | float):
        shown = str(value)
        return shown if len(shown) <= _SHOWN else "a number without end"
    return "a list" if isinstance(value, list) else "an object"


def require(problems: Iterable[Problem], name: str) -> None:
    """Raises what is wrong, if anything is."""
    errors = [problem for problem in problems if problem.level == "error"]
    if not errors:
        return
    lines = [str(problem) for problem in errors[:_MOST]]
    if len(errors) > _MOST:
        lines.append(f"and {len(errors) - _MOST} more")
    if len(lines) == 1:
        raise ConfigError(f"{printable_line(name)}: {lines[0]}", "")
    raise ConfigError(
        "\n  ".join([f"{printable_line(name)} has {len(errors)} problems", *lines]), ""
    )
