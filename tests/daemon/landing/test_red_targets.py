"""A target that is not green halts what lands there, until it is green, however that came."""

from __future__ import annotations

import pytest
from tests.daemon.gate.gate_ground import BROKEN, CODE, Killed
from tests.daemon.landing.landing_ground import LandingGround
from tests.support.contexts import Turned

MENDED = {"calc.py": CODE["calc.py"] + "# mended\n"}
UNSET = '[gate]\ncommands = ["python3 -m unittest -v"]\nsetup = "exit 3"\n'
SET = UNSET.replace("exit 3", "true")


def minute(ground: LandingGround, clock: Turned) -> None:
    """A minute goes by."""
    clock.time += 61.0
    ground.engine.wake_due()
    ground.settle()


@pytest.fixture
def halted(ground: LandingGround) -> LandingGround:
    """Somebody broke main from outside, and a good change waits."""
    ground.commit(BROKEN)
    ground.commit({"more.py": "more = 1\n"}, branch="good")
    ground.submit("good")
    ground.settle()
    assert ground.states() == {"good": "held"}
    return ground


def test_what_was_held_goes_on_when_a_person_mends_the_target_by_hand(
    halted: LandingGround, clock: Turned
) -> None:
    """Nobody proposes anything, nobody asks for a run."""
    minute(halted, clock)
    assert halted.states() == {"good": "held"}
    halted.commit(MENDED)
    minute(halted, clock)
    assert halted.states() == {"good": "landed"}


def test_a_run_that_the_person_asked_for_says_so_at_once(halted: LandingGround) -> None:
    """They have mended it and have it gated."""
    halted.commit(MENDED)
    halted.prove()
    assert halted.states() == {"good": "landed"}


def test_a_commit_that_does_not_mend_it_is_gated_once(halted: LandingGround, clock: Turned) -> None:
    """And it is looked on."""
    halted.commit({"other.py": "other = 1\n"})
    for _ in range(3):
        minute(halted, clock)
    known = halted.verdicts()
    minute(halted, clock)
    assert (halted.states(), halted.verdicts()) == ({"good": "held"}, known)
    halted.commit(MENDED)
    minute(halted, clock)
    assert halted.states() == {"good": "landed"}


def test_nobody_looks_at_a_target_for_which_nothing_waits(
    halted: LandingGround, clock: Turned
) -> None:
    """What was held is dropped: no commit of the person's is gated."""
    halted.judge("drop", "good")
    halted.settle()
    known = halted.verdicts()
    minute(halted, clock)
    halted.commit({"other.py": "other = 1\n"})
    minute(halted, clock)
    assert halted.verdicts() == known


def test_where_the_gate_could_not_run_on_the_target_that_is_what_is_said(
    ground: LandingGround,
) -> None:
    """It is not red: nobody knows; and it goes on when the gate runs."""
    ground.commit({".windlass/config.toml": UNSET})
    ground.commit({"more.py": "more = 1\n"}, branch="good")
    name = ground.submit("good")
    ground.settle()
    shown = ground.change(name)
    assert (shown["state"], shown["why"]) == ("held", "the gate could not run on main itself")
    ground.commit({".windlass/config.toml": SET})
    ground.prove()
    assert ground.states() == {"good": "landed"}


@pytest.mark.parametrize("step", ["look.before", "look.after", "finish.before", "finish.after"])
def test_a_daemon_that_dies_while_it_looks_is_followed_by_one_that_does(
    halted: LandingGround, step: str
) -> None:
    """What was held goes on once."""
    halted.commit(MENDED)
    halted.dies_at = f"landing.recover.{step}"
    with pytest.raises(Killed):
        halted.prove()
    halted.start_daemon()
    halted.settle()
    assert halted.states() == {"good": "landed"}
