"""What must be installed before a Python project's tests run, by what the project declares. Pure.

A project says so in many places: groups, extras, requirement files, tox, nox, hatch. Sources that
are named for tests come first; others count if they hold the runner.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from windlass.core.gate.proposals_project import Project, table, unique, words
from windlass.core.gate.proposals_python_tests import PythonTests

_RANKS = ("test", "tests", "testing", "unittest", "pytest", "ci", "dev", "develop", "development")
NOT_TESTS = re.compile(
    r"doc|lint|mypy|typing|types|bench|release|publish|format|style", re.IGNORECASE
)
_KNOWN_IMPORTS = {
    "hypothesis": "hypothesis",
    "mock": "mock",
    "freezegun": "freezegun",
    "time_machine": "time-machine",
    "responses": "responses",
    "respx": "respx",
    "parameterized": "parameterized",
    "pretend": "pretend",
    "numpy": "numpy",
    "pandas": "pandas",
    "yaml": "pyyaml",
    "dateutil": "python-dateutil",
    "pytz": "pytz",
    "requests": "requests",
    "requests_mock": "requests-mock",
    "attr": "attrs",
    "trio": "trio",
    "anyio": "anyio",
    "trustme": "trustme",
    "faker": "faker",
    "pexpect": "pexpect",
    "psutil": "psutil",
    "ddt": "ddt",
    "testfixtures": "testfixtures",
    "testpath": "testpath",
    "pyfakefs": "pyfakefs",
    "syrupy": "syrupy",
    "inline_snapshot": "inline-snapshot",
    "dirty_equals": "dirty-equals",
    "uvicorn": "uvicorn",
    "cryptography": "cryptography",
    "chardet": "chardet",
    "flask": "flask",
    "aiohttp": "aiohttp",
    "httpx": "httpx",
    "pydantic": "pydantic",
    "docutils": "docutils",
    "coverage": "coverage",
    "bs4": "beautifulsoup4",
    "lxml": "lxml",
    "PIL": "pillow",
    "pytest_asyncio": "pytest-asyncio",
    "pytest_mock": "pytest-mock",
}
"""Modules that tests import, and the packages that have them."""
_KNOWN_OPTIONS = (
    (r"--cov\b|--no-cov\b", "pytest-cov"),
    (r"(?:^|\s)-n[ =]?(?:auto|logical|\d)|--dist\b|--numprocesses", "pytest-xdist"),
    (r"--benchmark-", "pytest-benchmark"),
    (r"--timeout\b", "pytest-timeout"),
    (r"--mypy-", "pytest-mypy-plugins"),
    (r"--randomly-|-p no:randomly", "pytest-randomly"),
    (r"--doctest-plus", "pytest-doctestplus"),
    (r"--reruns\b", "pytest-rerunfailures"),
    (r"--strict-asyncio|asyncio_mode", "pytest-asyncio"),
)
_KNOWN_USES = (
    (r"\bpytest\.mark\.asyncio\b", "pytest-asyncio"),
    (r"\bdef test\w*\([^)]{0,300}\bmocker\b", "pytest-mock"),
    (r"\bdef test\w*\([^)]{0,300}\bbenchmark\b", "pytest-benchmark"),
    (r"\bpytest\.mark\.timeout\b", "pytest-timeout"),
    (r"\bpytest\.mark\.anyio\b", "anyio"),
)


class Source(NamedTuple):
    """A place that lists packages."""

    kind: str
    """`group`, `extra` or `file`."""
    name: str
    packages: frozenset[str]


class Needs(NamedTuple):
    """What is installed beside the project itself."""

    groups: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    why: tuple[str, ...] = ()


def package_name(requirement: str) -> str:
    """The normal form of the package that a requirement names, or nothing."""
    match = re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", requirement)
    return re.sub(r"[-_.]+", "-", match[1]).lower() if match else ""


def names_of(requirements: Iterable[str]) -> frozenset[str]:
    """The packages that some requirements name."""
    return frozenset(package_name(item) for item in requirements) - {""}


def sources(project: Project, pyproject: dict[str, Any]) -> list[Source]:
    """Every place of a project that lists packages by a name."""
    groups = table(pyproject, "dependency-groups")
    found = [Source("group", name, names_of(_group(groups, name))) for name in groups]
    pdm = table(pyproject, "tool", "pdm", "dev-dependencies")
    found += [Source("group", name, names_of(words(pdm[name]))) for name in pdm]
    poetry = table(pyproject, "tool", "poetry", "group")
    found += [
        Source("group", name, names_of(table(poetry, name, "dependencies"))) for name in poetry
    ]
    old = table(pyproject, "tool", "poetry", "dev-dependencies")
    found += [Source("group", "dev", names_of(old))] if old else []
    uv = words(table(pyproject, "tool", "uv").get("dev-dependencies"))
    if uv:
        found.append(Source("group", "dev", names_of(uv)))
    extras = dict(table(pyproject, "project", "optional-dependencies"))
    extras.update(table(pyproject, "tool", "poetry", "extras"))
    extras.update(_setup_extras(project))
    found += [Source("extra", name, _extra(project, extras, name)) for name in extras]
    found += [
        Source("file", name, names_of(_requirements(project, name)))
        for name in project.matching(
            r"(?:(?:requirements|tests?|dev|requires)/)?[^/]*(?:require|pip)[^/]*\.(?:txt|pip|in)"
            r"|requirements/[^/]*\.(?:txt|pip|in)"
        )
        if not (name.endswith(".in") and project.has(f"{name.removesuffix('.in')}.txt"))
        and name != "MANIFEST.in"
    ]
    return found


def choose(found: list[Source], *, runner: str) -> list[Source]:
    """The sources that are there for tests, and one that has the runner if they lack it."""
    chosen = [source for source in found if _rank(source) < 4 and source.packages]
    chosen = _without_doubles(chosen)
    if runner != "pytest" or any(_has_pytest(source.packages) for source in chosen):
        return chosen
    others = [source for source in found if source not in chosen and _has_pytest(source.packages)]
    return chosen + sorted(others, key=_rank)[:1]


def from_sources(chosen: Iterable[Source]) -> Needs:
    """The needs that some sources amount to."""
    chosen = list(chosen)
    return Needs(
        groups=unique(source.name for source in chosen if source.kind == "group"),
        extras=unique(source.name for source in chosen if source.kind == "extra"),
        files=unique(source.name for source in chosen if source.kind == "file"),
        why=tuple(f"the tests' packages are in {_where(source)}" for source in chosen),
    )


def has_pytest(needs: Needs, found: Iterable[Source]) -> bool:
    """Whether what is needed brings pytest."""
    listed = [source for source in found if source.name in getattr(needs, f"{source.kind}s")]
    return _has_pytest(names_of(needs.packages)) or any(
        _has_pytest(source.packages) for source in listed
    )


def missing(
    tests: PythonTests, found: list[Source], needs: Needs, *, declared: frozenset[str]
) -> Needs:
    """What tests use though nothing that was chosen brings it.

    Extras by their packages, and well-known packages. Others are not guessed: a name in a test may
    be anybody's package.
    """
    listed = [source for source in found if source.name in getattr(needs, f"{source.kind}s")]
    there = declared | names_of(needs.packages)
    there = there.union(*(source.packages for source in listed))
    modules = unique(re.findall(r"^[ \t]*(?:import|from)[ \t]+(\w+)", tests.sources, re.MULTILINE))
    wanted = {
        _KNOWN_IMPORTS.get(module, package_name(module))
        for module in modules
        if module not in sys.stdlib_module_names
    } - there
    extras = unique(
        source.name
        for source in found
        if source.kind == "extra" and source.packages & wanted and not NOT_TESTS.search(source.name)
    )
    brought = frozenset[str]().union(*(s.packages for s in found if s.name in extras))
    known = set(_KNOWN_IMPORTS.values())
    packages = sorted((wanted & known) - brought)
    if tests.runner == "pytest":
        if not has_pytest(needs, found):
            packages.insert(0, "pytest")
        plugins = [name for pattern, name in _KNOWN_OPTIONS if re.search(pattern, tests.options)]
        plugins += [name for pattern, name in _KNOWN_USES if re.search(pattern, tests.sources)]
        packages += [name for name in unique(plugins) if name not in there | brought]
    why = [f"the tests use what is in the extra {name}" for name in extras]
    if packages:
        why.append(f"the tests use {', '.join(packages)}, which no list of packages names")
    return Needs(extras=extras, packages=unique(packages), why=tuple(why))


def both(first: Needs, second: Needs) -> Needs:
    """The needs of both."""
    pairs = zip(first, second, strict=True)
    return Needs(*(unique((*one, *other)) for one, other in pairs))


def _has_pytest(packages: frozenset[str]) -> bool:
    return any(name == "pytest" or name.startswith("pytest-") for name in packages)


def _rank(source: Source) -> int:
    """How likely a source is there for tests: less is likelier."""
    stem = re.sub(r"\.(?:txt|pip|in)$", "", source.name.lower())
    parts = [part for part in re.split(r"[^a-z]+", stem) if part not in ("requirements", "")]
    if NOT_TESTS.search(source.name):
        return len(_RANKS) + 2
    if not parts:
        return len(_RANKS)
    ranks = [_RANKS.index(part) for part in parts if part in _RANKS]
    return min(ranks) if ranks else len(_RANKS) + 1


def _without_doubles(chosen: list[Source]) -> list[Source]:
    """Of sources of one name (`test` as a group, an extra and a file) the first that has pytest."""
    full = [source for source in chosen if _has_pytest(source.packages)]
    if not full:
        return chosen
    best = min(
        full, key=lambda source: (_rank(source), ("group", "extra", "file").index(source.kind))
    )
    return [
        best,
        *(source for source in chosen if source.kind == best.kind and _beside(source, best)),
    ]


def _beside(source: Source, best: Source) -> bool:
    """Whether a source of the same kind adds to the best: those with a word more are for others."""
    return source is not best and source.kind != "file" and source.name.isalpha()


def _where(source: Source) -> str:
    return source.name if source.kind == "file" else f"the {source.kind} {source.name}"


def _group(groups: Mapping[str, Any], name: str, depth: int = 0) -> list[str]:
    """A dependency group with the groups that it includes."""
    items = groups.get(name)
    if not isinstance(items, list) or depth > 8:
        return []
    listed: list[str] = []
    for item in items[:500]:
        if isinstance(item, str):
            listed.append(item)
        elif isinstance(item, dict) and isinstance(item.get("include-group"), str):
            listed += _group(groups, item["include-group"], depth + 1)
    return listed


def _extra(
    project: Project, extras: Mapping[str, Any], name: str, depth: int = 0
) -> frozenset[str]:
    """An extra's packages, with those of the project's own extras that it names."""
    listed = words(extras.get(name))
    found = set(names_of(listed))
    own = package_name(str(table(project.toml("pyproject.toml"), "project").get("name") or ""))
    for item in listed:
        inner = re.match(r"\s*[\w.-]+\s*\[([^\]]*)\]", item)
        if inner and own and package_name(item) == own and depth < 4:
            for part in inner[1].split(","):
                found |= _extra(project, extras, part.strip(), depth + 1)
    return frozenset(found)


def _setup_extras(project: Project) -> dict[str, list[str]]:
    """The extras in setup.cfg and, where they are written out, in setup.py."""
    section = project.ini("setup.cfg").get("options.extras_require", {})
    found = {name: value.splitlines() for name, value in section.items()}
    value = literals(project, "setup.py").get("extras_require")
    if isinstance(value, dict):
        found |= {str(name): words(items) for name, items in value.items()}
    return found


def literals(project: Project, path: str) -> dict[str, Any]:
    """The literal values that a Python file gives to names, and to arguments of `setup`."""
    tree = project.code(path)
    found: dict[str, Any] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    _keep(found, target.id, node.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg is None:
                    continue
                if isinstance(keyword.value, ast.Name) and keyword.value.id in found:
                    found[keyword.arg] = found[keyword.value.id]
                else:
                    _keep(found, keyword.arg, keyword.value)
    return found


def _keep(found: dict[str, Any], name: str, value: ast.expr) -> None:
    if isinstance(value, ast.Dict):
        kept: dict[str, Any] = {}
        for key, item in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                if isinstance(item, ast.Name) and item.id in found:
                    kept[key.value] = found[item.id]
                else:
                    _keep(kept, key.value, item)
        found[name] = kept
        return
    try:
        found[name] = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return
    if isinstance(found[name], tuple):
        found[name] = list(found[name])


def _requirements(project: Project, path: str, depth: int = 0) -> list[str]:
    """The requirements in a file, with those of the files that it names."""
    listed: list[str] = []
    for line in project.text(path).splitlines()[:2000]:
        include = re.match(r"\s*(?:-r|--requirement)[ =]*(\S+)", line)
        if include and depth < 4:
            listed += _requirements(project, beside(path, include[1]), depth + 1)
        elif not line.lstrip().startswith(("#", "-")):
            listed.append(line)
    return listed


def beside(path: str, other: str) -> str:
    """A path as it is written in a file, from the top of the project."""
    parts = path.split("/")[:-1]
    for part in other.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in (".", ".."):
            parts.append(part)
    return "/".join(parts)
