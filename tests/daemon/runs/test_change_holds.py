"""A change that no daemon survived: its run says so, and goes on by the word of the person."""

from __future__ import annotations

from functools import partial

import pytest
from tests.daemon.runs.run_ground import RunGround
from tests.daemon.runs.test_runs import PASSED

from windlass.core.errors import Conflict
from windlass.core.landing import job as landing_job
from windlass.store import jobs as job_rows
from windlass.store.store import Writing


@pytest.fixture
def held(board: RunGround) -> RunGround:
    """The first task is done, and three daemons died when its change was to be tried."""
    board.run()
    board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
    board.die_in(landing_job.TRY)
    board.speak("api-1", PASSED)
    return board


def test_its_run_says_why_it_waits_and_the_work_on_the_board_is_over(held: RunGround) -> None:
    task = held.task("API-1")
    assert (task["state"], task["is_over"]) == ("waits", False)
    assert "the daemon died 3 times" in task["why"]
    assert "wl retry API-1" in task["why"]
    held.later(31)
    shown = held.workshop.ask("runs")
    assert (shown["is_over"], shown["blocked"]) == (True, ["API-2"])
    assert held.markers() == {"API-1": "P", "API-2": " "}


def test_it_lands_when_the_person_has_it_tried_again(held: RunGround) -> None:
    held.workshop.ask("task.retry", task="API-1")
    held.settle()
    assert held.task("API-1")["state"] == "landed"
    assert held.markers()["API-1"] == "x"
    with pytest.raises(Conflict, match="is done"):
        held.workshop.ask("task.retry", task="API-1")


def test_a_change_whose_queue_was_set_aside_is_held_too(board: RunGround) -> None:
    """Nothing lands of what waits in it, and no event tells of that."""
    board.run()
    board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})

    repo = board.agent("api-1").repo

    def put_aside(writing: Writing) -> None:
        about = partial(job_rows.about, repo=repo, kind=landing_job.KIND.name, subject="main")
        queue = about(writing.connection)
        assert queue is not None
        job_rows.change(writing, queue, status="set aside")

    board.before(landing_job.TRY, lambda: board.workshop.context.store.write(put_aside))
    board.speak("api-1", PASSED)
    assert "the queue of main was set aside" in board.task("API-1")["why"]
    board.drive()
    board.workshop.ask("task.retry", task="API-1")
    board.settle()
    assert board.task("API-1")["state"] == "landed"
