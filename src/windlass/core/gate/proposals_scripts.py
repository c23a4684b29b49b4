"""Tests of a Makefile, autotools or a script, where no language's own rules found any. Pure."""

from __future__ import annotations

import re
from typing import Literal

from windlass.core.gate.proposals_makefile import Makefile
from windlass.core.gate.proposals_project import (
    CheckProposal,
    GateProposal,
    Project,
    is_counted,
    quoted,
    unique,
)

_TARGETS = ("test", "check", "tests", "unittest", "unit-test", "test-unit", "unit")
_SETUPS = ("setup", "deps", "bootstrap", "install-deps", "dev-deps", "venv", "init", "develop")
_MADE = (".venv", "venv/", "env/", "node_modules", "vendor/bundle", "vendor")
_SCRIPTS = (
    *("script/test", "scripts/test", "bin/test", "dev/test", "tools/test", "test", "run-tests"),
    *("run_tests", "runtests", "tests/run", "test/run", "tests/test", "test/test", "check"),
)
_LINTERS = re.compile(
    r"\b(?:ruff|flake8|pylint|mypy|black|isort|shellcheck|eslint|clang-format|yamllint|pre-commit)\b"
)


def propose(project: Project) -> GateProposal | None:
    """The gate of a project that says itself how it is tested."""
    return _make(project) or _autotools(project) or _script(project)


def _make(project: Project) -> GateProposal | None:
    makefile = Makefile(project)
    target = next((name for name in _TARGETS if _tests(makefile, name)), "")
    if not target:
        return None
    lines = "\n".join(makefile.lines(target))
    needs = set(makefile.needs[target])
    setup = next((name for name in _SETUPS if name in makefile.recipes and name not in needs), "")
    named = [path for path in _MADE if re.search(rf"(?<![\w./-]){re.escape(path)}", makefile.text)]
    made = unique(path.rstrip("/") for path in named if not project.has_folder(path))
    if not made:
        setup = ""
    known = is_counted(lines)
    return GateProposal(
        setup=f"make {setup}" if setup else "",
        deps=tuple(made) if setup else (),
        inputs=unique(
            (makefile.name, *project.matching(r"[^/]*require[^/]*\.txt|package-lock\.json"))
        )
        if setup
        else (),
        versions=("make --version",),
        checks=(CheckProposal(name=target, run=f"make {target}", tests=_count(known)),),
        why=unique((f"the target {target} in {makefile.name}", _unknown(known))),
    )


def _tests(makefile: Makefile, target: str) -> bool:
    """Whether a target runs anything but linters."""
    lines = [line for line in makefile.lines(target) if line and not line.startswith("echo ")]
    return any(not _LINTERS.search(line) for line in lines)


def _autotools(project: Project) -> GateProposal | None:
    if not project.first("configure.ac", "configure.in", "configure"):
        return None
    text = "\n".join(
        project.text(name) for name in project.matching(r"(?:.*/)?Makefile\.(?:am|in)")[:40]
    )
    target = "check" if re.search(r"^(?:check|TESTS|check_PROGRAMS)\b", text, re.MULTILINE) else ""
    if not target and re.search(r"^test[ \t]*:", text, re.MULTILINE):
        target = "test"
    if not target:
        return None
    before = "" if project.has("configure") else "autoreconf -fi && "
    return GateProposal(
        versions=("cc --version", "make --version"),
        checks=(
            CheckProposal(
                name=target,
                run=f"{before}sh ./configure && make -j 2 && make {target}",
                tests="none",
            ),
        ),
        why=("configure and a Makefile with tests", _unknown(known=False)),
    )


def _script(project: Project) -> GateProposal | None:
    for stem in _SCRIPTS:
        path = project.first(stem, f"{stem}.sh", f"{stem}.bash")
        text = project.text(path) if path else ""
        first = text.partition("\n")[0]
        if not path or (not first.startswith("#!") and path == stem):
            continue
        shell = "bash" if "bash" in first else "sh"
        if first.startswith("#!") and not re.search(r"\b(?:ba|da|k|z)?sh\b", first):
            shell = (
                re.sub(r"^.*[/ ]([\w.]+)\s*$", r"\1", first) if re.search(r"[\w.]$", first) else ""
            )
        if not re.fullmatch(r"[\w.]+", shell):
            continue
        known = is_counted(text)
        return GateProposal(
            checks=(
                CheckProposal(name="test", run=f"{shell} {quoted([path])}", tests=_count(known)),
            ),
            why=unique((f"the script {path}", _unknown(known))),
        )
    return None


def _count(known: bool) -> Literal["some", "none"]:
    return "some" if known else "none"


def _unknown(known: bool) -> str:
    return "" if known else "its runner does not count tests in a known way: the exit code decides"
