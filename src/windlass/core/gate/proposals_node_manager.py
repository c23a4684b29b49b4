"""Which package manager a Node project wants, and how it is called with and without network. Pure.

A manager that the person does not have, or that must have the one version which `packageManager`
names, is installed into the tree beside the project's own packages: the shims of corepack and the
versions that pnpm switches to lie in HOME, which a check does not share with setup.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from windlass.core.gate.proposals_project import Project, quoted, text_of, unique

_TOOLS = ".gate-tools"
_MODULES = "**/node_modules"
_QUIET = "--no-audit --no-fund"


class Manager(NamedTuple):
    """How packages are installed, and scripts are run."""

    setup: str
    run: str
    """What stands before a script's name."""
    every_test: str
    """The line that runs the tests of all packages of a workspace."""
    why: str
    deps: tuple[str, ...] = (_MODULES,)
    inputs: tuple[str, ...] = ()
    versions: tuple[str, ...] = ("node --version",)
    without_hooks: str = ""
    """The option that leaves out what `pretest` and `posttest` would do."""
    environment: str = ""
    """What a check sets before its lines."""

    def script(self, name: str) -> str:
        """The line that runs a script."""
        if name == "test" and self.run.endswith(" run"):
            return f"{self.run.removesuffix(' run')} test"
        return f"{self.run} {quoted([name])}"


def choose(project: Project, package: dict[str, Any]) -> Manager:
    """The manager whose lock file is there, or that package.json names."""
    named = re.fullmatch(
        r"(npm|pnpm|yarn|bun)@(\d+(?:\.\d+){0,2}(?:-[\w.]+)?)(?:\+.*)?",
        text_of(package.get("packageManager")),
    )
    name, version = (named[1], named[2]) if named else ("", "")
    if project.has("pnpm-lock.yaml") or name == "pnpm":
        return _pnpm(project, version if name == "pnpm" else "")
    if project.has("yarn.lock") or name == "yarn":
        return _yarn(project, version if name == "yarn" else "")
    if project.first("bun.lock", "bun.lockb") or name == "bun":
        return _bun(project, version if name == "bun" else "")
    return _npm(project)


def _npm(project: Project) -> Manager:
    lock = project.first("npm-shrinkwrap.json", "package-lock.json")
    verb = f"npm ci {_QUIET}" if lock else f"npm install --no-package-lock {_QUIET}"
    return Manager(
        setup=verb,
        run="npm run",
        every_test="npm test --workspaces --if-present",
        why=f"{lock or 'no lock file'}: npm installs",
        inputs=_inputs(project, lock, ".npmrc"),
        versions=("node --version", "npm --version"),
        without_hooks="--ignore-scripts",
    )


def _pnpm(project: Project, version: str) -> Manager:
    lock = project.first("pnpm-lock.yaml")
    if not version and not project.program("pnpm"):
        version = _pnpm_version(project)
    frozen = "--frozen-lockfile" if lock else "--no-frozen-lockfile"
    own = bool(version)
    before = _tool("pnpm", version) if own else ""
    inputs = _inputs(project, lock, "pnpm-workspace.yaml", ".npmrc", ".pnpmfile.cjs")
    major = re.match(r"\d+", version)
    setting = "pnpm_config" if major and int(major[0]) >= 11 else "npm_config"
    settings = f"{_path()}{setting}_verify_deps_before_run=false " if own else ""
    if project.has("pnpm-workspace.yaml"):
        # Closing lines with a package's name before them are not understood.
        settings += f"{setting}_reporter_hide_prefix=true "
    return Manager(
        setup=f"{before}pnpm install {frozen}",
        run="pnpm run",
        every_test="pnpm -r --if-present run test",
        why=f"{lock or 'packageManager'}: pnpm installs",
        inputs=inputs,
        versions=("node --version",) if own else ("node --version", "pnpm --version"),
        environment=settings,
    )


