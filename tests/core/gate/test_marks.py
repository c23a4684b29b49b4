"""Which files could decide which tests run."""

from __future__ import annotations

import pytest

from windlass.core.gate import marks
from windlass.core.gate.spec import GateSpec

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
    assert marks.may_steer(path, GATE)


@pytest.mark.parametrize(
    "path", ["src/pytest.py", "docs/conftest.md", "src/helper.rb", "jest.md", "tests/test_a.py"]
)
def test_code_and_tests_do_not(path: str) -> None:
    assert not marks.may_steer(path, GATE)
