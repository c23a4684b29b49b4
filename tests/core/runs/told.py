"""One run by itself, and what it hears."""

from __future__ import annotations

from typing import Any

from windlass.core import jobs
from windlass.core.events import SessionEnded, TurnOver
from windlass.core.ids import Uid
from windlass.core.jobs import Decision, News
from windlass.core.pipeline import engine
from windlass.core.pipeline.step_roles import StepRole
from windlass.core.pipeline.steps import Pipeline, Step
from windlass.core.runs import moves, run
from windlass.core.runs.run_state import RunState
from windlass.core.runs.task_copy import TaskCopy
from windlass.core.shapes import convert

PIPELINE = Pipeline(name="two", steps=(Step(id="do", agent="worker"), Step(id="see", agent="eye")))
WORKER = StepRole(name="worker", timeout=100)
TASK = TaskCopy(id="A-1", title="a")


class Told:
    """One run, and what it hears."""

    def __init__(self, **more: Any) -> None:
        known = {"task": TASK, "pipeline": PIPELINE, "roles": {"worker": WORKER}, **more}
        state = RunState(place=engine.start(known["pipeline"]), **known)
        self.last = Decision(moves.begun(state))
        self._number = 0
        self.now = 1000.0

    @property
    def state(self) -> RunState:
        """Where it stands."""
        return convert(self.last.state, RunState)

    @property
    def asked(self) -> str:
        """The effect that it wants now."""
        return self.last.effects[0].what if self.last.effects else ""

    @property
    def order(self) -> dict[str, Any]:
        """What that effect has to know."""
        return self.last.effects[0].data

    def hear(self, kind: str, *, agent: str | None = None, **data: Any) -> Told:
        """Something happens."""
        self._number += 1
        news = News(
            id=self._number,
            kind=kind,
            data=data,
            at=self.now,
            agent=Uid(agent) if agent else None,
        )
        self.last = run.advance(self.last.state, news)
        return self

    def done(self, what: str, **result: Any) -> Told:
        """An effect is done."""
        return self.hear(jobs.EFFECT, what=what, status="done", result=result)

    def failed(self, what: str, kind: str = "unavailable") -> Told:
        """An effect has failed."""
        error = {"kind": kind, "message": "no"}
        return self.hear(jobs.EFFECT, what=what, status="failed", error=error)

    def turn(self, session: int, said: str = "", **more: Any) -> Told:
        """A turn of its agent ends."""
        return self.hear(TurnOver.kind, agent="u", session=session, said=said, **more)

    def ends(self, session: int) -> Told:
        """A session of its agent ends."""
        return self.hear(SessionEnded.kind, agent="u", session=session, how="with 1")

    def later(self, seconds: float) -> Told:
        """Time passes, and it is woken."""
        self.now += seconds
        return self.hear(jobs.WOKEN)
