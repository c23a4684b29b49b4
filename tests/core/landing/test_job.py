"""The job that lands: who proposes again and again has nobody else wait."""

from __future__ import annotations

from typing import Any

import pytest

from windlass.core import jobs
from windlass.core.gate import job as gate_job
from windlass.core.ids import RepoId
from windlass.core.jobs import Job, JobId, News
from windlass.core.landing import job as landing


class Queue:
    """A job and its effects, done by the test, which tells what each commits as the daemon does."""

    def __init__(self) -> None:
        self.data = landing.begun("main")
        self.asked: list[dict[str, Any]] = []
        """The groups that were tried, each with the heads that it had."""
        self.landed: list[tuple[str, ...]] = []
        self.stopped: list[tuple[str, str]] = []
        self.heads: dict[str, str] = {}
        self.runs = 0
        self._making: tuple[str, int, dict[str, Any]] | None = None
        self._sequence = 0
        self.cancelled: list[str] = []
        """The runs that nobody needs any more."""
        self.told: list[str] = []
        """The effects whose failure the person hears of."""

    def hear(self, kind: str, **data: Any) -> None:
        """Tells the job of something, and notes what it has done."""
        decision = landing.advance(self.data, News(id=1, kind=kind, at=0.0, data=data))
        self.data = decision.state
        for effect in decision.effects:
            self._sequence += 1
            if effect.what == landing.CANCEL:
                self.cancelled += effect.data["runs"]
                continue
            if effect.what == landing.RECOVER:
                continue
            if effect.what == landing.TELL:
                self.told.append(effect.data["what"])
                continue
            assert self._making is None
            self._making = (effect.what, self._sequence, effect.data)

    def propose(self, name: str, head: str) -> None:
        """Proposes a revision of a change."""
        self.heads[name] = head
        self.hear("change.queued", change=name, target="main", head=head)

    def finish_effect(self) -> None:
        """Ends what is under way: a try has its run begun, a landing moves the branch."""
        assert self._making is not None
        (what, number, data), self._making = self._making, None
        result: dict[str, Any] = {"changes": []}
        if what == landing.TRY:
            (group,) = data["groups"]
            self.asked.append({name: data["heads"][name] for name in group})
            self.runs += 1
            made = {"group": group, "tree": "t", "job": f"run{self.runs}"}
            result = {"tip": "tip", "tries": [made], "stopped": [], "deferred": []}
        elif what == landing.LAND:
            group = data["tried"]["group"]
            self.landed.append(tuple(group))
            for name in group:
                if self.heads[name] == data["heads"][name]:
                    self.hear("change.landed", change=name)
            result = {"landed": True, "group": group, "in_the_way": {}}
        elif what == landing.STOP:
            result = {"changes": [stopped["change"] for stopped in data["stopped"]]}
            for stopped in data["stopped"]:
                if self.heads[stopped["change"]] == stopped["head"]:
                    self.stopped.append((stopped["change"], stopped["state"]))
                    self.hear("change.stopped", change=stopped["change"], state=stopped["state"])
        self.end_effect(what, number, result=result)

    def end_effect(self, what: str, number: int, **ended: Any) -> None:
        """Tells of the end of an effect, which need not be the one that is under way."""
        self.hear(jobs.EFFECT, **{"what": what, "number": number, "status": "done", **ended})

    def fail_effect(self, status: str = "failed") -> int:
        """Has what is under way fail; which it was."""
        assert self._making is not None
        (what, number, _), self._making = self._making, None
        self.end_effect(what, number, status=status, error={"message": "it broke"})
        return number

    def end_run(self, number: int, outcome: str = "passed") -> None:
        """Ends a run of the gate."""
        result = {"outcome": outcome}
        self.hear("job.done", what=gate_job.KIND.name, job=f"run{number}", result=result)

    def cancel_run(self, number: int) -> None:
        """Ends a run because somebody wanted that."""
        result = {"outcome": "could-not-run", "cancelled": True}
        self.hear("job.done", what=gate_job.KIND.name, job=f"run{number}", result=result)

    def move_away(self) -> None:
        """Ends a landing that finds the target elsewhere: all is tried again from there."""
        (what, number, _), self._making = self._making or ("", 0, {}), None
        result = {"landed": False, "group": [], "in_the_way": {}}
        self.end_effect(what, number, result=result)

    def wait_for_checkout(self) -> float:
        """Ends a landing that finds a checkout in use; the seconds until it is looked at again."""
        (what, number, _), self._making = self._making or ("", 0, {}), None
        self.end_effect(what, number, result={"landed": False, "waits": "main is being rebased"})
        return float(self.data["wake_at"])

    @property
    def is_idle(self) -> bool:
        """Whether no effect is under way."""
        return self._making is None


