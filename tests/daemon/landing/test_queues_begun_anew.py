"""A queue that was set aside: the next one takes over what waits, and nothing of the past."""

from __future__ import annotations

from functools import partial

from tests.daemon.landing.landing_ground import LandingGround

from windlass.core.landing import job as landing_job
from windlass.store import jobs as job_rows
from windlass.store.store import Writing


def set_aside(ground: LandingGround) -> None:
    """Nobody drives it any more."""
    about = partial(
        job_rows.about, repo=ground.proofs_repo, kind=landing_job.KIND.name, subject="main"
    )

    def change(writing: Writing) -> None:
        job = about(writing.connection)
        assert job is not None
        job_rows.change(writing, job, status="set aside")

    ground.context.store.write(change)


def test_what_waited_lands_with_what_is_proposed_next(ground: LandingGround) -> None:
    """Also where one of them needs another; what landed or was dropped is over."""
    ground.commit({"m0.py": "m = 0\n"}, branch="landed")
    ground.submit("landed")
    ground.settle()
    for branch in ("base", "top", "gone", "new"):
        ground.commit({f"{branch}.py": "m = 1\n"}, branch=branch)
    base = ground.submit("base")
    ground.submit("top", needs=[base])
    ground.judge("drop", ground.submit("gone"))
    set_aside(ground)
    ground.start_daemon()
    ground.settle()
    assert ground.states()["base"] == "queued"
    ground.submit("new")
    ground.settle()
    assert ground.states() == {
        "landed": "landed", "base": "landed", "top": "landed", "gone": "dropped", "new": "landed",
    }  # fmt: skip


def test_a_person_who_tries_one_again_has_the_queue_back(ground: LandingGround) -> None:
    """It says that it waits, and nothing would ever become of it."""
    ground.commit({"m0.py": "m = 0\n"}, branch="mine")
    name = ground.submit("mine")
    set_aside(ground)
    ground.start_daemon()
    ground.settle()
    assert ground.states() == {"mine": "queued"}
    ground.judge("change.retry", name)
    ground.settle()
    assert ground.states() == {"mine": "landed"}
