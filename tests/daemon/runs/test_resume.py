"""Runs that stopped without a result, and the role that says what becomes of them."""

from __future__ import annotations

import pytest
from tests.daemon.runs.run_ground import RunGround
from tests.daemon.runs.test_runs import PASSED
from tests.support.workshop import git

from windlass.core.errors import Conflict

ROLE = """---
description: says how it goes on
readonly: true
---

Decide.
"""


def decision(word: str) -> str:
    return f"<report>{word}: the disk was full</report>\n<result>PASS</result>"


@pytest.fixture
def stopped(board: RunGround) -> RunGround:
    """A step has committed something and taken too long; somebody decides about it."""
    roles = board.root / ".windlass" / "roles"
    roles.mkdir(exist_ok=True)
    (roles / "resume-decide.md").write_text(ROLE)
    board.run()
    board.commit(board.agent("api-1"), {"more.py": "more = 0\n"})
    board.later(4000)
    assert board.agent("api-1").role == "resume-decide"
    return board


def test_a_run_goes_on_by_the_word_of_who_decides_and_keeps_why(stopped: RunGround) -> None:
    """It waits a while first; what had been done is still there."""
    told = stopped.workshop.session(stopped.agent("api-1")).received.decode()
    assert "stopped without a result" in told
    stopped.speak("api-1", decision("retry"))
    task = stopped.task("API-1")
    assert task["state"] == "waits"
    assert "the disk was full" in task["why"]
    stopped.later(61)
    assert stopped.agent("api-1").role != "resume-decide"
    assert (stopped.workspace("api-1") / "more.py").exists()
    stopped.speak("api-1", PASSED)
    task = stopped.task("API-1")
    assert task["state"] == "landed"
    assert [verdict["answer"] for verdict in task["verdicts"]] == ["retry"]
    assert [visit["result"] for visit in task["visits"]] == ["UNKNOWN", "PASS"]


def test_a_step_that_is_restarted_finds_the_tree_as_it_was_and_loses_nothing(
    stopped: RunGround,
) -> None:
    """What it had committed is in the trash."""
    stopped.speak("api-1", decision("restart"))
    stopped.later(61)
    assert not (stopped.workspace("api-1") / "more.py").exists()
    kept = git(stopped.root, "for-each-ref", "refs/windlass/trash/api-1", "--format=%(refname)")
    assert kept.strip()


def test_a_person_overrules_what_was_deferred(stopped: RunGround) -> None:
    """`wl retry` has it go on at once; one that is at work is refused as ever."""
    stopped.speak("api-1", decision("defer"))
    stopped.later(300)
    assert stopped.task("API-1")["state"] == "waits"
    stopped.workshop.ask("task.retry", task="API-1")
    stopped.settle()
    assert stopped.task("API-1")["state"] == "works"
    assert stopped.markers()["API-1"] == "="
    with pytest.raises(Conflict, match="at work already"):
        stopped.workshop.ask("task.retry", task="API-1")


def test_a_person_drops_what_was_deferred(stopped: RunGround) -> None:
    stopped.speak("api-1", decision("defer"))
    stopped.workshop.ask("task.drop", task="API-1")
    stopped.settle()
    assert stopped.markers()["API-1"] == "N"