def test_who_is_revised_while_it_is_tried_has_the_others_tried_without_it() -> None:
    """Else whoever proposes often enough would keep everybody from landing."""
    queue = Queue()
    queue.propose("c1", "restless 0")
    queue.finish_effect()
    queue.propose("c2", "patient")
    for number in range(1, 20):
        queue.propose("c1", f"restless {number}")
        if not queue.is_idle:
            queue.finish_effect()
    queue.end_run(2)
    queue.finish_effect()
    assert queue.landed == [("c2",)]
    assert queue.asked[1] == {"c2": "patient"}


def test_one_that_is_revised_again_and_again_has_no_more_than_one_run_in_vain() -> None:
    """Its next one begins when that is over, with what it has then."""
    queue = Queue()
    queue.propose("c1", "0")
    queue.finish_effect()
    for number in range(1, 20):
        queue.propose("c1", str(number))
    assert queue.is_idle
    assert queue.runs == 1
    queue.end_run(1)
    queue.finish_effect()
    assert queue.asked[-1] == {"c1": "19"}
    queue.end_run(2)
    queue.finish_effect()
    assert queue.landed == [("c1",)]


def test_a_revision_that_comes_while_a_try_is_made_or_lands_counts_as_well() -> None:
    """What was made with the one before says nothing, and takes nobody along."""
    queue = Queue()
    queue.propose("c1", "0")
    queue.propose("c1", "1")
    queue.propose("c2", "patient")
    queue.finish_effect()
    queue.finish_effect()
    assert queue.asked[-1] == {"c2": "patient"}
    queue.end_run(2)
    queue.finish_effect()
    assert queue.landed == [("c2",)]


def test_what_is_revised_while_its_stop_is_told_stays_in_the_queue() -> None:
    """The telling was of the revision before, and has passed over this one."""
    queue = Queue()
    queue.propose("c1", "bad")
    queue.finish_effect()
    queue.end_run(1, "failed")
    queue.finish_effect()
    queue.end_run(2)
    queue.propose("c1", "good")
    queue.finish_effect()
    assert queue.stopped == []
    queue.finish_effect()
    assert queue.asked[-1] == {"c1": "good"}
    queue.end_run(3)
    queue.finish_effect()
    assert queue.landed == [("c1",)]


def test_what_is_stopped_and_proposed_again_before_the_effect_ends_stays_in_the_queue() -> None:
    """It left by the event, and came back by the next one."""
    queue = Queue()
    queue.propose("c1", "bad")
    queue.finish_effect()
    queue.end_run(1, "failed")
    queue.finish_effect()
    queue.end_run(2)
    queue.hear("change.stopped", change="c1", state="rejected")
    queue.propose("c1", "good")
    queue.finish_effect()
    assert not queue.is_idle, "it is tried again"
    queue.finish_effect()
    assert queue.asked[-1] == {"c1": "good"}


def test_what_is_revised_while_the_one_before_lands_stays_in_the_queue() -> None:
    """What landed is the revision before; this one is news."""
    queue = Queue()
    queue.propose("c1", "old")
    queue.finish_effect()
    queue.end_run(1)
    queue.propose("c1", "new")
    queue.finish_effect()
    queue.finish_effect()
    assert queue.asked[-1] == {"c1": "new"}


def test_an_earlier_effect_that_ends_once_more_is_not_taken_for_the_one_under_way() -> None:
    """What was set aside may be tried again by hand, while the queue is at something else."""
    queue = Queue()
    queue.propose("c1", "0")
    first = queue.fail_effect("set aside")
    queue.finish_effect()
    assert queue.stopped == [("c1", "held")]
    queue.propose("c1", "1")
    late = {"tip": "elsewhere", "tries": [], "stopped": [], "deferred": []}
    queue.end_effect(landing.TRY, first, result=late)
    queue.finish_effect()
    queue.end_run(1)
    queue.finish_effect()
    assert queue.landed == [("c1",)]


def test_a_job_of_an_older_release_goes_on_with_the_effect_that_it_had_begun() -> None:
    """That one is known by its name; the next ones by their numbers."""
    queue = Queue()
    queue.propose("c1", "0")
    older = {k: v for k, v in queue.data.items() if k not in ("sequence", "number")}
    job = Job(
        id=JobId("job-1"), kind="landing", subject="main", repo=RepoId("r"), state=older,
        version=1, sequence=7, created_at=0.0, updated_at=0.0,
    )  # fmt: skip
    queue.data = landing.KIND.upgraded(job)
    queue.finish_effect()
    queue.end_run(1)
    assert queue.data["number"] == 9, "the first was a look at the target"


