from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.project_files import FakeProject

from windlass.core.gate.proposals import GateProposal, propose

TOOLS = 'PATH="$PWD/.gate-tools/node_modules/.bin:$PATH"'
QUIET = "--no-audit --no-fund"


def package(test: str = "mocha", **more: Any) -> str:
    scripts = {"test": test, **more.pop("scripts", {})}
    return json.dumps({"name": "it", "scripts": scripts, "devDependencies": {"mocha": "1"}, **more})


def proposed(files: dict[str, str], *programs: str) -> GateProposal:
    found = propose(FakeProject({"test/it.test.js": ""} | files, programs=programs))
    assert found is not None
    return found


def tool(wanted: str) -> str:
    return f"npm install --prefix .gate-tools {QUIET} {wanted} && export {TOOLS} && "


PNPM = "npm_config_verify_deps_before_run=false"
BERRY = "YARN_ENABLE_GLOBAL_CACHE=false YARN_ENABLE_TELEMETRY=0"


@pytest.mark.parametrize(
    ("files", "programs", "setup", "run"),
    [
        pytest.param({"package-lock.json": ""}, [], f"npm ci {QUIET}", "npm test", id="npm"),
        pytest.param({}, [], f"npm install --no-package-lock {QUIET}", "npm test", id="no lock"),
        pytest.param(
            {"pnpm-lock.yaml": ""},
            ["pnpm"],
            "pnpm install --frozen-lockfile",
            "pnpm test",
            id="pnpm",
        ),
        pytest.param(
            {"pnpm-lock.yaml": "lockfileVersion: '6.0'\n"},
            [],
            tool("pnpm@8") + "pnpm install --frozen-lockfile",
            f"{TOOLS} {PNPM} pnpm test",
            id="a pnpm that fits the lock file, where there is none",
        ),
        pytest.param(
            {"pnpm-lock.yaml": "", "package.json": package(packageManager="pnpm@9.1.0+sha512.a")},
            ["pnpm"],
            tool("pnpm@9.1.0") + "pnpm install --frozen-lockfile",
            f"{TOOLS} {PNPM} pnpm test",
            id="the pnpm that package.json names",
        ),
        pytest.param(
            {"pnpm-lock.yaml": "", "package.json": package(packageManager="pnpm@11.2.0")},
            [],
            tool("pnpm@11.2.0") + "pnpm install --frozen-lockfile",
            f"{TOOLS} pnpm_config_verify_deps_before_run=false pnpm test",
            id="a pnpm that has settings of its own name",
        ),
        pytest.param(
            {"yarn.lock": "# yarn lockfile v1\n"},
            ["yarn"],
            "yarn install --frozen-lockfile --non-interactive",
            "yarn test",
            id="yarn 1",
        ),
        pytest.param(
            {"yarn.lock": "# yarn lockfile v1\n"},
            [],
            tool("yarn@1") + "yarn install --frozen-lockfile --non-interactive",
            f"{TOOLS} yarn test",
            id="yarn 1, where there is none",
        ),
        pytest.param(
            {
                "yarn.lock": "__metadata:\n",
                ".yarnrc.yml": "yarnPath: .yarn/releases/yarn-4.cjs\n",
                ".yarn/releases/yarn-4.cjs": "",
            },
            [],
            f"export {BERRY} && node .yarn/releases/yarn-4.cjs install --immutable",
            f"{BERRY} node .yarn/releases/yarn-4.cjs test",
            id="the yarn that is in the tree",
        ),
        pytest.param(
            {"yarn.lock": "__metadata:\n", "package.json": package(packageManager="yarn@4.5.0")},
            ["yarn"],
            tool("@yarnpkg/cli-dist@4.5.0") + f"export {BERRY} && yarn install --immutable",
            f"{TOOLS} {BERRY} yarn test",
            id="yarn 4 by corepack",
        ),
        pytest.param(
            {"bun.lock": ""}, ["bun"], "bun install --frozen-lockfile", "bun run test", id="bun"
        ),
    ],
)
def test_the_manager_is_the_one_of_the_lock_file_and_works_without_home(
    files: dict[str, str], programs: list[str], setup: str, run: str
) -> None:
    proposal = proposed({"package.json": package()} | files, *programs)
    assert proposal.setup == setup
    assert proposal.checks[0].run == run.replace("bun run test", "bun test")
    assert proposal.deps[0] == "**/node_modules"
    assert proposal.checks[0].tests == "some"


def test_yarn_without_node_modules_keeps_what_its_loader_reads() -> None:
    files = {"yarn.lock": "__metadata:\n", "package.json": package(), ".yarn/cache/a.zip": ""}
    proposal = proposed(files)
    assert proposal.deps == (
        *("**/node_modules", ".yarn/unplugged", ".yarn/install-state.gz"),
        *(".pnp.cjs", ".pnp.loader.mjs"),
    )


