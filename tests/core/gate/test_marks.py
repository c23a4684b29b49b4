"""Which files could decide which tests run."""

from __future__ import annotations

import pytest

from windlass.core.gate import marks
from windlass.core.gate.spec import Check, GateSpec

GATE = GateSpec(checks=())


@pytest.mark.parametrize(
    "path",
    [
        *("conftest.py", "tests/deep/conftest.py", "pytest.ini", ".pytest.toml", "tox.toml"),
        *("web/jest.config.mjs", "web/jest.setup.ts", "web/src/setupTests.js", "karma.conf.js"),
        *(".nycrc.json", "spec/spec_helper.rb", "test/test_helper.exs", ".config/nextest.toml"),
        *("tests/unit.runsettings", "tests/xunit.runner.json", "package.json", "pyproject.toml"),
    ],
)
def test_what_test_runners_read_may_steer_them(path: str) -> None:
    assert marks.may_steer([path, f"a\n/{path}"], GATE) == [path, f"a\n/{path}"]


@pytest.mark.parametrize(
    "path",
    [
        *("unittest/__main__.py", "unittest/__init__.py", "unittest.py", "unittest", "pytest.py"),
        *("src/pytest.py", "_pytest/__init__.py", "argparse.py", "lib/json/__init__.py", "tox.py"),
        *("traceback.cpython-312-x86_64-linux-gnu.so", "pluggy/__init__.pyc"),
        *("tests/__pycache__/test_a.cpython-312.pyc", "evil.egg-info/entry_points.txt"),
        *("node_modules/.bin/jest", "web/node_modules/jest/package.json", "node_modules"),
        *(".venv/bin/pytest", "venv/lib/python3.12/site-packages/a.pth", ".npmrc", ".pnp.cjs"),
        *(".yarn/releases/yarn-4.cjs", "vendor/bin/phpunit", ".cargo/config.toml"),
    ],
)
def test_what_stands_in_the_place_of_a_runner_steers_the_tests(path: str) -> None:
    """It would be found first, and may say that all is well."""
    assert marks.may_steer([path], GATE) == [path]
    assert marks.of_edits([marks.Edit(path, None, "")], GATE)


def test_a_gate_says_itself_what_it_runs_and_where_that_is_looked_for() -> None:
    lines = ("cd backend; python3 -m own.checks", "PYTHONPATH=deps:$PWD/more ./run.sh", "task test")
    gate = GateSpec(checks=tuple(Check(name=line, run=line) for line in lines))
    found = [
        *("own/checks.py", "own/__init__.py", "backend/unittest/__main__.py", "run.sh"),
        *("backend/own/__init__.py", "deps/pytest.py", "more/json.py", "Taskfile.yml"),
    ]
    others = ["own/more.py", "other/unittest/__main__.py", "other/pytest.py", "Rakefile"]
    assert marks.may_steer([*found, *others], gate) == found


def test_a_path_is_named_in_one_line() -> None:
    (line,) = marks.of_edits([marks.Edit("a\nb/conftest.py", None, "")], GATE)
    assert "\n" not in line


@pytest.mark.parametrize(
    "path",
    [
        *("docs/conftest.md", "src/helper.rb", "jest.md", "tests/test_a.py", "app/types.py"),
        *("tests/unittest/test_a.py", "cmd/main.go", "code/read.py", "src/app/json/__init__.py"),
        *("unittest/README.md", "html/index.html", "select.sql", "pytest/plan.md", "vendor/a.go"),
    ],
)
def test_code_and_tests_do_not(path: str) -> None:
    assert not marks.may_steer([path], GATE)
