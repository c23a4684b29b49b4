"""Marks: what a tree does to its own tests, which a person should see before it lands.

A gate is only as good as the tests that it runs, and a change may take them away. Pure.
"""

from __future__ import annotations

import itertools
import json
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from windlass.core import toml_text
from windlass.core.gate import shadows
from windlass.core.gate.spec import GateSpec
from windlass.core.gate.verdicts import Verdict
from windlass.core.printable import few

_STEERS = re.compile(
    r"(?:conftest\.py|\.?pytest\.(?:ini|toml)|\.?tox\.(?:ini|toml)|noxfile\.py|setup\.cfg"
    r"|\.coveragerc|(?:jest|vitest|vite|ava|karma|playwright|cypress)\.config\.[a-z]+"
    r"|(?:karma|protractor|wdio)\.conf\.[a-z]+|(?:jest|vitest)[.-]setup\.[a-z]+|setupTests\.[a-z]+"
    r"|vitest\.workspace\.[a-z]+|\.mocharc(?:\.[a-z]+)?|\.taprc|\.nycrc(?:\.json)?"
    r"|nextest\.toml|phpunit\.xml(?:\.dist)?|\.rspec(?:-local)?|(?:spec|rails|test)_helper\.(?:rb|exs)"
    r"|CTestCustom\.cmake|junit-platform\.properties|xunit\.runner\.json|[^/]*\.runsettings"
    r"|sitecustomize\.py|usercustomize\.py)",
)
"""The names of files that decide which tests run and what counts, whatever stands in them."""
_IN_PARTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "package.json": (("scripts",), ("jest",), ("vitest",), ("mocha",), ("ava",), ("tap",)),
    "pyproject.toml": (
        *(("tool", name) for name in ("pytest", "tox", "nox", "hatch", "coverage", "poe")),
        ("tool", "pdm", "scripts"),
    ),
    "Cargo.toml": (("lib",), ("test",), ("bin",), ("profile",)),
}
"""Files that do so in these parts, and are edited every day in others."""
_BEHIND: dict[str, frozenset[str]] = {
    **dict.fromkeys(("make", "gmake"), frozenset({"Makefile", "makefile", "GNUmakefile"})),
    "just": frozenset({"justfile", "Justfile", ".justfile"}),
    "rake": frozenset({"Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb"}),
    "task": frozenset({"Taskfile.yml", "Taskfile.yaml", "taskfile.yml", "taskfile.yaml"}),
    **dict.fromkeys(("invoke", "inv"), frozenset({"tasks.py", "tasks/__init__.py"})),
    "doit": frozenset({"dodo.py"}),
}
"""Files that say what such a program does, found by themselves."""
_LOOKS_IN = "PYTHONPATH="
_NAMED = 5
UNREAD = "\0"
"""Stands for a text that is too large to be looked into: it may say anything."""


class Edit(NamedTuple):
    """A file that a tree has otherwise than its base; None where one of them has none."""

    path: str
    before: str | None
    after: str | None


def may_steer(paths: Iterable[str], gate: GateSpec) -> list[str]:
    """Those of the paths whose files could decide which tests run: their content says more."""
    calls = _calls(gate)
    return [p for p in paths if p.rpartition("/")[2] in _IN_PARTS or _decides(p, calls)]


def of_edits(edits: Iterable[Edit], gate: GateSpec) -> list[str]:
    """One line about the files that steer tests and are not what they were."""
    calls = _calls(gate)
    steering = [edit.path for edit in edits if _steers(edit, calls)]
    return [f"edits what steers tests: {few(steering, _NAMED)}"] if steering else []


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


class _Calls(NamedTuple):
    """What the gate's own lines name."""

    paths: frozenset[str]
    modules: frozenset[str]
    """What Python is told to run with `-m`."""
    folders: frozenset[str]
    """Where the lines go, or have Python look for modules."""


def _decides(path: str, calls: _Calls) -> bool:
    """Whether a file decides which tests run, whatever stands in it."""
    if _STEERS.fullmatch(path.rpartition("/")[2]) or path in calls.paths:
        return True
    return shadows.is_one(path, modules=calls.modules, folders=calls.folders)


def _steers(edit: Edit, calls: _Calls) -> bool:
    if _decides(edit.path, calls):
        return True
    parts = _IN_PARTS.get(edit.path.rpartition("/")[2])
    if parts is None:
        return False
    before, after = _table(edit.path, edit.before), _table(edit.path, edit.after)
    if before is None or after is None:
        return True
    return any(_part(before, part) != _part(after, part) for part in parts)


def _calls(gate: GateSpec) -> _Calls:
    """Reads the gate's lines: paths, the files behind `make` and its like, modules and folders."""
    paths, modules, folders = set[str](), set[str](), set[str]()
    for check in gate.checks:
        words = _words(check.run)
        paths |= {_path(word) for word in words}
        for word in words:
            paths |= _BEHIND.get(word, frozenset())
            if word.startswith(_LOOKS_IN):
                folders |= {_path(place) for place in word.removeprefix(_LOOKS_IN).split(":")}
        for before, word in itertools.pairwise(words):
            if before == "-m":
                modules.add(word.partition(".")[0])
                inside = word.replace(".", "/")
                paths |= {f"{inside}.py", f"{inside}/__init__.py", f"{inside}/__main__.py"}
            elif before == "cd":
                folders.add(_path(word.rstrip(";")))
    return _Calls(frozenset(paths), frozenset(modules), frozenset(folders))


def _path(word: str) -> str:
    return word.removeprefix("$PWD/").removeprefix("./").rstrip("/")


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
