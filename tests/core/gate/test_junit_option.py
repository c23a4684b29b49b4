from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.gate.junit_option import JUnitOption, junit_option

FILE = "/r/junit.xml"


def option(command: str, **environment: str) -> JUnitOption | None:
    return junit_option(command, folder="/r", environment=environment)


@pytest.mark.parametrize(
    "command",
    [
        "pytest",
        "pytest -q -n 4 tests",
        ".venv/bin/pytest",
        "python -m pytest",
        "python3.12 -X dev -m pytest -k 'not slow'",
        "uv run --frozen pytest -x",
        "poetry run pytest",
        "coverage run -m pytest",
        "CI=1 pytest",
        "cd backend && pytest",
        "timeout 60 pytest",
    ],
)
def test_pytest_is_asked_by_its_variable(command: str) -> None:
    assert option(command) == JUnitOption(
        environment={"PYTEST_ADDOPTS": f"--junitxml={FILE}"}, files=(FILE,)
    )


def test_what_the_variable_held_stays_in_it() -> None:
    found = option("pytest", PYTEST_ADDOPTS="-n 2")
    assert found
    assert shlex.split(found.environment["PYTEST_ADDOPTS"]) == ["-n", "2", f"--junitxml={FILE}"]


def test_node_keeps_the_reporter_that_people_read() -> None:
    found = option("node --test", NODE_OPTIONS="--no-warnings")
    assert found
    words = found.environment["NODE_OPTIONS"].split()
    assert words[0] == "--no-warnings"
    assert words[1:3] == ["--test-reporter=spec", "--test-reporter-destination=stdout"]
    assert words[-1] == f"--test-reporter-destination={FILE}"


def test_gotestsum_is_asked_and_java_builds_write_files_anyway() -> None:
    assert option("gotestsum ./...") == JUnitOption(
        environment={"GOTESTSUM_JUNITFILE": FILE}, files=(FILE,)
    )
    maven, gradle = option("./mvnw -B verify"), option("./gradlew test")
    assert maven
    assert gradle
    assert not maven.environment
    assert "**/target/surefire-reports/TEST-*.xml" in maven.files
    assert gradle.files == ("**/build/test-results/**/TEST-*.xml",)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "make test",
        "tox",
        "npm test",
        "cargo test",
        "go test ./...",
        "node server.js",
        "python test.py",
        "python -m unittest",
        "python -m build pytest",
        "pytest a && pytest b",
        "pytest; true",
        "pytest | tee log",
        "pytest $ARGS",
        "pytest --junitxml=mine.xml",
        "pytest --junit-xml mine.xml",
        "pytest -p no:junitxml",
        "PYTEST_ADDOPTS=-x pytest",
        "node --test --test-reporter=dot",
        "pytest 'unclosed",
        "cd $HERE && pytest",
    ],
)
def test_what_cannot_be_asked_or_is_no_plain_line_is_left_alone(command: str) -> None:
    assert option(command) is None


def test_a_folder_that_would_need_quotes_is_not_used() -> None:
    assert junit_option("pytest", folder="/a b", environment={}) is None


@given(st.text())
def test_no_line_is_too_strange(command: str) -> None:
    option(command)