@pytest.mark.parametrize(
    ("test", "scripts", "run"),
    [
        ("vitest", {}, "CI=true npm test"),
        ("vitest --watch", {"test:run": "vitest run"}, "CI=true npm run test:run"),
        ("jest --watchAll", {}, "CI=true node_modules/.bin/jest"),
        ("jest --watchAll=false", {}, "CI=true npm test"),
        ("react-scripts test", {}, "CI=true npm test"),
        ("npm run watch", {"watch": "mocha -w"}, "node_modules/.bin/mocha"),
        ("karma start", {"test:unit": "mocha"}, "npm run test:unit"),
        ("npm run lint && mocha", {"lint": "eslint ."}, "npm test"),
        ("node --test", {}, "npm test"),
    ],
)
def test_a_check_runs_once_and_watches_nothing(
    test: str, scripts: dict[str, str], run: str
) -> None:
    text = package(test, scripts=scripts, devDependencies={"jest": "1", "mocha": "1"})
    proposal = proposed({"package.json": text, "package-lock.json": ""})
    assert proposal.checks[0].run == run
    assert proposal.checks[0].tests == "some"


@pytest.mark.parametrize(
    "test",
    [
        'echo "Error: no test specified" && exit 1',
        "echo ok",
        "eslint . && tsc --noEmit",
        "npm run lint",
        "",
    ],
)
def test_a_script_that_tests_nothing_is_no_test(test: str) -> None:
    text = json.dumps({"scripts": {"test": test, "lint": "eslint ."}})
    assert propose(FakeProject({"package.json": text, "index.js": ""})) is None


def test_a_runner_that_is_not_known_is_believed_by_its_exit_code_and_that_is_said() -> None:
    proposal = proposed({"package.json": package("xo && uvu test")})
    assert proposal.checks[0].tests == "none"
    assert any("exit code" in sentence for sentence in proposal.why)


@pytest.mark.parametrize(
    ("files", "run"),
    [
        (
            {"pnpm-lock.yaml": "", "pnpm-workspace.yaml": "packages:\n  # all\n  - 'packages/*'\n"},
            "npm_config_reporter_hide_prefix=true pnpm -r --if-present run test",
        ),
        (
            {"package.json": json.dumps({"workspaces": ["packages/*"]}), "package-lock.json": ""},
            "npm test --workspaces --if-present",
        ),
        (
            {"package.json": json.dumps({"workspaces": ["packages/*"]}), "turbo.json": "{}"},
            "node_modules/.bin/turbo run test --log-prefix=none",
        ),
        (
            {
                "package.json": json.dumps(
                    {"workspaces": ["packages/*"], "scripts": {"test": "turbo run test"}}
                ),
                "turbo.json": "{}",
            },
            "npm test",
        ),
    ],
)
def test_the_tests_of_a_workspace_are_those_of_its_packages(
    files: dict[str, str], run: str
) -> None:
    members = {
        "packages/a/package.json": package(),
        "packages/a/test/a.js": "require('node:test')",
        "packages/b/package.json": package("exit 0"),
    }
    proposal = proposed({"package.json": "{}"} | members | files, "pnpm")
    assert proposal.checks[0].run == run
    assert "packages/a/package.json" in proposal.inputs
    assert proposal.checks[0].tests == "some"


@pytest.mark.parametrize(
    ("source", "built"),
    [("import it from '../dist/it.js'", True), ("import it from '../src/it.js'", False)],
)
def test_what_tests_import_from_a_build_is_built_by_the_check(source: str, built: bool) -> None:
    text = package(main="./dist/it.js", scripts={"build": "tsc"})
    proposal = proposed({"package.json": text, "src/it.ts": "", "test/it.test.js": source})
    assert proposal.checks[0].run == ("npm run build && npm test" if built else "npm test")


@pytest.mark.parametrize(("config", "built"), [("", True), ("alias: {it: './src'}", False)])
def test_a_package_that_tests_import_by_its_name_is_built_unless_that_means_its_sources(
    config: str, built: bool
) -> None:
    files = {
        "package.json": package(main="dist/it.js", scripts={"build": "tsc"}),
        "vitest.config.ts": config,
        "test/it.test.js": "const it = require('it')",
    }
    assert proposed(files).checks[0].run.startswith("npm run build && ") == built


def test_packages_that_import_each_others_builds_are_built_first() -> None:
    root = json.dumps(
        {"workspaces": ["packages/*"], "scripts": {"build": "tsc -b", "test": "jest"}}
    )
    member = {"packages/a/package.json": json.dumps({"main": "lib/a.js"})}
    proposal = proposed({"package.json": root} | member)
    assert proposal.checks[0].run == "export CI=true && npm run build && npm test"
