from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support.project_files import FakeProject

from windlass.core.gate.proposals import GateProposal, examine, propose

CRATES = 'CARGO_HOME="$PWD/.cargo-home"'
MODULES = 'GOMODCACHE="$PWD/.gomod" GOFLAGS=-modcacherw'
MAVEN = 'mvn -B -Dmaven.repo.local="$PWD/.m2-repository"'
GRADLE = 'GRADLE_USER_HOME="$PWD/.gradle-home" sh ./gradlew --no-daemon'
NODE = json.dumps({"scripts": {"test": "mocha"}, "devDependencies": {"mocha": "1"}})
PYTHON = {
    "pyproject.toml": '[build-system]\nrequires = []\n[project]\nname = "it"\n',
    "tests/test_it.py": "import pytest\n",
}
PYTEST = ".venv/bin/python -m pytest --junit-xml=.gate/junit.xml tests"


def proposed(files: dict[str, str], *programs: str) -> GateProposal:
    found = propose(FakeProject(files, programs=programs))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("files", "setup", "deps", "run"),
    [
        pytest.param(
            {"Cargo.toml": "[workspace]\n", "Cargo.lock": "", "a/src/lib.rs": "#[test]\nfn a() {}"},
            f"{CRATES} cargo fetch --locked",
            (".cargo-home",),
            f"{CRATES} cargo test --offline --workspace",
            id="cargo",
        ),
        pytest.param(
            {"Cargo.toml": "[package]\n", "tests/a.rs": ""},
            f"{CRATES} cargo fetch",
            (".cargo-home", "Cargo.lock"),
            f"{CRATES} cargo test --offline",
            id="cargo without a lock file",
        ),
        pytest.param(
            {"go.mod": "module a\nrequire b v1\n", "go.sum": "", "a_test.go": ""},
            f"{MODULES} go mod download",
            (".gomod",),
            f"{MODULES} GOPROXY=off go test ./...",
            id="go",
        ),
        pytest.param(
            {"go.mod": "module a\n", "a_test.go": ""},
            "",
            (),
            "go test ./...",
            id="go without modules of others",
        ),
        pytest.param(
            {
                "go.work": "use (\n\t./a\n\t./b\n)\n",
                "a/go.mod": "",
                "b/go.mod": "",
                "a/a_test.go": "",
            },
            "",
            (),
            "go test ./a/... ./b/...",
            id="go workspace",
        ),
        pytest.param(
            {"pom.xml": "", "src/test/java/A.java": ""},
            f"{MAVEN} -Dmaven.test.failure.ignore=true test",
            (".m2-repository",),
            f"{MAVEN} -o test",
            id="maven",
        ),
        pytest.param(
            {"gradlew": "", "build.gradle": "", "src/test/java/A.java": ""},
            f"{GRADLE} testClasses && {{ {GRADLE} test --continue || true; }}",
            (".gradle-home",),
            f"{GRADLE} --offline test",
            id="gradle",
        ),
        pytest.param(
            {"CMakeLists.txt": "enable_testing()\nadd_test(a a)\n"},
            "",
            (),
            "cmake -S . -B .gate/build -DBUILD_TESTING=ON && cmake --build .gate/build -j 2"
            " && ctest --test-dir .gate/build --output-on-failure --no-tests=error",
            id="cmake",
        ),
        pytest.param(
            {"Gemfile": "", "Gemfile.lock": "", "spec/a_spec.rb": ""},
            "BUNDLE_PATH=vendor/bundle bundle install",
            ("vendor/bundle",),
            "BUNDLE_PATH=vendor/bundle bundle exec rspec",
            id="rspec",
        ),
        pytest.param(
            {"composer.json": "{}", "phpunit.xml": "", "composer.lock": ""},
            "composer install --no-interaction --no-progress",
            ("vendor",),
            "vendor/bin/phpunit --log-junit .gate/junit.xml",
            id="phpunit",
        ),
        pytest.param(
            {"Makefile": ".PHONY: test\nall: a.o\n\ntest: all\n\t./run-tests\n"},
            "",
            (),
            "make test",
            id="make",
        ),
        pytest.param(
            {"Makefile": "venv:\n\tpython3 -m venv .venv\ncheck:\n\t.venv/bin/pytest\n"},
            "make venv",
            (".venv",),
            "make check",
            id="make with a setup",
        ),
        pytest.param(
            {"configure.ac": "", "Makefile.am": "TESTS = a\n"},
            "",
            (),
            "autoreconf -fi && sh ./configure && make -j 2 && make check",
            id="autotools",
        ),
        pytest.param(
            {"script/test": "#!/usr/bin/env bash\npytest\n"},
            "",
            (),
            "bash script/test",
            id="a script",
        ),
    ],
)
def test_each_kind_fetches_into_the_tree_and_is_checked_there(
    files: dict[str, str], setup: str, deps: tuple[str, ...], run: str
) -> None:
    proposal = proposed(files, "mvn")
    assert (proposal.setup, proposal.deps, proposal.checks[0].run) == (setup, deps, run)
    assert all(path in files or "*" in path for path in proposal.inputs)
    assert proposal.why


