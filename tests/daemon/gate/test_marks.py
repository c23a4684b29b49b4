"""A tree that takes its own tests away is marked, also where it is green."""

from __future__ import annotations

from tests.daemon.gate.gate_ground import CODE, UNITTEST, GateGround

MORE = CODE["test_calc.py"] + (
    "\n    def test_more(self):\n        pass\n\n    def test_other(self):\n        pass\n"
)


def test_fewer_tests_and_more_skips_are_counted_against_the_target(ground: GateGround) -> None:
    """Both are green, and said."""
    ground.commit({"test_calc.py": MORE})
    assert ground.prove()["marks"] == []
    ground.commit({"test_calc.py": CODE["test_calc.py"]}, branch="fewer")
    done = ground.prove("fewer")
    assert done["outcome"] == "passed"
    assert done["marks"] == [f"{UNITTEST} ran 1 tests, 3 before"]
    assert ground.prove("fewer")["marks"] == done["marks"]
    skipping = MORE.replace("    def test_more", "    @unittest.skip('x')\n    def test_more")
    ground.commit({"test_calc.py": skipping}, branch="skips")
    skipped = ground.prove("skips")
    assert skipped["outcome"] == "passed"
    assert f"{UNITTEST} skipped 1 tests, 0 before" in skipped["marks"]


def test_a_conftest_that_makes_an_end_with_zero_is_not_green_and_named(ground: GateGround) -> None:
    """Whether it ends the runner before a test, or calls red tests good."""
    run = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 python3 -m pytest -q"
    red = CODE["test_calc.py"].replace("3)", "4)")
    ground.commit({".windlass/config.toml": f'[gate]\ncommands = ["{run}"]\n'})
    assert ground.prove()["outcome"] == "passed"
    at_once = "import os\n\n\ndef pytest_collection():\n    os._exit(0)\n"
    ground.commit({"conftest.py": at_once, "test_calc.py": red}, branch="a")
    ended = ground.prove("a")
    assert ended["outcome"] == "ran-nothing"
    calls_good = "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"
    ground.commit({"conftest.py": calls_good, "test_calc.py": red}, branch="b")
    good = ground.prove("b")
    assert good["outcome"] == "failed"
    hides = "collect_ignore = ['test_calc.py']\n"
    ground.commit({"conftest.py": hides, "test_other.py": "def test():\n    pass\n"}, branch="c")
    hidden = ground.prove("c")
    assert hidden["outcome"] == "passed"
    for done in (ended, good, hidden):
        assert "edits what steers tests: conftest.py" in done["marks"]


def test_a_test_file_that_is_deleted_is_counted(ground: GateGround) -> None:
    """Green as what is left may be."""
    ground.commit({"test_more.py": CODE["test_calc.py"]})
    assert ground.prove()["outcome"] == "passed"
    ground.commit({"test_more.py": None}, branch="fewer")
    done = ground.prove("fewer")
    assert (done["outcome"], done["marks"]) == ("passed", [f"{UNITTEST} ran 1 tests, 2 before"])
    ground.commit({"test_more.py": None, "test_calc.py": None}, branch="none")
    assert ground.prove("none")["outcome"] == "ran-nothing"


def test_a_script_that_the_gate_calls_made_empty_is_not_green_or_named(ground: GateGround) -> None:
    """The gate itself is the target's; what it calls is the change's."""
    makefile = f"test:\n\t{UNITTEST}\n"
    ground.commit(
        {"Makefile": makefile, ".windlass/config.toml": '[gate]\ncommands = ["make test"]\n'}
    )
    assert ground.prove()["outcome"] == "passed"
    ground.commit({"Makefile": "test:\n\ttrue\n"}, branch="empty")
    done = ground.prove("empty")
    assert done["outcome"] == "ran-nothing"
    assert done["marks"] == ["edits what steers tests: Makefile"]


def test_a_runner_of_the_changes_own_is_named(ground: GateGround) -> None:
    """The gate's line calls Python's; found first is the one that has nothing to run."""
    says = "print('Ran 1 test in 0.0s\\n\\nOK')\n"
    red = "def test():\n    raise SystemExit(1)\n"
    ground.commit(
        {"unittest/__init__.py": "", "unittest/__main__.py": says, "test_calc.py": red}, branch="a"
    )
    (line,) = [mark for mark in ground.prove("a")["marks"] if "steers" in mark]
    assert line == "edits what steers tests: unittest/__init__.py, unittest/__main__.py"


def test_edits_of_what_steers_tests_are_named(ground: GateGround) -> None:
    """Not those of the rest of the same files."""
    ground.commit({"package.json": '{"scripts": {"test": "x"}, "dependencies": {}}'})
    ground.commit(
        {"package.json": '{"scripts": {"test": "x"}, "dependencies": {"a": "1"}}'}, branch="a"
    )
    assert ground.prove("a")["marks"] == []
    ground.commit(
        {"package.json": '{"scripts": {"test": "true"}}', "sub/conftest.py": ""}, branch="b"
    )
    assert ground.prove("b")["marks"] == ["edits what steers tests: package.json, sub/conftest.py"]


def test_what_is_too_large_to_be_looked_into_is_named(ground: GateGround) -> None:
    """It may say anything: a file that was not there before, and one of too many."""
    large = "#" * (1 << 18) + '\n[tool.pytest.ini_options]\naddopts = "-k nothing"\n'
    ground.commit({"pyproject.toml": large}, branch="large")
    assert ground.prove("large")["marks"] == ["edits what steers tests: pyproject.toml"]


def test_a_key_without_end_keeps_nobody_waiting(ground: GateGround) -> None:
    """The parser would take minutes for it."""
    ground.commit({"pyproject.toml": f"a{'.a' * (1 << 15)} = 1\n"}, branch="long")
    assert ground.prove("long")["marks"] == ["edits what steers tests: pyproject.toml"]
