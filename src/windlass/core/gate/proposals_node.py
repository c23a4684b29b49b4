"""How a Node project is installed and tested: npm, pnpm, yarn, bun; workspaces, turbo, nx. Pure.

A script that watches files never ends and one that only says `no test specified` is none: a check
names the script, or the runner itself, that runs once.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from windlass.core.gate import proposals_node_manager
from windlass.core.gate.proposals_node_manager import Manager
from windlass.core.gate.proposals_project import (
    CheckProposal,
    GateProposal,
    Project,
    is_aside,
    is_counted,
    table,
    text_of,
    unique,
    words,
)

_ORDER = (
    *("test", "test:ci", "ci:test", "test-ci", "test:run", "test:once", "test:unit", "unit"),
    *("test:node", "test:all", "tests", "unit-test", "unit:test", "test:jest", "test:vitest"),
    *("test:coverage", "coverage", "mocha", "jest", "vitest"),
)
_WATCH = re.compile(
    r"--watch(?:All)?(?![\w=-])|--watch(?:All)?=true|\bnodemon\b|\b(?:tsx|vitest) (?:watch|dev)\b"
    r"|\b(?:mocha|ava|jest) (?:[^&|;]{0,300} )?-w\b|\bng test\b(?![^&|;]{0,300}--watch=false)"
    r"|\bkarma start\b(?![^&|;]{0,300}--single-run)"
)
_BROWSER = re.compile(r"\b(?:karma|cypress|playwright|wtr|web-test-runner|testcafe|nightwatch)\b")
_NOTHING = re.compile(
    r"no tests? (?:specified|yet|defined)|^\s*(?:echo\b[^&|;]{0,300}|true|exit 0|:)\s*$"
)
_LINTERS = re.compile(
    r"^(?:npx (?:-\S+ )*)?(?:eslint|xo|standard|tsc|vue-tsc|prettier|biome|oxlint|tslint|tsd|attw"
    r"|publint"
    r"|size-limit|echo|rimraf|rm|knip|stylelint|remark|semistandard|jshint|eclint|evalmd|ls-lint"
    r"|markdownlint|aud|audit-ci|npm audit|npm@\S+ audit|snyk|codecov|coveralls)\b"
)
_ONE_SHOT = re.compile(r"react-scripts|craco|vitest|jest|vue-cli|\bng test\b")
_TEST_FILE = (
    r"(?:.*/)?(?:(?:tests?|__tests__|spec)/.*|[^/]*[._-](?:test|spec)|tests?)\.[cm]?[jt]sx?"
)
_CALL = re.compile(r"(?:npm|pnpm|yarn|bun)\s+(?:run\s+|-s\s+|--silent\s+)*([\w:.-]+)")
_SEVERAL = re.compile(r"\b(?:run-s|run-p|npm-run-all2?|concurrently)\b([^&|;]{0,300})")


class _Test(NamedTuple):
    """The script or the program that runs the tests."""

    script: str
    """Its name in package.json, or nothing if a program is run by its path."""
    program: str
    text: str
    """All that the script comes to, with the scripts it calls."""
    why: str


def propose(project: Project) -> GateProposal | None:
    """The gate of a Node project; None if it has no tests."""
    package = project.json("package.json")
    members = _members(project, package)
    test = _test(project, package, members)
    if test is None:
        return None
    manager = proposals_node_manager.choose(project, package)
    needed = bool(members) or any(
        table(package, key) for key in ("dependencies", "devDependencies", "optionalDependencies")
    )
    build = _build(project, package, members, test)
    lines = [manager.script(build)] if build else []
    lines += _lines(manager, test, table(package, "scripts"))
    run = " && ".join(lines)
    environment = "CI=true " if _ONE_SHOT.search(test.text) else ""
    environment += "NX_DAEMON=false " if re.search(r"\bnx\b", test.text) else ""
    known = is_counted(test.text)
    why = [f"package.json: {test.why}"]
    if needed:
        why.append(manager.why)
    if build:
        why.append(f"the tests need what the script {build} makes")
    if not known:
        why.append("its runner does not count tests in a known way: the exit code decides")
    if _BROWSER.search(test.text):
        why.append("its tests want a browser, which the box may not have")
    return GateProposal(
        setup=manager.setup if needed else "",
        deps=manager.deps if needed else (),
        inputs=unique(
            ("package.json", *manager.inputs, *(f"{name}/package.json" for name in members))
        ),
        versions=manager.versions,
        checks=(
            CheckProposal(
                name="test",
                run=_with_path(manager, environment, run),
                tests="some" if known else "none",
            ),
        ),
        why=tuple(why),
    )


def _with_path(manager: Manager, environment: str, run: str) -> str:
    before = f"{manager.environment}{environment}".strip()
    if not before:
        return run
    return f"export {before} && {run}" if "&&" in run else f"{before} {run}"


def _lines(manager: Manager, test: _Test, scripts: dict[str, Any]) -> list[str]:
    """What runs the tests; without the linters and audits that hang before and behind them."""
    if not test.script:
        return [test.program or manager.every_test]
    before = _expanded(scripts, f"pre{test.script}")
    after = _expanded(scripts, f"post{test.script}")
    if not manager.without_hooks or not (_only_lints(before) or _only_lints(after)):
        return [manager.script(test.script)]
    needed = [manager.script(f"pre{test.script}")] if before and not _only_lints(before) else []
    return [*needed, f"{manager.script(test.script)} {manager.without_hooks}"]


def _members(project: Project, package: dict[str, Any]) -> list[str]:
    """The folders of a workspace's packages."""
    declared = package.get("workspaces")
    patterns = words(table(package, "workspaces").get("packages")) or words(declared)
    if not patterns and project.has("pnpm-workspace.yaml"):
        patterns = _yaml_list(project.text("pnpm-workspace.yaml"), "packages")
    if not patterns and project.has("lerna.json"):
        patterns = words(project.json("lerna.json").get("packages")) or ["packages/*"]
    if not patterns:
        return []
    chosen = [_pattern(item) for item in patterns[:50] if not item.startswith("!")]
    folders = [
        name.removesuffix("/package.json")
        for name in project.matching(r".+/package\.json")
        if not re.search(r"(?:^|/)node_modules/", name)
    ]
    return [name for name in folders if any(item.fullmatch(name) for item in chosen)][:300]


