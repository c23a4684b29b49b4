"""The job that lands: who proposes again and again has nobody else wait."""

from __future__ import annotations

from typing import Any

from windlass.core import jobs
from windlass.core.gate import job as gate_job
from windlass.core.jobs import News
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
        self._making: tuple[str, dict[str, Any]] | None = None

    def hear(self, kind: str, **data: Any) -> None:
        """Tells the job of something, and notes what it has done."""
        decision = landing.advance(self.data, News(id=1, kind=kind, at=0.0, data=data))
        self.data = decision.state
        for effect in decision.effects:
            assert self._making is None
            self._making = (effect.what, effect.data)

    def propose(self, name: str, head: str) -> None:
        """Proposes a revision of a change."""
        self.heads[name] = head
        self.hear("change.queued", change=name, target="main", head=head)

    def finish_effect(self) -> None:
        """Ends what is under way: a try has its run begun, a landing moves the branch."""
        assert self._making is not None
        (what, data), self._making = self._making, None
        result: dict[str, Any] = {"changes": []}
        if what == landing.TRY:
            (group,) = data["groups"]
            self.asked.append({name: data["heads"][name] for name in group})
            self.runs += 1
            made = {"group": group, "tree": "t", "job": f"run{self.runs}"}
            result = {"tip": "tip", "tries": [made], "stopped": [], "later": []}
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
        self.hear(jobs.EFFECT, what=what, status="done", result=result)

    def end_run(self, number: int, outcome: str = "passed") -> None:
        """Ends a run of the gate."""
        result = {"outcome": outcome}
        self.hear("job.done", what=gate_job.KIND.name, job=f"run{number}", result=result)

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
