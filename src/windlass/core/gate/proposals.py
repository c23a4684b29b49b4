"""The gate that is proposed for a project that has none: what `wl init` found. Pure.

Each kind of project has its rules in a module of its own (`proposals_python`, `proposals_node`,
...). Here they are asked in turn, at the top of the project and, if nothing is there, in its
folders; what several of them answer becomes one gate.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from windlass.core.gate import (
    proposals_compiled,
    proposals_node,
    proposals_python,
    proposals_scripts,
)
from windlass.core.gate.proposals_project import (
    CheckProposal,
    GateProposal,
    Project,
    ProjectFiles,
    is_aside,
    quoted,
    unique,
)

__all__ = ["CheckProposal", "Findings", "GateProposal", "ProjectFiles", "examine", "propose"]

_Rules = Callable[[Project], GateProposal | None]
_MANIFEST = (
    r"(.+)/(?:pyproject\.toml|setup\.py|package\.json|Cargo\.toml|go\.mod|pom\.xml|gradlew"
    r"|Gemfile|composer\.json)"
)
_MAX_PARTS = 4
"""Folders of a project that has nothing at its top which get checks of their own."""


class Findings(NamedTuple):
    """The gate that was found, or None; and why."""

    proposal: GateProposal | None
    why: tuple[str, ...]


def propose(files: ProjectFiles) -> GateProposal | None:
    """The gate of a project; None if no tests were found, and `examine` says why."""
    return examine(files).proposal


def examine(files: ProjectFiles) -> Findings:
    """The gate of a project with one sentence for each decision, or why there is none."""
    top = Project(files)
    parts = _parts(top)
    for folder in [] if parts else _folders(top):
        found = _parts(top.below(folder))
        parts += [_inside(part, folder) for part in found]
        if len(parts) >= _MAX_PARTS:
            break
    if not parts:
        loose = proposals_python.propose(top)
        parts = [] if loose is None else [loose]
    if not parts:
        return Findings(None, unique((_missing(top), *top.skipped)))
    proposal = _joined(parts)
    why = unique((*proposal.why, *top.skipped))
    include = _include(files, top)
    return Findings(
        GateProposal(
            setup=proposal.setup,
            deps=tuple(path for path in proposal.deps if not top.has(path)),
            inputs=tuple(path for path in proposal.inputs if "*" in path or top.has(path)),
            versions=proposal.versions,
            checks=proposal.checks,
            include=include,
            why=why,
        ),
        why,
    )


def _parts(project: Project) -> list[GateProposal]:
    """What the rules of each language find in a folder; scripts only where none does."""
    rules: list[tuple[tuple[str, ...], _Rules]] = [
        (proposals_python.MANIFESTS, proposals_python.propose),
        (("package.json",), proposals_node.propose),
        *proposals_compiled.RULES,
    ]
    found = [
        part
        for manifests, rule in rules
        if project.first(*manifests) and (part := rule(project)) is not None
    ]
    if project.first("Cargo.toml") and "maturin" in project.text("pyproject.toml"):
        # A crate that is a Python module has no Python to link with in `cargo test`.
        found = [part for part in found if not part.checks[0].name.startswith("cargo")] or found
    if found:
        return found
    part = proposals_scripts.propose(project)
    return [] if part is None else [part]


def _folders(project: Project) -> list[str]:
    """The folders with a manifest, the highest first; not those inside of one already listed."""
    folders = unique(
        match[1]
        for name in project.names
        if (match := re.fullmatch(_MANIFEST, name)) and not is_aside(name) and name.count("/") < 4
    )
    chosen: list[str] = []
    for folder in sorted(folders, key=lambda name: (name.count("/"), name)):
        if not any(folder.startswith(f"{above}/") for above in chosen):
            chosen.append(folder)
    return chosen[:40]


def _inside(part: GateProposal, folder: str) -> GateProposal:
    """A part as it is said from the top of the project."""
    place = quoted([folder])
    return GateProposal(
        setup=f"(cd {place} && {part.setup})" if part.setup else "",
        deps=tuple(f"{folder}/{path}" for path in part.deps),
        inputs=tuple(f"{folder}/{path}" for path in part.inputs),
        versions=part.versions,
        checks=tuple(
            CheckProposal(
                name=f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', folder)}-{check.name}",
                run=f"cd {place} && {check.run}",
                tests=check.tests,
                junit=f"{folder}/{check.junit}" if check.junit else "",
            )
            for check in part.checks
        ),
        why=tuple(f"{folder}: {sentence}" for sentence in part.why),
    )


def _joined(parts: list[GateProposal]) -> GateProposal:
    setups = [part.setup for part in parts if part.setup]
    return GateProposal(
        setup=setups[0] if len(setups) == 1 else " && ".join(_grouped(line) for line in setups),
        deps=unique(path for part in parts for path in part.deps),
        inputs=unique(path for part in parts for path in part.inputs),
        versions=unique(line for part in parts for line in part.versions),
        checks=_named_apart([check for part in parts for check in part.checks]),
        why=unique(sentence for part in parts for sentence in part.why),
    )


def _grouped(line: str) -> str:
    return line if line.startswith("(") else f"({line})"


def _named_apart(checks: list[CheckProposal]) -> tuple[CheckProposal, ...]:
    names: dict[str, CheckProposal] = {}
    for check in checks:
        name = check.name
        while name in names:
            name += "-2"
        names[name] = CheckProposal(name=name, run=check.run, tests=check.tests, junit=check.junit)
    return tuple(names.values())


def _include(files: ProjectFiles, top: Project) -> tuple[str, ...]:
    """The `.env` files that are there though they are not tracked."""
    candidates = (".env", ".env.local", ".env.test", ".env.test.local", ".env.development")
    return tuple(name for name in candidates if not top.has(name) and files.text(name) is not None)


def _missing(top: Project) -> str:
    if not top.names:
        return "nothing is tracked, so there are no tests"
    return (
        "no tests were found: neither those of a Python, Node, Rust, Go, Java, Ruby, PHP or CMake"
        " project, nor a Makefile with a target `test` or `check`, nor a script that is called test"
    )