def _yaml_list(text: str, key: str) -> list[str]:
    """The items below a key of a YAML file, as far as that needs no parser."""
    found: list[str] = []
    inside = False
    for line in text.splitlines()[:1000]:
        bare = line.strip()
        if inside and bare.startswith("-"):
            found.append(bare[1:].partition(" #")[0].strip().strip("'\""))
        elif bare and not bare.startswith("#"):
            inside = bare.startswith(f"{key}:")
    return found


def _pattern(item: str) -> re.Pattern[str]:
    """A workspace's glob as a regular expression."""
    parts = re.split(r"(\*\*|\*)", item.removeprefix("./").rstrip("/"))
    made = {"**": ".+", "*": "[^/]+"}
    return re.compile("".join(made.get(part, re.escape(part)) for part in parts))


def _test(project: Project, package: dict[str, Any], members: list[str]) -> _Test | None:
    """What runs the tests once: a script, else the runner, else the scripts of the packages."""
    scripts = {
        name: text for name, text in table(package, "scripts").items() if isinstance(text, str)
    }
    inner = " ; ".join(_member_test(project, name) for name in members)
    fitting: list[_Test] = []
    for name in _ORDER:
        text = _expanded(scripts, name)
        if name in scripts and not _is_nothing(text) and _has_tests(project, text, inner):
            whole = f"{text} ; {inner}" if _goes_inside(text) else text
            fitting.append(_Test(name, "", whole, f"the script {name} ({scripts[name][:60]})"))
    once = [test for test in fitting if not _WATCH.search(test.text)]
    chosen = next((test for test in once if not _BROWSER.search(test.text)), None)
    if chosen or once:
        return chosen or once[0]
    if not fitting and (inside := _member_tests(project, members, inner)):
        return inside
    return _runner(project, package, fitting)


def _runner(project: Project, package: dict[str, Any], watching: list[_Test]) -> _Test | None:
    """The runner by its own name, where no script runs it once."""
    listed = {**table(package, "dependencies"), **table(package, "devDependencies")}
    text = watching[0].text if watching else ""
    files = [name for name in project.matching(_TEST_FILE) if not is_aside(name)]
    if not files and not watching:
        return None
    bin_folder = "node_modules/.bin"
    for name, line in (
        ("vitest", "vitest run"),
        ("jest", "jest"),
        ("mocha", "mocha"),
        ("ava", "ava"),
    ):
        if name in listed and (not text or name in text):
            return _Test("", f"{bin_folder}/{line}", line, f"{name}, which no script runs once")
    if "react-scripts" in text:
        return _Test("", f"{bin_folder}/react-scripts test", text, "react-scripts")
    if re.search(r"\bng test\b", text):
        return _Test("", f"{bin_folder}/ng test --watch=false", text, "the script test, once")
    if not text and any("node:test" in project.text(name) for name in files[:20]):
        return _Test("", "node --test", "node --test", "tests that import node:test")
    return None


def _member_tests(project: Project, members: list[str], inner: str) -> _Test | None:
    if not re.search(r"\w", inner):
        return None
    if project.has("turbo.json"):
        line = "node_modules/.bin/turbo run test --log-prefix=none"
        return _Test("", line, f"{line} ; {inner}", "turbo runs the packages' tests")
    if project.has("nx.json"):
        line = "node_modules/.bin/nx run-many -t test"
        return _Test("", line, f"{line} ; {inner}", "nx runs the packages' tests")
    return _Test("", "", inner, f"the tests of {len(members)} packages")