@pytest.mark.parametrize("what", [landing.PROPOSE, landing.RETIRE, landing.ORPHAN])
def test_what_fails_beside_the_queue_is_told(what: str) -> None:
    """The queue waits for none of these, and nobody else hears how they end."""
    failed = {"number": 3, "what": what, "status": "failed", "error": {"message": "m", "hint": "h"}}
    news = News(id=1, kind=jobs.EFFECT, at=0.0, data=failed)
    (effect,) = landing.advance(landing.begun("main"), news).effects
    assert effect == (landing.TELL, {"what": what, "number": 3, "why": "m; h"})
    done = News(id=2, kind=jobs.EFFECT, at=0.0, data={**failed, "status": "done"})
    assert landing.advance(landing.begun("main"), done).effects == ()


def test_a_stop_that_failed_is_tried_again_and_told_once() -> None:
    """The queue goes on, and what could not be told of is still in it."""
    queue = Queue()
    queue.propose("c1", "bad")
    queue.finish_effect()
    queue.end_run(1, "failed")
    queue.finish_effect()
    queue.end_run(2)
    for _ in range(3):
        queue.fail_effect()
        assert queue.data["wake_at"] is not None
        queue.hear(jobs.WOKEN)
    assert queue.told == [landing.STOP]
    queue.finish_effect()
    assert queue.stopped == [("c1", "rejected")]
    assert queue.data["misses"] == 0


def test_the_run_of_what_left_or_is_another_by_now_is_ended_once() -> None:
    """It would hold the slot that the next one needs."""
    queue = Queue()
    queue.propose("c1", "0")
    queue.finish_effect()
    queue.propose("c1", "1")
    queue.propose("c1", "2")
    assert queue.cancelled == ["run1"]
    queue.cancel_run(1)
    queue.finish_effect()
    assert queue.asked[-1] == {"c1": "2"}
    queue.hear("change.stopped", change="c1", state="dropped")
    assert queue.cancelled == ["run1", "run2"]
    queue.cancel_run(2)
    assert queue.is_idle


def test_a_run_that_was_cancelled_says_nothing_and_who_needs_it_is_tried_again() -> None:
    """It may be the same tree as another's, which left."""
    queue = Queue()
    queue.propose("c1", "0")
    queue.finish_effect()
    queue.cancel_run(1)
    queue.finish_effect()
    queue.end_run(2)
    queue.finish_effect()
    assert queue.landed == [("c1",)]
    assert queue.stopped == []


def test_what_lands_ends_the_runs_of_the_others() -> None:
    """They are on a tip that is no more."""
    queue = Queue()
    queue.propose("c1", "0")
    queue.finish_effect()
    queue.propose("c2", "0")
    assert queue.cancelled == []
    queue.end_run(1)
    queue.finish_effect()
    assert queue.landed == [("c1",)]
    queue.finish_effect()
    queue.propose("c1", "1")
    queue.end_run(2)
    queue.finish_effect()
    assert queue.landed == [("c1",), ("c2",)]


def test_a_run_of_one_that_was_dropped_while_it_was_begun_is_ended() -> None:
    """The effect ends with a run that nobody needs."""
    queue = Queue()
    queue.propose("c1", "0")
    queue.hear("change.stopped", change="c1", state="dropped")
    queue.finish_effect()
    assert queue.cancelled == ["run1"]
    assert queue.is_idle


def test_who_was_tried_to_the_end_as_it_is_waits_with_the_others_again() -> None:
    """It was revised once, long ago."""
    queue = Queue()
    queue.propose("c1", "0")
    queue.finish_effect()
    queue.propose("c1", "1")
    queue.cancel_run(1)
    queue.finish_effect()
    queue.end_run(2)
    queue.propose("c2", "0")
    queue.move_away()
    queue.finish_effect()
    assert queue.asked[-1] == {"c1": "1", "c2": "0"}


def test_a_checkout_that_is_in_use_for_long_is_looked_at_less_and_less_often() -> None:
    """A lock of git's is gone in a moment, a rebase may take a day; each look is written down."""
    queue = Queue()
    queue.propose("c1", "head")
    queue.finish_effect()
    queue.end_run(1)
    pauses = []
    for _ in range(8):
        pauses.append(queue.wait_for_checkout())
        queue.hear(jobs.WOKEN)
    assert pauses == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]
    queue.finish_effect()
    assert queue.landed == [("c1",)]
