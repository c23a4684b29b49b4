"""How a Python project is installed for its tests: uv, poetry, pdm, pipenv or pip. Pure.

The project itself is installed editable, so that a check tests its own tree. uv and pipenv are
installed for the time of setup where the person does not have them, into a folder that is gone
afterwards; for poetry and pdm pip stands in. The checks need `.venv` alone.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from windlass.core.gate import (
    proposals_python_needs,
    proposals_python_poetry,
    proposals_python_tools,
)
from windlass.core.gate import proposals_python_tests as python_tests
from windlass.core.gate.proposals_project import (
    CheckProposal,
    GateProposal,
    Project,
    quoted,
    table,
    text_of,
    unique,
    words,
)
from windlass.core.gate.proposals_python_build import Build, examine_build
from windlass.core.gate.proposals_python_needs import Needs, Source
from windlass.core.gate.proposals_python_tests import PythonTests

MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "Pipfile", "requirements.txt")
_TOOL_FOLDER = "t=$(mktemp -d) && python3 -m venv $t && $t/bin/pip install -q"
_UV_FLAGS = {
    "--all-extras": 0,
    "--extra": 1,
    "--all-groups": 0,
    "--group": 1,
    "--all-packages": 0,
}
_POETRY_FLAGS = {"--all-extras": 0, "--extras": 1, "-E": 1, "--with": 1, "--all-groups": 0}
_RUN_BY_NAME = re.compile(r"subprocess|Popen|script_runner|pexpect|os\.system")


class _Installed(NamedTuple):
    """How the packages come into `.venv`."""

    setup: str
    inputs: tuple[str, ...]
    deps: tuple[str, ...] = (".venv",)
    versions: tuple[str, ...] = ()
    why: tuple[str, ...] = ()


def propose(project: Project) -> GateProposal | None:
    """The gate of a Python project; None if it has no tests."""
    pyproject = project.toml("pyproject.toml")
    said = proposals_python_tools.read(project, pyproject)
    tests = python_tests.find(project, pyproject, lines=said.lines)
    if tests is None:
        return None
    build = examine_build(project, pyproject)
    found = proposals_python_needs.sources(project, pyproject)
    needs = _needs(project, tests, build, found, said=said.needs)
    installed = _install(project, pyproject, tests=tests, build=build, found=found, needs=needs)
    if installed is None:
        run = f"python3 -m unittest {tests.arguments}".strip()
        return GateProposal(
            versions=_python_version(project),
            checks=(CheckProposal(name="unittest", run=run),),
            why=(tests.why, "nothing needs to be installed for them"),
        )
    return GateProposal(
        setup=build.environment + installed.setup,
        deps=unique((*installed.deps, *build.made)),
        inputs=unique((*installed.inputs, *build.inputs)),
        versions=unique((*_python_version(project), *installed.versions)),
        checks=tuple(_checks(tests, build)),
        why=unique((tests.why, *installed.why, *needs.why, *build.why)),
    )


def _needs(
    project: Project, tests: PythonTests, build: Build, found: list[Source], *, said: Needs
) -> Needs:
    """What the project declares, what its tools add, and what its tests use beside that."""
    chosen = proposals_python_needs.choose(found, runner=tests.runner)
    needs = proposals_python_needs.from_sources(chosen)
    declared = proposals_python_needs.has_pytest(needs, found)
    if tests.runner == "pytest" and not declared and not said.packages:
        needs = proposals_python_needs.both(needs, proposals_python_tools.installs(project))
    more = said._replace(packages=()) if declared else said
    groups = {source.name for source in found if source.kind == "group"}
    extras = {source.name for source in found if source.kind == "extra"}
    needs = proposals_python_needs.both(needs, more)
    needs = needs._replace(
        groups=tuple(name for name in needs.groups if name in groups),
        extras=tuple(name for name in needs.extras if name in extras),
    )
    rest = proposals_python_needs.missing(
        tests, found, needs, declared=build.dependencies | {build.name, *build.modules}
    )
    return proposals_python_needs.both(needs, rest)


def _install(
    project: Project,
    pyproject: dict[str, Any],
    *,
    tests: PythonTests,
    build: Build,
    found: list[Source],
    needs: Needs,
) -> _Installed | None:
    if project.has("uv.lock") or table(pyproject, "tool", "uv", "sources"):
        return _uv(project, pyproject, found, needs)
    poetry = table(pyproject, "tool", "poetry")
    if poetry and (
        project.has("poetry.lock")
        or {"group", "dev-dependencies"} & set(poetry)
        or "project" not in pyproject
    ):
        if project.program("poetry"):
            return _poetry(project, pyproject, needs)
        return _poetry_by_pip(project, pyproject, tests=tests, build=build, needs=needs)
    if project.has("pdm.lock") or table(pyproject, "tool", "pdm", "dev-dependencies"):
        if project.program("pdm"):
            return _pdm(project, pyproject, needs)
        return _pip(project, tests, build, _without_pdm(pyproject, needs))
    if project.has("Pipfile") and not build.installable:
        return _pipenv(project, needs)
    return _pip(project, tests, build, needs)


def _uv(
    project: Project, pyproject: dict[str, Any], found: list[Source], needs: Needs
) -> _Installed:
    locked = project.has("uv.lock")
    flags = ["--frozen"] if locked else []
    if table(pyproject, "tool", "uv", "workspace"):
        flags.append("--all-packages")
    theirs = proposals_python_tools.flags(project, "uv (?:sync|run)", known=_UV_FLAGS)
    theirs = _existing(theirs, found)
    standard = words(table(pyproject, "tool", "uv").get("default-groups")) or ["dev"]
    flags += [word for name in needs.extras for word in ("--extra", name)]
    groups = [name for name in needs.groups if name not in standard]
    flags += [word for name in groups for word in ("--group", name)]
    flags = _merged(flags, theirs)
    uv, before, versions = _manager(project, "uv")
    environment = 'UV_PYTHON_INSTALL_DIR="$PWD/.uv-python"'
    line = f"{environment} {uv} sync {quoted(flags)}".rstrip()
    setup = before + line
    if project.has(".python-version"):
        wanted = text_of(table(pyproject, "project").get("requires-python")) or ">=3.9"
        setup = f"{before}{{ {line} || {line} --python {quoted([wanted])}; }}"
    listed = [f"-r {quoted([name])}" for name in needs.files] + [quoted(needs.packages)]
    more = " ".join(item for item in listed if item)
    if more:
        setup += f" && {uv} pip install {more}"
    return _Installed(
        setup=setup,
        deps=(".venv", ".uv-python"),
        inputs=unique(("pyproject.toml", "uv.lock" if locked else "", *needs.files)),
        versions=versions,
        why=("uv.lock: uv installs" if locked else "[tool.uv.sources]: uv installs",),
    )


def _existing(flags: list[str], found: list[Source]) -> list[str]:
    """Options without those that name a group or an extra that is not there."""
    names = {
        (f"--{source.kind}", source.name)
        for source in found
        if not proposals_python_needs.NOT_TESTS.search(source.name)
    }
    kept: list[str] = []
    queue = list(flags)
    while queue:
        flag = queue.pop(0)
        if flag not in ("--group", "--extra"):
            kept.append(flag)
            continue
        name = queue.pop(0) if queue else ""
        kept += [flag, name] if (flag, name) in names else []
    return kept


def _merged(flags: list[str], more: list[str]) -> list[str]:
    """Options of both, each once, with their values."""
    options: list[str] = []
    for word in [*flags, *more]:
        if word.startswith("-"):
            options.append(word)
        else:
            options[-1] += f" {word}"
    for everything, each in (("--all-extras", "--extra"), ("--all-groups", "--group")):
        if everything in options:
            options = [option for option in options if not option.startswith(f"{each} ")]
    return [word for option in unique(options) for word in option.split()]


def _poetry(project: Project, pyproject: dict[str, Any], needs: Needs) -> _Installed:
    groups = table(pyproject, "tool", "poetry", "group")
    optional = [
        name
        for name in groups
        if table(groups, name).get("optional") is True and re.search("test|dev", name)
    ]
    flags = [word for name in optional for word in ("--with", name)]
    flags += [word for name in needs.extras for word in ("--extras", name)]
    theirs = proposals_python_tools.flags(project, "poetry install", known=_POETRY_FLAGS)
    flags = _merged(flags, theirs)
    environment = "POETRY_VIRTUALENVS_IN_PROJECT=true POETRY_VIRTUALENVS_CREATE=true"
    setup = f"{environment} poetry install --no-interaction {quoted(flags)}".rstrip()
    if needs.packages:
        setup += f" && .venv/bin/python -m pip install {quoted(needs.packages)}"
    return _Installed(
        setup=setup,
        inputs=unique(
            ("pyproject.toml", project.first("poetry.lock"), project.first("poetry.toml"))
        ),
        versions=("poetry --version",),
        why=("[tool.poetry] in pyproject.toml: poetry installs",),
    )


def _poetry_by_pip(
    project: Project,
    pyproject: dict[str, Any],
    *,
    tests: PythonTests,
    build: Build,
    needs: Needs,
) -> _Installed | None:
    """A poetry project for who does not have poetry: pip builds it by the same build system."""
    poetry = table(pyproject, "tool", "poetry")
    packaged = build.installable and poetry.get("package-mode") is not False
    groups = needs.groups if packaged else ("", *needs.groups)
    packages = proposals_python_poetry.requirements(project, pyproject, groups)
    plain = needs._replace(groups=(), packages=unique((*packages, *needs.packages)))
    installed = _pip(project, tests, build._replace(installable=packaged), plain)
    if installed is None:
        return None
    why = "[tool.poetry] in pyproject.toml, but poetry is not on the PATH: pip installs"
    lock = project.first("poetry.lock")
    return installed._replace(
        inputs=unique(("pyproject.toml", lock)),
        why=(why, "poetry.lock pins the tests' own packages alone" if lock else ""),
    )


def _pdm(project: Project, pyproject: dict[str, Any], needs: Needs) -> _Installed:
    flags = ["--frozen-lockfile"] if project.has("pdm.lock") else []
    development = {
        *table(pyproject, "tool", "pdm", "dev-dependencies"),
        *table(pyproject, "dependency-groups"),
    }
    chosen = [name for name in (*needs.groups, *needs.extras) if name not in development]
    flags += [word for name in chosen for word in ("-G", name)]
    return _Installed(
        setup="python3 -m venv .venv && export PDM_CHECK_UPDATE=0 && pdm use -f .venv"
        f" && pdm install {quoted(flags)}".rstrip(),
        inputs=unique(("pyproject.toml", project.first("pdm.lock"))),
        versions=("pdm --version",),
        why=("pdm.lock or [tool.pdm] in pyproject.toml: pdm installs",),
    )


def _without_pdm(pyproject: dict[str, Any], needs: Needs) -> Needs:
    """The needs of a pdm project for who does not have pdm: its own groups, written out."""
    own = table(pyproject, "tool", "pdm", "dev-dependencies")
    listed = [item for name in needs.groups for item in words(own.get(name))]
    return needs._replace(
        groups=tuple(name for name in needs.groups if name not in own),
        packages=unique((*(item for item in listed if not item.startswith("-")), *needs.packages)),
        why=(*needs.why, "pdm is not on the PATH, so that its lock file is not followed"),
    )


def _pipenv(project: Project, needs: Needs) -> _Installed:
    pipenv, before, versions = _manager(project, "pipenv")
    verb = "sync --dev" if project.has("Pipfile.lock") else "install --dev --skip-lock"
    setup = f"{before}PIPENV_VENV_IN_PROJECT=1 {pipenv} {verb}"
    if "pytest" in needs.packages and "pytest" not in project.text("Pipfile"):
        setup += " && .venv/bin/python -m pip install pytest"
    return _Installed(
        setup=setup,
        inputs=unique(("Pipfile", project.first("Pipfile.lock"))),
        versions=versions,
        why=("Pipfile: pipenv installs",),
    )


def _pip(project: Project, tests: PythonTests, build: Build, needs: Needs) -> _Installed | None:
    files = list(needs.files)
    plain = project.first("requirements.txt", "requirements/base.txt", "requirements.in")
    if not build.installable and plain and plain not in files:
        files.insert(0, plain)
    packages = [*needs.packages]
    arguments: list[str] = []
    itself = any(
        re.search(r"^[ \t]*-e[ \t]*\.", project.text(name), re.MULTILINE) for name in files
    )
    if build.installable and not (itself and not needs.extras):
        extras = f"[{','.join(needs.extras)}]" if needs.extras else ""
        arguments += [*build.pip_options, "-e", f".{extras}"]
    elif not build.installable:
        listed = table(project.toml("pyproject.toml"), "project", "optional-dependencies")
        extras_of = [item for name in needs.extras for item in words(listed.get(name))]
        packages = [*unique((*build.requirements, *extras_of)), *packages]
    arguments += [word for name in needs.groups for word in ("--group", name)]
    arguments += [word for name in files for word in ("-r", name)]
    arguments += packages
    if not arguments and tests.runner == "unittest":
        return None
    upgrade = ".venv/bin/pip install -q -U pip && " if needs.groups else ""
    make = "python3 -m venv .venv"
    if project.has(".python-version"):
        # pyenv refuses to run where a version is named that it does not have.
        default = "\"$(cd / && python3 -c 'import sys; print(sys.executable)')\""
        make = f"{{ python3 -m venv .venv || {default} -m venv .venv; }}"
    install = f".venv/bin/pip install {quoted(arguments)}" if arguments else "true"
    metadata = ("pyproject.toml", "setup.py", "setup.cfg")
    return _Installed(
        setup=f"{make} && {upgrade}{install}",
        inputs=unique(
            (*(name for name in metadata if project.has(name)), *_included(project, files))
        ),
        why=(f"{build.why_installable}: pip installs",),
    )


def _included(project: Project, files: list[str]) -> list[str]:
    """Requirement files with the files that they name."""
    found = list(files)
    for name in found:
        for other in re.findall(r"^[ \t]*-[rc][ \t]*(\S+)", project.text(name), re.MULTILINE)[:20]:
            path = proposals_python_needs.beside(name, other)
            if project.has(path) and path not in found and len(found) < 40:
                found.append(path)
    return found


def _manager(project: Project, name: str) -> tuple[str, str, tuple[str, ...]]:
    """How a manager is called, what must be done before, and what prints its version."""
    if project.program(name):
        return name, "", (f"{name} --version",)
    return f"$t/bin/{name}", f"{_TOOL_FOLDER} {name} && ", ()


def _python_version(project: Project) -> tuple[str, ...]:
    if project.has(".python-version"):
        return ("python3 --version || (cd / && python3 --version)",)
    return ("python3 --version",)


def _checks(tests: PythonTests, build: Build) -> list[CheckProposal]:
    path = ""
    if build.scripts and _RUN_BY_NAME.search(tests.sources):
        path = 'PATH="$PWD/.venv/bin:$PATH" '
    python = f"{path}.venv/bin/python"
    match tests.runner:
        case "django":
            return [CheckProposal(name="django", run=f"{python} manage.py test --noinput")]
        case "unittest":
            run = f"{python} -m unittest {tests.arguments}".rstrip()
            return [CheckProposal(name="unittest", run=run)]
    run = f"{python} -m pytest --junit-xml={python_tests.JUNIT} {tests.arguments}".rstrip()
    return [CheckProposal(name="pytest", run=run, junit=python_tests.JUNIT)]
