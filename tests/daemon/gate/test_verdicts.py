"""A verdict is for exactly one tree, under exactly one gate; only what was tested is green."""

from __future__ import annotations

import pytest
from tests.daemon.gate.gate_ground import BROKEN, CODE, GATE, UNITTEST, GateGround

from windlass.core.errors import ConfigError, NotFound

EXITS_AT_ONCE = {"test_calc.py": "import os\nos._exit(0)\n"}


def checks(*lines: str) -> dict[str, str]:
    """A configuration with one check called `c`."""
    return {".windlass/config.toml": "\n".join(["[[gate.check]]", 'name = "c"', *lines])}


def test_a_broken_function_is_red_and_the_same_tree_again_is_known(ground: GateGround) -> None:
    """Broken: red, with the test's name. Mended: green from the cache, on whatever commit."""
    assert ground.outcome() == "passed"
    ground.commit(BROKEN, branch="bad")
    red = ground.prove("bad")
    assert red["outcome"] == "failed", red
    assert "test_adds" in red["checks"][0]["failed"][0]
    ground.git("checkout", "-q", "bad")
    ground.commit(CODE)  # the old content, on a new commit of main's
    ground.git("checkout", "-q", "main")
    before = ground.verdicts()
    again = ground.prove()
    assert (again["outcome"], again["cached"]) == ("passed", True)
    assert ground.verdicts() == before
    assert ground.prove(fresh=True)["cached"] is False
    assert ground.verdicts() == before + 1


def test_reds_are_counted_and_run_again(ground: GateGround) -> None:
    """Only green is reused: a red one may have been a flake."""
    ground.commit(BROKEN, branch="bad")
    for runs in (1, 2):
        assert ground.outcome("bad") == "failed"
        assert ground.verdicts() == runs


@pytest.mark.parametrize(
    ("lines", "outcome", "why"),
    [
        (['run = "true"'], "ran-nothing", "nothing says that a test ran"),
        (['run = "true"', 'tests = "none"'], "passed", ""),
        (['run = "false"', 'tests = "none"'], "failed", "ended with 1"),
        (['run = "no-such-program"'], "could-not-run", "127"),
        (['run = "sleep 100"', "timeout = 0.5"], "could-not-run", "longer than"),
        (['run = "python3 -m unittest discover -s empty"'], "ran-nothing", "ran no test"),
        (['run = "kill -9 $$"'], "could-not-run", "killed"),
    ],
)
def test_only_what_tested_something_is_green(
    ground: GateGround, lines: list[str], outcome: str, why: str
) -> None:
    """Each of the ways not to be."""
    ground.commit({**checks(*lines), "empty/keep": ""})
    done = ground.prove()
    assert done["outcome"] == outcome
    assert why in done["checks"][0]["why"]


def test_tests_that_end_the_runner_at_once_with_zero_prove_nothing(ground: GateGround) -> None:
    """Exit code 0 alone is no proof."""
    ground.commit(EXITS_AT_ONCE, branch="sly")
    assert ground.outcome("sly") == "ran-nothing"


def test_the_gate_is_that_of_the_target_and_neither_the_changes_nor_the_checkouts(
    ground: GateGround,
) -> None:
    """Who edits it in a change, or leaves an edit uncommitted, is gated as before."""
    weak = {**BROKEN, **checks('run = "true"', 'tests = "none"')}
    ground.commit(weak, branch="weaker")
    (ground.root / ".windlass" / "config.toml").write_text(weak[".windlass/config.toml"])
    done = ground.prove("weaker")
    assert (done["outcome"], done["checks"][0]["name"]) == ("failed", UNITTEST)


def test_no_gate_is_an_error_and_never_a_pass(ground: GateGround) -> None:
    """With what to do about it."""
    ground.commit({".windlass/config.toml": ""})
    with pytest.raises(ConfigError, match="has no gate"):
        ground.prove()


def test_one_check_alone_can_be_asked_for(ground: GateGround) -> None:
    """By its name; what there is not is named."""
    more = GATE.replace('"]', '", "python3 -m unittest test_calc"]')
    ground.commit({".windlass/config.toml": more})
    assert [check["name"] for check in ground.prove(check=UNITTEST)["checks"]] == [UNITTEST]
    assert ground.verdicts() == 1
    with pytest.raises(NotFound, match="no check 'mistyped'"):
        ground.prove(check="mistyped")


def test_whoever_asks_for_the_same_run_joins_it(ground: GateGround) -> None:
    """It is run once."""
    first, second = ground.begin(), ground.begin()
    assert first["job"] == second["job"]
    ground.settle()
    assert ground.verdicts() == 1