def _member_test(project: Project, folder: str) -> str:
    scripts = table(project.json(f"{folder}/package.json"), "scripts")
    text = _expanded(scripts, "test")
    return "" if _is_nothing(text) or _WATCH.search(text) else text


def _expanded(scripts: dict[str, Any], name: str, depth: int = 0) -> str:
    """A script with the text of those that it calls."""
    text = text_of(scripts.get(name))
    if depth > 5 or not text:
        return text
    called = [match[1] for match in _CALL.finditer(text)]
    for match in _SEVERAL.finditer(text):
        for word in re.findall(r"[\w:.*-]+", match[1]):
            pattern = re.compile(re.escape(word.removeprefix("npm:")).replace(r"\*", r"[\w:.-]*"))
            called += [script for script in scripts if pattern.fullmatch(script)]
    before = text_of(scripts.get(f"pre{name}"))
    inner = [_expanded(scripts, item, depth + 1) for item in unique(called)[:20] if item != name]
    return " ; ".join(part for part in (before, text, *inner) if part)[:4000]


def _is_nothing(text: str) -> bool:
    return not text.strip() or bool(_NOTHING.search(text))


def _goes_inside(text: str) -> bool:
    return bool(
        re.search(
            r"\bturbo\b|\bnx\b|\blerna\b|workspaces?\b|--filter|\bwsrun\b"
            r"|(?:pnpm|yarn) (?:[^&|;]{0,300} )?(?:-r|--recursive)\b|\bwireit\b|--prefix\b",
            text,
        )
    )


def _has_tests(project: Project, text: str, inner: str) -> bool:
    """Whether a script is more than linters: a known runner, or anything beside files of tests."""
    if is_counted(text):
        return True
    if _goes_inside(text):
        return bool(re.search(r"\w", inner))
    return not _only_lints(text) and bool(project.matching(_TEST_FILE))


def _only_lints(text: str) -> bool:
    """Whether a script has steps, and all of them look at the sources alone."""
    steps = [step.strip() for step in re.split(r"&&|;|\|\|", text)]
    rest = [step for step in steps if step and not (_CALL.match(step) or _SEVERAL.match(step))]
    return bool(rest) and all(_LINTERS.match(step) for step in rest)


def _build(project: Project, package: dict[str, Any], members: list[str], test: _Test) -> str:
    """The script that makes what tests import, where they import what is made and not tracked."""
    scripts = table(package, "scripts")
    name = next((name for name in ("build", "compile") if text_of(scripts.get(name))), "")
    if not name or re.search(rf"\b(?:run )?{name}\b|\bturbo\b|\bwireit\b", test.text):
        return ""
    if members:
        return name if any(_is_made(project, folder) for folder in members) else ""
    made = _made_folders(project, "", package)
    if not made:
        return ""
    files = [item for item in project.matching(_TEST_FILE) if not is_aside(item)]
    text = test.text + "\n".join(project.text(item) for item in files[:60])
    own = text_of(package.get("name"))
    mapped = project.matching(r"(?:vitest|vite|jest)\.config\.[cm]?[jt]s|tsconfig[\w.]*\.json")
    aliased = any(own in project.text(name) for name in mapped) or own in str(package.get("jest"))
    imports_itself = bool(own and not aliased) and bool(
        re.search(rf"(?:from|require\(|import\()\s*['\"]{re.escape(own)}['\"/]", text)
    )
    uses = any(
        re.search(rf"['\"](?:\.{{1,2}}/)+{re.escape(folder)}\b|\b{re.escape(folder)}/", text)
        for folder in made
    )
    return name if uses or imports_itself else ""


def _is_made(project: Project, folder: str) -> bool:
    return bool(_made_folders(project, f"{folder}/", project.json(f"{folder}/package.json")))


def _made_folders(project: Project, prefix: str, package: dict[str, Any]) -> list[str]:
    """The folders that a package's entry points lie in though nothing there is tracked."""
    entries = [text_of(package.get(key)) for key in ("main", "module", "bin", "types")]
    entries += [item for item in table(package, "bin").values() if isinstance(item, str)]
    entries += _leaves(package.get("exports"))
    folders = unique(
        entry.removeprefix("./").partition("/")[0]
        for entry in entries
        if "/" in entry.removeprefix("./")
    )
    return [name for name in folders if not project.has_folder(f"{prefix}{name}")]


def _leaves(value: Any, depth: int = 0) -> list[str]:
    if isinstance(value, str):
        return [value]
    if not isinstance(value, dict) or depth > 6:
        return []
    return [leaf for item in list(value.values())[:50] for leaf in _leaves(item, depth + 1)]
