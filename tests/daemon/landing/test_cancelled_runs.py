"""Runs that nobody needs any more end, free their slot, and leave no verdict behind."""

from __future__ import annotations

import threading
from functools import partial

import pytest
from tests.daemon.gate.gate_ground import CODE, Killed
from tests.daemon.landing.landing_ground import LandingGround

from windlass.core.gate import job as gate_job
from windlass.store import jobs as job_rows


def begin_check(ground: LandingGround) -> str:
    """Does what is to be done until a check is to be run; its key."""
    while not (due := [effect.key for effect in ground.due if effect.what == gate_job.CHECK]):
        ground.work.pop(0)() if ground.work else ground.intents.perform_recorded(
            ground.due.pop(0).key
        )
    return due[0]


def open_runs(ground: LandingGround) -> int:
    """How many runs of the gate are under way."""
    jobs = ground.context.store.read(partial(job_rows.listed, status="open"))
    return len([job for job in jobs if job.kind == gate_job.KIND.name])


def test_what_was_dropped_is_not_run_once_it_has_its_slot(ground: LandingGround) -> None:
    """Its check had waited for another's."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    key = begin_check(ground)
    ground.due.clear()
    ground.judge("drop", name)
    ground.settle()
    ground.intents.perform_recorded(key)
    assert (ground.verdicts(), open_runs(ground)) == (0, 0)


def test_a_run_that_the_person_began_goes_on(ground: LandingGround) -> None:
    """They wait for it, whatever becomes of the change with the same tree."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    ground.begin("mine")
    name = ground.submit("mine")
    begin_check(ground)
    ground.judge("drop", name)
    ground.settle()
    assert (ground.verdicts(), open_runs(ground)) == (1, 0)


def test_a_person_who_asks_for_a_run_has_one_that_nobody_else_ends(ground: LandingGround) -> None:
    """It is theirs, though the queue was the first."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    begin_check(ground)
    theirs = ground.begin("mine")
    ground.judge("drop", name)
    ground.settle()
    assert ground.ended(theirs["job"])["outcome"] == "passed"


def test_a_command_that_runs_is_ended_and_nothing_is_said_of_its_tree(
    ground: LandingGround,
) -> None:
    """It would be red for no fault of its own, for ever."""
    slow = CODE["test_calc.py"].replace("import unittest\n", "import time\nimport unittest\n")
    slow = slow.replace("        self.assert", "        time.sleep(1000)\n        self.assert")
    ground.commit({"test_calc.py": slow}, branch="slow")
    name = ground.submit("slow")
    key = begin_check(ground)
    ground.due.clear()
    check = threading.Thread(target=ground.intents.perform_recorded, args=(key,))
    check.start()
    mark = f"gate-{key.replace(':', '-')}"
    while not ground.context.commands.running(mark):
        check.join(0.05)
        assert check.is_alive()
    ground.judge("drop", name)
    while check.is_alive():
        ground.settle()
        check.join(0.05)
    ground.settle()
    assert (ground.verdicts(), open_runs(ground)) == (0, 0)


@pytest.mark.parametrize("step", ["cancel.before", "cancel.after", "finish.before", "finish.after"])
def test_a_daemon_that_dies_while_it_ends_a_run_is_followed_by_one_that_does(
    ground: LandingGround, step: str
) -> None:
    """No run is left over, and none is ended that is needed."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    ground.commit({"other.py": "other = 1\n"}, branch="other")
    name = ground.submit("mine")
    begin_check(ground)
    ground.due.clear()
    ground.judge("drop", name)
    ground.dies_at = f"landing.cancel.{step}"
    with pytest.raises(Killed):
        ground.settle()
    ground.start_daemon()
    ground.submit("other")
    ground.settle()
    assert ground.states() == {"mine": "dropped", "other": "landed"}
    assert open_runs(ground) == 0