@pytest.mark.parametrize(
    ("makefile", "tests"),
    [("test:\n\tpython -m pytest\n", "some"), ("test:\n\t./a.out\n", "none")],
)
def test_a_runner_is_counted_only_where_it_is_known(makefile: str, tests: str) -> None:
    assert proposed({"Makefile": makefile}).checks[0].tests == tests


def test_languages_at_the_top_are_checked_beside_each_other_and_no_makefile_again() -> None:
    files = PYTHON | {"package.json": NODE, "test/a.js": "", "Makefile": "test:\n\tpytest\n"}
    proposal = proposed(files)
    assert [check.run for check in proposal.checks] == [PYTEST, "npm test"]
    assert proposal.setup.startswith("(python3 -m venv .venv && ")
    assert proposal.setup.endswith(") && (npm install --no-package-lock --no-audit --no-fund)")
    assert proposal.deps == (".venv", "**/node_modules")


def test_folders_are_asked_only_where_the_top_has_no_tests() -> None:
    files = {f"back end/{name}": text for name, text in PYTHON.items()}
    files |= {"web/package.json": NODE, "web/package-lock.json": "", "web/test/a.js": ""}
    proposal = proposed(files)
    assert [check.run for check in proposal.checks] == [
        f"cd 'back end' && {PYTEST}",
        "cd web && npm test",
    ]
    assert [check.name for check in proposal.checks] == ["back-end-pytest", "web-test"]
    assert proposal.deps == ("back end/.venv", "web/**/node_modules")
    assert proposal.inputs == (
        "back end/pyproject.toml",
        "web/package.json",
        "web/package-lock.json",
    )
    assert proposal.checks[0].junit == "back end/.gate/junit.xml"
    top = proposed(files | PYTHON)
    assert [check.run for check in top.checks] == [PYTEST]


def test_nothing_tracked_is_a_dependency() -> None:
    files = {"Makefile": "setup:\n\ttouch vendor node_modules\ntest:\n\t./t\n", "vendor/a.c": ""}
    assert proposed(files).deps == ("node_modules",)


def test_environment_files_are_brought_along_only_where_they_are_there_and_ignored() -> None:
    files = PYTHON | {".env.test": "A=1", ".gitignore": ".env*\n"}
    project = FakeProject(files, ignored={".env": "KEY=1"})
    found = propose(project)
    assert found is not None
    assert found.include == (".env",)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"README.md": ""},
        {"pyproject.toml": "[project]\nname = 'it'\n", "it.py": ""},
        {"docs/test_x.py": "import pytest\n", "examples/test_y.py": "import pytest\n"},
        {"Makefile": "all:\n\tcc a.c\nlint:\n\truff check .\n"},
        {"Makefile": "test: lint\nlint:\n\truff check .\n"},
    ],
)
def test_no_tests_is_no_gate_and_a_reason(files: dict[str, str]) -> None:
    found = examine(FakeProject(files))
    assert found.proposal is None
    assert "no tests" in found.why[0]


BAD = [
    "\0",
    "[",
    "{" * 100_000,
    "[" * 100_000,
    '{"a":' * 50_000,
    "a = " * 9,
    "x\n" * 300_000,
    "é=1",
    "=",
    "\t",
]


