"""What a Python project's other tools say of its tests: tox, nox, hatch, tasks, CI. Pure.

They are read for two things: the line that runs the tests, and what is installed before it. The
tools themselves are not proposed: they make environments of their own, some of them at each run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from windlass.core.gate.proposals_makefile import Makefile
from windlass.core.gate.proposals_project import (
    Project,
    quoted,
    split_line,
    table,
    unique,
    words,
)
from windlass.core.gate.proposals_python_needs import Needs, beside, both, package_name

_ENVIRONMENTS = ("", "test", "tests", "py", "py3", "unit", "pytest")
_TASKS = ("test", "tests", "pytest", "unit", "unittest", "check")
_MAX_WORKFLOWS = 30


class Said(NamedTuple):
    """The lines that run tests, and what is installed for them."""

    lines: list[str]
    needs: Needs


def read(project: Project, pyproject: dict[str, Any]) -> Said:
    """Everything the tools say, the ones made for tests first."""
    said = [
        _hatch(project, pyproject),
        _tox(project, pyproject),
        _nox(project),
        Said(_tasks(project, pyproject), Needs()),
    ]
    needs = Needs()
    for one in said:
        needs = both(needs, one.needs)
    return Said([line for one in said for line in one.lines], needs)


def flags(project: Project, command: str, *, known: Mapping[str, int]) -> list[str]:
    """The known options that the project's own lines give to a command (`uv sync`).

    Each with as many values as it takes, and only from files that speak of tests.
    """
    found: list[str] = []
    pattern = re.compile(rf"\b{command}\b([^&|;\n]*)")
    for text in _ci_texts(project):
        for match in pattern.finditer(text):
            tokens = split_line(match[1])
            for place, token in enumerate(tokens):
                name, equals, value = token.partition("=")
                if name not in known:
                    continue
                values = [value] if equals else tokens[place + 1 : place + 1 + known[name]]
                if all(re.fullmatch(r"[\w.,-]+", item) for item in values):
                    found.append(" ".join([name, *values[: known[name]]]))
    return [word for option in unique(found) for word in option.split()]


def installs(project: Project) -> Needs:
    """What CI installs with pip before the tests."""
    needs = Needs()
    for text in _ci_texts(project):
        for match in re.finditer(r"\bpip3? install\b([^&|;\n]*)", text):
            needs = both(needs, requirements(project, split_line(match[1])))
    return needs._replace(packages=())


def requirements(project: Project, tokens: Iterable[str], *, path: str = "") -> Needs:
    """What the arguments of `pip install` ask for, without the project itself."""
    extras: list[str] = []
    files: list[str] = []
    groups: list[str] = []
    packages: list[str] = []
    queue = list(tokens)
    while queue:
        word = queue.pop(0)
        if word in ("-r", "--requirement") and queue:
            files.append(beside(path, queue.pop(0)))
        elif word.startswith("-r"):
            files.append(beside(path, word[2:]))
        elif word == "--group" and queue:
            groups.append(queue.pop(0))
        elif word in ("-c", "--constraint", "--index-url", "-i", "--extra-index-url"):
            queue[:1] = []
        elif own := re.fullmatch(r"(?:[\w.-]+ ?@ ?)?\.?(?:/)?\[([\w,. -]+)\]", word):
            extras += [name.strip() for name in own[1].split(",")]
        elif _plain(word):
            packages.append(word)
    return Needs(
        groups=unique(groups),
        extras=unique(extras),
        files=unique(name for name in files if project.has(name)),
        packages=unique(packages),
    )


def _plain(token: str) -> bool:
    """Whether a word is a requirement of a package from the registry."""
    if token.startswith("-") or "{" in token or "$" in token or "/" in token:
        return False
    return bool(package_name(token)) and package_name(token) not in (
        *("pip", "setuptools", "wheel", "tox", "nox", "build", "twine", "coveralls", "codecov"),
        *("uv", "poetry", "pdm", "hatch"),
    )


def _ci_texts(project: Project) -> list[str]:
    names = project.matching(r"\.github/workflows/[^/]+\.ya?ml")[:_MAX_WORKFLOWS]
    names += [
        name
        for name in (".gitlab-ci.yml", ".travis.yml", "Makefile", "justfile", "Justfile", "tox.ini")
        if project.has(name)
    ]
    texts = [project.text(name) for name in names]
    return [text for text in texts if re.search(r"pytest|unittest|run.*\btest", text)]


def _hatch(project: Project, pyproject: dict[str, Any]) -> Said:
    environments = table(pyproject, "tool", "hatch", "envs") or table(
        project.toml("hatch.toml"), "envs"
    )
    lines: list[str] = []
    needs = Needs()
    for name in ("hatch-test", "test", "tests", "testing", "default"):
        environment = table(environments, name)
        listed = words(environment.get("dependencies")) + words(
            environment.get("extra-dependencies")
        )
        scripts = table(environment, "scripts")
        mine = [
            _without_places(line)
            for key in scripts
            for line in words(scripts[key])
            if "pytest" in line or "unittest" in line
        ]
        if mine or name != "default" or any(package_name(item) == "pytest" for item in listed):
            asked = requirements(project, listed)
            own = Needs(
                groups=unique(words(environment.get("dependency-groups"))),
                extras=unique(words(environment.get("features"))),
            )
            needs = both(needs, both(asked, own))
        lines += mine
    return Said(lines, needs)


def _tox(project: Project, pyproject: dict[str, Any]) -> Said:
    modern = table(pyproject, "tool", "tox") or project.toml("tox.toml")
    if table(modern, "env_run_base"):
        return _modern_tox(project, modern)
    sections = project.ini("tox.ini")
    if "testenv" not in sections:
        sections = project.ini("setup.cfg")
    lines: list[str] = []
    needs = Needs()
    for name in _ENVIRONMENTS:
        section = sections.get(f"testenv:{name}" if name else "testenv", {})
        tokens: list[str] = []
        for line in section.get("deps", "").splitlines():
            bare = line.partition(" #")[0].strip()
            if not re.match(r"[\w,.!{}-]+\s*:\s*", bare):
                tokens += split_line(bare) if bare.startswith("-") else [bare.replace(" ", "")]
        asked = requirements(project, [token.replace("{toxinidir}/", "") for token in tokens])
        own = Needs(
            groups=_plain_names(section.get("dependency_groups", "")),
            extras=_plain_names(section.get("extras", "")),
        )
        needs = both(needs, both(asked, own))
        joined = section.get("commands", "").replace("\\\n", " ")
        lines += [_without_places(line) for line in joined.splitlines() if line.strip()]
    return Said(lines, needs)


def _modern_tox(project: Project, modern: dict[str, Any]) -> Said:
    base = table(modern, "env_run_base")
    asked = requirements(project, [word for item in words(base.get("deps")) for word in [item]])
    own = Needs(
        groups=unique(words(base.get("dependency_groups"))),
        extras=unique(words(base.get("extras"))),
    )
    commands = base.get("commands")
    lines = [" ".join(words(item)) for item in commands] if isinstance(commands, list) else []
    return Said([_without_places(line) for line in lines], both(asked, own))


def _plain_names(text: str) -> tuple[str, ...]:
    """Names in a setting of tox, without those that hang on a factor."""
    bare = [line for line in text.splitlines() if ":" not in line]
    return unique(
        name
        for line in bare
        for name in re.split(r"[,\s]+", line)
        if re.fullmatch(r"[\w.-]+", name)
    )


def _without_places(line: str) -> str:
    """A line without the places that its tool fills in: their defaults, or nothing."""
    line = re.sub(r"\{(?:posargs|args)(?::([^{}]*))?\}", lambda match: match[1] or "", line)
    line = re.sub(r"\{(?:envpython|env_python)\}", "python", line)
    return re.sub(r"\{(?:toxinidir|tox_root|root)\}/?", "", line).strip()


def _nox(project: Project) -> Said:
    tree = project.code("noxfile.py")
    lines: list[str] = []
    needs = Needs()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef) or not function.decorator_list:
            continue
        if not re.search(r"test|unit", function.name) or re.search(r"doc|lint|mypy", function.name):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                line, asked = _nox_call(project, node.func.attr, node)
                lines += [line] if line else []
                needs = both(needs, asked)
    return Said(lines, needs)


def _nox_call(project: Project, verb: str, call: ast.Call) -> tuple[str, Needs]:
    constants = [
        argument.value
        for argument in call.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]
    match verb:
        case "run":
            return quoted(constants), Needs()
        case "install":
            return "", requirements(project, constants)
        case "dependency_groups":
            return "", Needs(groups=unique(constants))
    return "", Needs()


def _tasks(project: Project, pyproject: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    for path in (("poe", "tasks"), ("pdm", "scripts"), ("taskipy", "tasks")):
        tasks = table(pyproject, "tool", *path)
        for name in _TASKS:
            task = tasks.get(name)
            lines += words(task.get("cmd") if isinstance(task, dict) else task)
    makefile = Makefile(project)
    for name in _TASKS:
        lines += [re.sub(r"\$[({]PYTEST[)}]", "pytest", line) for line in makefile.lines(name)]
    return [line for line in lines if re.search(r"py\.?test|unittest", line)]
