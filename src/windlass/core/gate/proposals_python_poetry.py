"""The groups of a poetry project as requirements that pip understands. Pure.

For who does not have poetry: its lock file pins what is named here, not what that brings along.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from windlass.core.gate.proposals_project import Project, table, text_of, unique, words
from windlass.core.gate.proposals_python_needs import package_name


def requirements(
    project: Project, pyproject: dict[str, Any], groups: Iterable[str]
) -> tuple[str, ...]:
    """What some groups of a project ask for, pinned where the lock file has one version of it.

    The group without a name is what the project itself depends on.
    """
    poetry = table(pyproject, "tool", "poetry")
    pins = _pins(project)
    found: list[str] = []
    for group in groups:
        listed = dict(table(poetry, "group", group, "dependencies") if group else {})
        if not group:
            listed |= table(poetry, "dependencies")
        if group == "dev":
            listed |= table(poetry, "dev-dependencies")
        for name, wanted in listed.items():
            found += [_requirement(name, item, pins) for item in _each(wanted)]
    return unique(found)


def _each(wanted: Any) -> list[dict[str, Any]]:
    """The constraints on one package, each as a table."""
    if isinstance(wanted, str):
        return [{"version": wanted}]
    listed = wanted if isinstance(wanted, list) else [wanted]
    return [item for item in listed if isinstance(item, dict)][:10]


def _requirement(name: str, wanted: dict[str, Any], pins: dict[str, str]) -> str:
    normal = package_name(name)
    if not normal or name == "python" or {"path", "git", "url"} & set(wanted):
        return ""
    extras = [item for item in words(wanted.get("extras")) if re.fullmatch(r"[\w.-]+", item)]
    version = f"=={pins[normal]}" if normal in pins else _range(text_of(wanted.get("version")))
    markers = [text_of(wanted.get("markers")), _python_marker(text_of(wanted.get("python")))]
    marker = " and ".join(item for item in markers if item)
    chosen = f"[{','.join(extras)}]" if extras else ""
    return f"{normal}{chosen}{version}" + (f"; {marker}" if marker else "")


def _range(constraint: str) -> str:
    """A constraint as pip writes it: `^1.2` is `>=1.2,<2`."""
    parts = [_one(part.strip()) for part in constraint.split(",")]
    if "||" in constraint or not all(
        re.fullmatch(r"(?:[<>=!~]=?[\w.*+-]+,?)*", it) for it in parts
    ):
        return ""
    return ",".join(part for part in parts if part)


def _one(part: str) -> str:
    caret = re.fullmatch(r"([\^~])\s*(\d+)(?:\.(\d+))?((?:\.\w+)*)", part)
    if caret:
        kind, major, minor = caret[1], int(caret[2]), caret[3]
        if minor is None or (kind == "^" and major):
            top = f"{major + 1}"
        else:
            top = f"{major}.{int(minor) + 1}"
        return f">={part[1:].strip()},<{top}"
    if part in ("*", ""):
        return ""
    return re.sub(r"\s+", "", part if part[:1] in "<>=!~" else f"=={part}")


def _python_marker(constraint: str) -> str:
    simple = re.fullmatch(r"\s*(<=?|>=?|==)\s*(3\.\d+)\s*", constraint)
    return f'python_version {simple[1]} "{simple[2]}"' if simple else ""


def _pins(project: Project) -> dict[str, str]:
    """The packages of the lock file that have one version there."""
    found: dict[str, set[str]] = {}
    listed = project.toml("poetry.lock").get("package")
    for item in listed[:5000] if isinstance(listed, list) else []:
        name, version = text_of(table(item).get("name")), text_of(table(item).get("version"))
        if re.fullmatch(r"[\w.+!-]+", version):
            found.setdefault(package_name(name), set()).add(version)
    return {name: next(iter(versions)) for name, versions in found.items() if len(versions) == 1}