@pytest.mark.parametrize("text", BAD)
def test_files_that_cannot_be_read_are_passed_over_and_named(text: str) -> None:
    names = (
        *("pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "noxfile.py", "package.json"),
        *("pnpm-workspace.yaml", "Cargo.toml", "go.mod", "go.work", "composer.json", "Makefile"),
        *(
            "requirements.txt",
            "CMakeLists.txt",
            "lerna.json",
            ".github/workflows/a.yml",
            "hatch.toml",
        ),
    )
    files = dict.fromkeys(names, text) | {"tests/test_it.py": "import pytest\n"}
    found = examine(FakeProject(files))
    assert found.proposal is not None
    assert found.proposal.checks[0].name == "pytest"


@pytest.mark.parametrize(
    "unit", ["\n", " ", "a-1.", "node ", "def test(", "x\n", "test: a ", "-r "]
)
def test_files_that_repeat_themselves_take_no_time(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    names = (
        *("setup.py", "setup.cfg", "tox.ini", "noxfile.py", "hatch.toml", "Makefile", "go.work"),
        *("requirements.txt", "CMakeLists.txt", "meson.build", "CHANGES", "pnpm-workspace.yaml"),
        *(".github/workflows/a.yml", "conftest.py", "tests/test_it.py", ".yarnrc.yml", "a_test.go"),
    )
    package = json.dumps({"scripts": {"test": f"jest {text}", "posttest": text, "build": "tsc"}})
    before = time.process_time()
    propose(FakeProject(dict.fromkeys(names, text) | {"package.json": package}))
    assert time.process_time() - before < 10


@pytest.mark.parametrize("value", ["1", "[1]", '"x"', "true", "{}", "{a = 1}", "[{a = [1]}]"])
def test_values_of_another_kind_are_passed_over(value: str) -> None:
    keys = (
        *("project", "build-system", "dependency-groups", "project.name", "project.dependencies"),
        *("project.optional-dependencies", "project.optional-dependencies.test", "tool", "tool.uv"),
        *(
            "dependency-groups.test",
            "tool.poetry",
            "tool.poetry.group",
            "tool.hatch.envs",
            "tool.tox",
        ),
        *("tool.pytest.ini_options", "tool.pdm", "tool.poe.tasks", "tool.uv.default-groups"),
        *("tool.tox.env_run_base.commands", "tool.hatch.envs.test.scripts", "tool.setuptools_scm"),
    )
    for key in keys:
        files = PYTHON | {"pyproject.toml": f"{key} = {value}\n"}
        assert propose(FakeProject(files)) is not None
    others: list[Any] = [1, [1], "x", None, {"test": 1}, {"packages": 2}, [{}]]
    for other in others:
        for key in (
            "scripts",
            "workspaces",
            "devDependencies",
            "packageManager",
            "exports",
            "bin",
            "main",
        ):
            text = json.dumps({"scripts": {"test": "mocha", "build": "tsc"}} | {key: other})
            propose(FakeProject({"package.json": text, "test/a.js": ""}))


def test_names_from_a_project_stay_arguments(tmp_path: Path) -> None:
    evil = "x'; evil; '"
    pyproject = (
        '[build-system]\nrequires = []\n[project]\nname = "a$(evil)"\ndynamic = ["$(evil)"]\n'
        f'optional-dependencies."test {evil}" = ["pytest"]\n[tool.setuptools_scm]\n'
    )
    tox = (
        f'[testenv]\ndeps = $(evil)\n  `evil`\n  mock;evil\ncommands = pytest -k "{evil} `evil`"\n'
    )
    node = {"scripts": {"test": "mocha"}, "packageManager": "pnpm@1$(evil)", "workspaces": [evil]}
    folder = f"b{evil}"
    files = {
        "pyproject.toml": pyproject,
        "CHANGES": "1.0$(evil)\n",
        f"requirements/test {evil}.txt": "pytest\n",
        f"tests{evil}/test_a.py": "import pytest\n",
        "tox.ini": tox,
        "package.json": json.dumps(node),
        "test/a.js": "",
    }
    below = {f"{folder}/package.json": NODE, f"{folder}/test/a.js": ""}
    uv = files | {"uv.lock": "", ".python-version": ""}
    poetry = files | {"pyproject.toml": pyproject + "[tool.poetry]\n", "poetry.lock": ""}
    tree, marker = _tree_of_stubs(tmp_path, folder)
    for chosen in (files, below, uv, poetry):
        proposal = proposed(chosen)
        for line in (proposal.setup, *(check.run for check in proposal.checks)):
            environment = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
            ran = subprocess.run(["/bin/sh", "-ec", line], cwd=tree, env=environment, check=False)
            assert ran.returncode == 0, line
            assert not marker.exists(), line


def _tree_of_stubs(place: Path, folder: str) -> tuple[Path, Path]:
    """A tree where every program succeeds at nothing, but `evil` leaves a mark."""
    tree = place / "tree"
    for path in (place / "bin", tree / ".venv/bin", tree / "bin", tree / folder):
        path.mkdir(parents=True)
    for name in ("python3", "npm", "pnpm"):
        (place / "bin" / name).symlink_to("/bin/true")
    for name in ("pip", "python", "uv", "poetry"):
        (tree / ".venv/bin" / name).symlink_to("/bin/true")
        (tree / "bin" / name).symlink_to("/bin/true")
    marker = place / "marker"
    (place / "bin/mktemp").write_text(f"#!/bin/sh\necho {tree}\n")
    (place / "bin/evil").write_text(f"#!/bin/sh\necho evil > {marker}\n")
    for name in ("mktemp", "evil"):
        (place / "bin" / name).chmod(0o755)
    return tree, marker
