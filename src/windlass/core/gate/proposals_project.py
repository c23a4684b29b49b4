"""What a proposal is made of, and a project's files as the rules read them. Pure.

Everything in a project's files is somebody else's text: it is parsed within bounds and never run.
A file that cannot be read counts as missing, and the reason is kept in `Project.skipped`.
"""

from __future__ import annotations

import ast
import configparser
import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from windlass.core import toml_text

MAX_NAMES = 50_000
MAX_TEXT = 400_000
"""Characters of a file that is parsed; longer ones are no configuration."""
_MAX_CODE = 60_000

_UNWANTED = frozenset(
    "node_modules vendor third_party third-party site-packages examples example docs doc"
    " templates template fixtures testdata".split()
)


_COUNTED = re.compile(
    r"\b(?:py\.?test|unittest|tox|nox|jest|vitest|mocha|ava|tape|react-scripts test|craco test"
    r"|bun test|deno test|cargo (?:test|nextest)|go test|mvn|gradlew?|ctest|rspec|minitest"
    r"|rake test|phpunit|bats)\b|\b(?:node|tsx)\b[^&|;\n]{0,300}\s--test\b"
)


def is_counted(line: str) -> bool:
    """Whether a line runs something whose closing lines say how many tests ran."""
    return bool(_COUNTED.search(line))


class ProjectFiles(Protocol):
    """The files of a project, and the programs of the person who has it."""

    def names(self) -> Sequence[str]:
        """The tracked paths, relative, with `/` between folders."""
        ...

    def text(self, path: str) -> str | None:
        """A small text file, or None if there is none; ignored files answer as well."""
        ...

    def program(self, name: str) -> bool:
        """Whether the person's PATH has this program."""
        ...


class CheckProposal(msgspec.Struct, frozen=True):
    """One line of the gate."""

    name: str
    run: str
    tests: Literal["some", "none"] = "some"
    """`none`: how many tests ran cannot be read from its output, so that its exit code decides."""
    junit: str = ""


class GateProposal(msgspec.Struct, frozen=True):
    """How a project can be set up with a network, and then checked without one."""

    setup: str = ""
    deps: tuple[str, ...] = ()
    """Every path or glob in the tree that setup makes and a check needs."""
    inputs: tuple[str, ...] = ()
    """The paths or globs whose contents decide what setup makes."""
    versions: tuple[str, ...] = ()
    checks: tuple[CheckProposal, ...] = ()
    include: tuple[str, ...] = ()
    """Ignored files that a workspace needs: the lines of `.worktreeinclude`."""
    why: tuple[str, ...] = ()


class Project:
    """A folder of a project: names are relative to it, bad files are skipped with a reason."""

    def __init__(self, files: ProjectFiles, folder: str = "") -> None:
        """Reads the names once; texts are asked for when a rule wants them."""
        self._files = files
        self.folder = folder
        prefix = f"{folder}/" if folder else ""
        self.names = tuple(
            name.removeprefix(prefix)
            for name in files.names()[:MAX_NAMES]
            if name.startswith(prefix) and name.isprintable()
        )
        self._known = frozenset(self.names)
        self._folders = frozenset(
            name[: match.start()] for name in self.names for match in re.finditer("/", name)
        )
        self._prefix = prefix
        self._texts: dict[str, str | None] = {}
        self._tables: dict[str, dict[str, Any]] = {}
        self.skipped: list[str] = []

    def below(self, folder: str) -> Project:
        """The same files as a folder further down sees them."""
        return Project(self._files, f"{self._prefix}{folder}")

    def has(self, path: str) -> bool:
        """Whether a path is tracked."""
        return path in self._known

    def has_folder(self, path: str) -> bool:
        """Whether something tracked lies below a path."""
        return path.strip("/") in self._folders

    def first(self, *paths: str) -> str:
        """The first of some paths that is tracked, or nothing."""
        return next((path for path in paths if path in self._known), "")

    def matching(self, pattern: str) -> list[str]:
        """The tracked paths that a regular expression matches as a whole."""
        compiled = re.compile(pattern)
        return [name for name in self.names if compiled.fullmatch(name)]

    def program(self, name: str) -> bool:
        """Whether the person has a program."""
        return self._files.program(name)

    def text(self, path: str) -> str:
        """A tracked file's text; nothing if there is none, or none that can be read."""
        if path not in self._known:
            return ""
        if path not in self._texts:
            text = self._files.text(self._prefix + path)
            if text is not None and len(text) > MAX_TEXT:
                text = None
            if text is None:
                self.skipped.append(f"{self._prefix}{path} is no small text: it was not read")
            self._texts[path] = text
        return self._texts[path] or ""

    def head(self, path: str) -> str:
        """The beginning of a tracked file, however long it is."""
        return (self._files.text(self._prefix + path) or "")[:4000] if self.has(path) else ""

    def code(self, path: str) -> ast.Module:
        """A Python file as syntax; an empty one if it is none, or too long to be worth it."""
        text = self.text(path)
        try:
            return ast.parse(text if len(text) <= _MAX_CODE else "")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            self._skip(path, error)
            return ast.parse("")

    def toml(self, path: str) -> dict[str, Any]:
        """A TOML file, or nothing."""
        return self._parsed(path, toml_text.read)

    def json(self, path: str) -> dict[str, Any]:
        """A JSON file, or nothing."""
        return self._parsed(path, json.loads)

    def ini(self, path: str) -> Mapping[str, Mapping[str, str]]:
        """An INI file's sections, or nothing."""
        parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
        text = self.text(path)
        try:
            parser.read_string(text)
        except (configparser.Error, ValueError) as error:
            self._skip(path, error)
            return {}
        return {
            name: {key: value or "" for key, value in parser.items(name)}
            for name in parser.sections()
        }

    def _parsed(self, path: str, parse: Callable[[str], Any]) -> dict[str, Any]:
        if path not in self._tables:
            self._tables[path] = self._read(path, parse)
        return self._tables[path]

    def _read(self, path: str, parse: Callable[[str], Any]) -> dict[str, Any]:
        text = self.text(path)
        if not text:
            return {}
        try:
            value = parse(text)
        except (ValueError, RecursionError) as error:
            self._skip(path, error)
            return {}
        return value if isinstance(value, dict) else {}

    def _skip(self, path: str, error: Exception) -> None:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:120]
        self.skipped.append(f"{self._prefix}{path} was not understood ({reason})")


def table(value: Any, *keys: str) -> dict[str, Any]:
    """A table inside tables; an empty one if anything on the way is something else."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def words(value: Any) -> list[str]:
    """The texts in a list; one text is a list of itself."""
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """A text, or nothing if it is something else."""
    return value if isinstance(value, str) else ""


def split_line(line: str) -> list[str]:
    """A shell line's words; nothing if its quotes do not close."""
    try:
        return shlex.split(line, comments=True)
    except ValueError:
        return []


def quoted(arguments: Iterable[str]) -> str:
    """Words of somebody's files as arguments of a shell line."""
    return " ".join(shlex.quote(argument) for argument in arguments)


def unique(values: Iterable[str]) -> tuple[str, ...]:
    """The values in their order, each once, without empty ones."""
    return tuple(dict.fromkeys(value for value in values if value))


def is_aside(name: str) -> bool:
    """Whether a path belongs to examples, documentation, fixtures or somebody else's code."""
    folders = name.split("/")[:-1]
    return any(part in _UNWANTED or part.startswith((".", "{{")) for part in folders)
