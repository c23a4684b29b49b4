"""Marks: what a tree does to its own tests, which a person should see before it lands.

A gate is only as good as the tests that it runs, and a change may take them away. Pure.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from windlass.core import toml_text
from windlass.core.gate.spec import GateSpec
from windlass.core.gate.verdicts import Verdict

_STEERS = re.compile(
    r"(?:.*/)?(?:conftest\.py|\.?pytest\.(?:ini|toml)|\.?tox\.(?:ini|toml)|noxfile\.py|setup\.cfg"
    r"|\.coveragerc|(?:jest|vitest|vite|ava|karma|playwright|cypress)\.config\.[a-z]+"
    r"|(?:karma|protractor|wdio)\.conf\.[a-z]+|(?:jest|vitest)[.-]setup\.[a-z]+|setupTests\.[a-z]+"
    r"|vitest\.workspace\.[a-z]+|\.mocharc(?:\.[a-z]+)?|\.taprc|\.nycrc(?:\.json)?"
    r"|nextest\.toml|phpunit\.xml(?:\.dist)?|\.rspec(?:-local)?|(?:spec|rails|test)_helper\.(?:rb|exs)"
    r"|CTestCustom\.cmake|junit-platform\.properties|xunit\.runner\.json|[^/]*\.runsettings"
    r"|sitecustomize\.py|usercustomize\.py)",
)
"""Files that decide which tests run and what counts, whatever stands in them."""
_IN_PARTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "package.json": (("scripts",), ("jest",), ("vitest",), ("mocha",), ("ava",), ("tap",)),
    "pyproject.toml": (
        *(("tool", name) for name in ("pytest", "tox", "nox", "hatch", "coverage", "poe")),
        ("tool", "pdm", "scripts"),
    ),
    "Cargo.toml": (("lib",), ("test",), ("bin",), ("profile",)),
}
"""Files that do so in these parts, and are edited every day in others."""
_NAMED = 5
UNREAD = "\0"
"""Stands for a text that is too large to be looked into: it may say anything."""


class Edit(NamedTuple):
    """A file that a tree has otherwise than its base; None where one of them has none."""

    path: str
    before: str | None
    after: str | None


def may_steer(path: str, gate: GateSpec) -> bool:
    """Whether a file of that path could decide which tests run: its content says more."""
    name = path.rpartition("/")[2]
    return bool(_STEERS.fullmatch(path)) or name in _IN_PARTS or path in _called(gate)


def of_edits(edits: Iterable[Edit], gate: GateSpec) -> list[str]:
    """One line about the files that steer tests and are not what they were."""
    steering = [edit.path for edit in edits if _steers(edit, gate)]
    if not steering:
        return []
    more = f" and {len(steering) - _NAMED} more" if len(steering) > _NAMED else ""
    return [f"edits what steers tests: {', '.join(steering[:_NAMED])}{more}"]


def of_counts(base: Mapping[str, Verdict], tree: Mapping[str, Verdict]) -> list[str]:
    """A line for each check that runs fewer tests than it does on the base, or skips more."""
    lines = []
    for name, verdict in tree.items():
        before = base.get(name)
        if before is None or before.tests is None:
            continue
        if verdict.tests is not None and verdict.tests < before.tests:
            lines.append(f"{name} ran {verdict.tests} tests, {before.tests} before")
        skipped, was = verdict.skipped or 0, before.skipped or 0
        if skipped > was:
            lines.append(f"{name} skipped {skipped} tests, {was} before")
    return lines


def _steers(edit: Edit, gate: GateSpec) -> bool:
    if _STEERS.fullmatch(edit.path) or edit.path in _called(gate):
        return True
    parts = _IN_PARTS.get(edit.path.rpartition("/")[2])
    if parts is None:
        return False
    before, after = _table(edit.path, edit.before), _table(edit.path, edit.after)
    if before is None or after is None:
        return True
    return any(_part(before, part) != _part(after, part) for part in parts)


def _called(gate: GateSpec) -> set[str]:
    """Paths that the gate's own lines name, and the file behind `make`."""
    words = {word for check in gate.checks for word in _words(check.run)}
    called = {word.removeprefix("./") for word in words}
    if words & {"make", "gmake"}:
        called |= {"Makefile", "makefile", "GNUmakefile"}
    if "just" in words:
        called |= {"justfile", "Justfile"}
    return called


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError:
        return line.split()


def _table(path: str, text: str | None) -> dict[str, Any] | None:
    """What a file of tables holds: nothing if there is no file, None if it cannot be read."""
    if text is None:
        return {}
    try:
        held = json.loads(text) if path.endswith(".json") else toml_text.read(text)
    except (ValueError, RecursionError):
        return None
    return held if isinstance(held, dict) else None


def _part(table: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    held: Any = table
    for name in names:
        held = held.get(name) if isinstance(held, Mapping) else None
    return held
