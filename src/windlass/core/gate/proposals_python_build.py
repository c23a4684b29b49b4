"""How a Python project is built: whether it can be installed, and what building leaves. Pure."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from windlass.core.gate.proposals_project import (
    Project,
    is_aside,
    quoted,
    table,
    text_of,
    unique,
    words,
)
from windlass.core.gate.proposals_python_needs import literals, names_of, package_name

_CHANGES = (
    r"(?:docs?/(?:source/|src/|en/)?)?"
    r"(?:change(?:s|[-_]?log)|(?:version)?history|news|release(?:s|[-_]?notes)|whats[-_]?new)"
    r"(?:\.\w+)?"
)
_HEADING = re.compile(
    r"^[#=*\s]*\[?(?:(?:version|release|[\w.-]{1,40})\s+)?v?(\d+\.\d+(?:\.\d+)?)(?![\w.])",
    re.IGNORECASE,
)
_SOURCES = r"(?:.*/)?[^/]+\.(?:c|cc|cpp|h|hpp|pyx|pxd|rs)"


class Build(NamedTuple):
    """What is known of a project's packaging."""

    installable: bool
    why_installable: str
    name: str = ""
    requirements: tuple[str, ...] = ()
    dependencies: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    scripts: bool = False
    pip_options: tuple[str, ...] = ()
    environment: str = ""
    made: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    why: tuple[str, ...] = ()


def examine_build(project: Project, pyproject: dict[str, Any]) -> Build:
    """What pip would find, by the files that say so."""
    metadata = table(pyproject, "project")
    setup = literals(project, "setup.py")
    config = project.ini("setup.cfg")
    requirements = words(metadata.get("dependencies"))
    declared = [
        *requirements,
        *words(setup.get("install_requires")),
        *config.get("options", {}).get("install_requires", "").splitlines(),
        *table(pyproject, "tool", "poetry", "dependencies"),
    ]
    name = text_of(metadata.get("name")) or text_of(table(pyproject, "tool", "poetry").get("name"))
    name = name or text_of(setup.get("name")) or config.get("metadata", {}).get("name", "")
    installable, why = _installable(project, pyproject)
    environment, made, reasons = _version(project, pyproject, name=name)
    built, sources = _extensions(project, pyproject)
    entry_points = "entry_points" in setup or "options.entry_points" in config
    return Build(
        installable=installable,
        why_installable=why,
        name=package_name(name),
        requirements=tuple(requirements),
        dependencies=names_of(declared),
        modules=frozenset(
            part
            for path in project.names
            if path.endswith(".py")
            for part in [path.removeprefix("src/").partition("/")[0].removesuffix(".py")]
        ),
        scripts=entry_points
        or bool(metadata.get("scripts"))
        or bool(table(pyproject, "tool", "poetry").get("scripts")),
        pip_options=() if project.has("pyproject.toml") else ("--use-pep517",),
        environment=environment,
        made=unique((*made, *built)),
        inputs=unique(sources),
        why=unique((*reasons, "it has parts that are compiled when it is installed" * bool(built))),
    )


def _installable(project: Project, pyproject: dict[str, Any]) -> tuple[bool, str]:
    if project.has("setup.py"):
        return True, "setup.py"
    if "build-system" in pyproject:
        return True, "[build-system] in pyproject.toml"
    if "project" not in pyproject:
        files = project.matching(r"(?:requirements/)?[^/]*require[^/]*\.(?:txt|in)")
        return False, files[0] if files else "no packaging"
    tops = {
        name.partition("/")[0]
        for name in project.matching(r"[A-Za-z_]\w*/__init__\.py")
        if name.partition("/")[0] not in ("tests", "test", "docs", "examples", "scripts")
    }
    setuptools = table(pyproject, "tool", "setuptools")
    named = bool(setuptools.get("py-modules") or setuptools.get("packages"))
    if project.has_folder("src") or len(tops) == 1 or named:
        return True, "[project] in pyproject.toml"
    return False, "[project] in pyproject.toml, which is no package"


def _version(
    project: Project, pyproject: dict[str, Any], *, name: str
) -> tuple[str, list[str], list[str]]:
    """What tells a version that otherwise comes from tags, and the files that hold it."""
    tool = table(pyproject, "tool")
    requires = " ".join(words(table(pyproject, "build-system").get("requires")))
    setup = project.text("setup.py") + project.text("setup.cfg")
    hatch = table(tool, "hatch", "version").get("source") == "vcs"
    scm = "setuptools_scm" in tool or "setuptools-scm" in tool or "use_scm_version" in setup
    pdm = table(tool, "pdm", "version")
    made = [
        text_of(table(tool, section).get(key))
        for section in ("setuptools_scm", "setuptools-scm")
        for key in ("write_to", "version_file")
    ]
    made.append(text_of(table(tool, "hatch", "build", "hooks", "vcs").get("version-file")))
    made.append(text_of(pdm.get("write_to")))
    made += re.findall(r"[\"'](?:write_to|version_file)[\"']\s*:\s*[\"']([\w./-]+)[\"']", setup)
    made = [path for path in made if path and not project.has(path)]
    if not (hatch or scm or re.search(r"setuptools[-_]scm|hatch-vcs", requires)):
        if pdm.get("source") == "scm":
            version = _latest(project)
            return f"export PDM_BUILD_SCM_VERSION={version} && ", made, []
        return "", made, []
    version = _latest(project)
    if hatch or "hatch-vcs" in requires or not name:
        variable = "SETUPTOOLS_SCM_PRETEND_VERSION"
    else:
        suffix = re.sub(r"[^A-Z0-9]+", "_", name.upper())
        variable = f"SETUPTOOLS_SCM_PRETEND_VERSION_FOR_{suffix}"
    why = f"its version comes from tags: it is called {version}, so that it installs without them"
    return f"export {variable}={quoted([version])} && ", made, [why]


def _latest(project: Project) -> str:
    """The first version that a list of changes names."""
    compiled = re.compile(_CHANGES, re.IGNORECASE)
    for path in [name for name in project.names if compiled.fullmatch(name)][:5]:
        for line in project.text(path).splitlines()[:300]:
            match = _HEADING.match(line)
            if match and not re.search(r"semver|semantic|keep", line, re.IGNORECASE):
                return match[1]
    return "0.1.0"


def _extensions(project: Project, pyproject: dict[str, Any]) -> tuple[list[str], list[str]]:
    """What building leaves beside the sources, and the sources that it is built from."""
    backend = text_of(table(pyproject, "build-system").get("build-backend"))
    setup = project.text("setup.py")
    compiled = re.search(r"ext_modules|Extension\(|cythonize|cffi_modules|RustExtension", setup)
    modern = re.search("maturin|mesonpy|scikit_build", backend)
    if (
        not compiled
        and not modern
        and not table(pyproject, "tool", "setuptools").get("ext-modules")
    ):
        return [], []
    sources = [name for name in project.matching(_SOURCES) if not is_aside(name)]
    endings = unique(f"**/*.{name.rpartition('.')[2]}" for name in sources)
    lock = ["Cargo.lock"] if project.has("Cargo.lock") else []
    if project.matching(r"(?:.*/)?[^/]+\.so"):
        return [], [*endings, *lock]
    packages = project.matching(r"\w+/__init__\.py")
    folders = (
        ["src"] if project.has_folder("src") else [name.partition("/")[0] for name in packages]
    )
    return [*(f"{name}/**/*.so" for name in folders), "*.so"], [*endings, *lock]
