"""Where a Python project's tests are, and what runs them. Pure.

A test's text is searched, never imported. What tests need to run is `proposals_python_needs`'.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from windlass.core.gate.proposals_project import (
    Project,
    is_aside,
    quoted,
    split_line,
    table,
    unique,
    words,
)

JUNIT = ".gate/junit.xml"
_READ = 80
"""Test files whose text is read."""
_TEST_FILE = r"(?:.*/)?(?:test_[^/]*|[^/]*_test|tests?)\.py"
_BESIDE = r"(?:.*/)?tests?/(?:.*/)?[^/]+\.py"
"""What test files import from beside them."""
_TEST_FOLDERS = ("tests", "test", "testing", "t", "unittests", "unit_tests")
_VALUED = frozenset(
    ("-m", "-k", "-p", "-W", "--ignore", "--ignore-glob", "--deselect", "--import-mode")
)
"""Options of pytest that change what is tested, each with a value."""
_PLAIN = frozenset(("--pyargs", "--doctest-modules", "--runslow"))


class PythonTests(NamedTuple):
    """The tests of a Python project."""

    runner: str
    """`pytest`, `unittest` or `django`."""
    arguments: str
    """What stands behind the runner, quoted for a shell."""
    sources: str
    """The text of test files, to see what they use."""
    options: str
    """What the configuration adds to every run of pytest."""
    why: str


def find(project: Project, pyproject: dict[str, Any], *, lines: list[str]) -> PythonTests | None:
    """The tests, from files, configuration and the lines of other tools that run them."""
    files = [
        name for name in project.matching(_TEST_FILE) if not is_aside(name) and name != "setup.py"
    ]
    conftests = [name for name in project.matching(r"(?:.*/)?conftest\.py") if not is_aside(name)]
    where, settings = _pytest_settings(project, pyproject)
    if not files and not text_of_settings(settings, "python_files"):
        return None
    beside = [name for name in project.matching(_BESIDE) if not is_aside(name)]
    read = unique((*conftests, *files[:_READ], *beside))[: 2 * _READ]
    sources = "\n".join(project.text(name) for name in read)
    options = text_of_settings(settings, "addopts")
    if _uses_pytest(where, conftests, sources, lines):
        arguments = _pytest_arguments(project, files, settings, lines)
        seen = where or (conftests[0] if conftests else "what the tests import")
        why = f"{_folder(files) or 'python_files'} and {seen}: pytest"
        return PythonTests("pytest", arguments, sources, options, why)
    if project.has("manage.py") and "django" in project.text("manage.py"):
        return PythonTests("django", "", sources, "", "manage.py: the tests are Django's")
    if "unittest" not in sources:
        return None
    arguments = _unittest_arguments(project, files)
    return PythonTests(
        "unittest", arguments, sources, "", f"{_folder(files)} imports unittest alone: unittest"
    )


def text_of_settings(settings: dict[str, Any], key: str) -> str:
    """A setting of pytest as text: lists are joined."""
    return " ".join(words(settings.get(key)))


def _folder(files: list[str]) -> str:
    return files[0].partition("/")[0] + "/" if files and "/" in files[0] else "".join(files[:1])


def _pytest_settings(project: Project, pyproject: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The file that configures pytest, and what it says."""
    for name in ("pytest.ini", ".pytest.ini"):
        if project.has(name):
            return name, dict(project.ini(name).get("pytest", {}))
    for name in ("pytest.toml", ".pytest.toml"):
        if project.has(name):
            return name, table(project.toml(name), "pytest")
    tool = table(pyproject, "tool", "pytest")
    if tool:
        return "[tool.pytest] in pyproject.toml", table(tool, "ini_options") or tool
    for name, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        sections = project.ini(name)
        if section in sections:
            return f"[{section}] in {name}", dict(sections[section])
    return "", {}


def _uses_pytest(where: str, conftests: list[str], sources: str, lines: list[str]) -> bool:
    if where or conftests or re.search(r"^[ \t]*(?:import|from) pytest\b", sources, re.MULTILINE):
        return True
    if any(_pytest_words(line) is not None for line in lines):
        return True
    return bool(re.search(r"^(?:async )?def test", sources, re.MULTILINE))


def _pytest_words(line: str) -> list[str] | None:
    """What stands behind pytest in a line; None if the line does not run it."""
    tokens = split_line(line)
    for place, token in enumerate(tokens):
        if token in ("pytest", "py.test") or token.endswith(("/pytest", "/py.test")):
            return tokens[place + 1 :]
    return None


def _pytest_arguments(
    project: Project, files: list[str], settings: dict[str, Any], lines: list[str]
) -> str:
    """The paths and choices of the project's own line, or the folder with the tests."""
    options: list[str] = []
    paths: list[str] = []
    for line in lines:
        tokens = _pytest_words(line)
        if tokens is not None:
            options, paths = _kept(project, tokens)
            break
    if not paths and not settings.get("testpaths") and "--pyargs" not in options:
        paths = _test_folders(files)
    return quoted([*options, *paths])


def _kept(project: Project, tokens: list[str]) -> tuple[list[str], list[str]]:
    """The choices and the paths in a line of pytest; how it reports is left out."""
    options: list[str] = []
    paths: list[str] = []
    tokens = list(tokens)
    while tokens:
        token = tokens.pop(0)
        if token in ("&&", "||", ";", "|", ">", "2>&1"):
            break
        if "{" in token or "$" in token:
            continue
        if token in _VALUED and tokens:
            value = tokens.pop(0)
            if "{" not in value and "$" not in value:
                options += [token, value]
        elif token in _PLAIN or token.partition("=")[0] in _VALUED:
            options.append(token)
        elif not token.startswith("-"):
            path = token.removeprefix("./").rstrip("/")
            if project.has(path) or project.has_folder(path):
                paths.append(path)
    return options, paths


def _test_folders(files: list[str]) -> list[str]:
    """The folders at the top that are there for tests; nothing means all there is."""
    tops = unique(name.partition("/")[0] for name in files if "/" in name)
    chosen = [name for name in _TEST_FOLDERS if name in tops]
    inside = [name for name in files if name.partition("/")[0] not in chosen]
    if not chosen or len(inside) > len(files) // 2:
        return []
    return chosen


def _unittest_arguments(project: Project, files: list[str]) -> str:
    folders = _test_folders(files)
    start = folders[0] if folders else ""
    names = [name.rpartition("/")[2] for name in files]
    pattern = "" if any(name.startswith("test") for name in names) else "-p '*_test.py'"
    if not start and files and all("/" in name for name in files):
        start = files[0].rpartition("/")[0]
    if not start:
        return f"discover {pattern}".strip()
    top = "-t ." if project.has(f"{start}/__init__.py") else ""
    return " ".join(part for part in ("discover", f"-s {quoted([start])}", top, pattern) if part)