def _pnpm_version(project: Project) -> str:
    """The pnpm that writes the lock file's version."""
    lock = project.head("pnpm-lock.yaml")
    found = re.search(r"^lockfileVersion:\s*['\"]?(\d+)", lock, re.MULTILINE)
    return {"5": "7", "6": "8"}.get(found[1], "9") if found else "9"


def _yarn(project: Project, version: str) -> Manager:
    lock = project.first("yarn.lock")
    modern = (
        (bool(version) and not version.startswith(("0.", "1.")))
        or (not version and project.has(".yarnrc.yml"))
        or (not version and "__metadata:" in project.head("yarn.lock"))
    )
    return _modern_yarn(project, version, lock) if modern else _classic_yarn(project, version, lock)


def _classic_yarn(project: Project, version: str, lock: str) -> Manager:
    own = not project.program("yarn")
    before = _tool("yarn", version or "1") if own else ""
    flags = "--frozen-lockfile --non-interactive" if lock else "--non-interactive"
    return Manager(
        setup=f"{before}yarn install {flags}",
        run="yarn run",
        every_test="yarn workspaces run test",
        why=f"{lock or 'packageManager'}: yarn 1 installs",
        inputs=_inputs(project, lock, ".yarnrc", ".npmrc"),
        versions=("node --version",) if own else ("node --version", "yarn --version"),
        environment=_path() if own else "",
    )


def _modern_yarn(project: Project, version: str, lock: str) -> Manager:
    settings = project.text(".yarnrc.yml")
    path = re.search(r"^yarnPath:\s*['\"]?([\w./@-]+)", settings, re.MULTILINE)
    release = path[1] if path and project.has(path[1]) else ""
    before = "" if release else _tool("@yarnpkg/cli-dist", version or "4")
    yarn = f"node {quoted([release])}" if release else "yarn"
    made = [
        *(".yarn/cache", ".yarn/unplugged", ".yarn/install-state.gz"),
        *(".pnp.cjs", ".pnp.loader.mjs"),
    ]
    deps = [item for item in made if not project.has(item) and not project.has_folder(item)]
    keep = "YARN_ENABLE_GLOBAL_CACHE=false YARN_ENABLE_TELEMETRY=0"
    setup = f"{before}export {keep} && {yarn} install{' --immutable' if lock else ''}"
    return Manager(
        setup=setup,
        run=f"{yarn} run",
        every_test=f"{yarn} workspaces foreach -A run test",
        why=f"{lock or 'packageManager'}: yarn installs",
        deps=unique((_MODULES, *deps)),
        inputs=_inputs(project, lock, ".yarnrc.yml", release),
        environment=f"{'' if release else _path()}{keep} ",
    )


def _bun(project: Project, version: str) -> Manager:
    lock = project.first("bun.lock", "bun.lockb")
    own = not project.program("bun")
    before = _tool("bun", version or "1") if own else ""
    return Manager(
        setup=f"{before}bun install{' --frozen-lockfile' if lock else ''}",
        run="bun run",
        every_test="bun run --filter '*' test",
        why=f"{lock or 'packageManager'}: bun installs",
        inputs=_inputs(project, lock, "bunfig.toml"),
        versions=("node --version",) if own else ("bun --version",),
        environment=_path() if own else "",
    )


def _tool(package: str, version: str) -> str:
    """Puts a manager into the tree, and in front of the PATH for the rest of the line."""
    wanted = quoted([f"{package}@{version}"])
    return (
        f"npm install --prefix {_TOOLS} {_QUIET} {wanted}"
        f' && export PATH="$PWD/{_TOOLS}/node_modules/.bin:$PATH" && '
    )


def _path() -> str:
    return f'PATH="$PWD/{_TOOLS}/node_modules/.bin:$PATH" '


def _inputs(project: Project, *names: str) -> tuple[str, ...]:
    return tuple(name for name in names if name and project.has(name))
