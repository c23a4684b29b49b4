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
