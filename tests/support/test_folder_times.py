"""The table of slow folders at the end of a run, as a real run of pytest prints it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_PHASES_AS_LONG_AS_THE_FOLDER_SAYS = """
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    report.duration = float(item.path.parent.name)
    return report
"""
_ALONE, _BESIDE_ANOTHER = ("-p", "no:xdist"), ("-n", "2")


@pytest.mark.parametrize("workers", [_ALONE, _BESIDE_ANOTHER])
def test_the_ten_slowest_folders_are_told_with_all_phases_of_their_tests(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    for number in range(1, 12):
        _tests_in(tmp_path / "some" / str(number), count=1)
    _tests_in(tmp_path / "some/6/deeper/5", count=3)
    said = _run(tmp_path, *workers)
    table = said[said.index(next(line for line in said if "slowest folders" in line)) + 1 : -1]
    assert table[:3] == [
        "   45.0 s  some/6/deeper/5  (3 tests)",
        "   33.0 s  some/11  (1 test)",
        "   30.0 s  some/10  (1 test)",
    ]
    assert table[-1] == "    9.0 s  some/3  (1 test)"
    assert len(table) == 10
    assert "14 passed in" in said[-1]


def test_a_quiet_run_tells_of_folders_if_there_are_two(tmp_path: Path) -> None:
    _tests_in(tmp_path / "1", count=1)
    _tests_in(tmp_path / "2", count=1)
    both, fewer = _run(tmp_path, "-q"), _run(tmp_path, "-q", "2")
    assert both[-3:-1] == ["    6.0 s  2  (1 test)", "    3.0 s  1  (1 test)"]
    assert not [line for line in fewer if "slowest" in line or " s  " in line]
    assert "1 passed in" in fewer[-1]


def _tests_in(folder: Path, *, count: int) -> None:
    folder.mkdir(parents=True)
    lines = [f"def test_{number}(): pass\n" for number in range(count)]
    (folder / "test_it.py").write_text("".join(lines))


def _run(folder: Path, *args: str) -> list[str]:
    """The lines that a run of the tests in a folder prints."""
    (folder / "conftest.py").write_text(_PHASES_AS_LONG_AS_THE_FOLDER_SAYS)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    line = [sys.executable, "-m", "pytest", "-p", "tests.support.folder_times", *args]
    env = {**os.environ, "PYTHONPATH": str(_ROOT)}
    done = subprocess.run(line, cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()
