"""Jobs hear of what they are about: the rest costs them nothing, and nothing in between is lost."""

from __future__ import annotations

from typing import Any

import pytest
from tests.daemon.jobs.test_ledger import Daemon
from tests.support.contexts import REPO

from windlass.core import jobs as core
from windlass.core.events import ChangeStopped, JobWoken, Note, TurnOver, agent_subject
from windlass.core.ids import Uid
from windlass.core.jobs import Decision, Effect, Job, JobId, JobKind, JobNote, News
from windlass.core.pipeline import engine
from windlass.core.pipeline.steps import Pipeline, Step
from windlass.core.runs import moves, run
from windlass.core.runs.run_state import RunState
from windlass.core.runs.task_copy import TaskCopy
from windlass.daemon.kernel.context import Context
from windlass.store import jobs as rows
from windlass.store.store import Writing

MANY = 100
PIPELINE = Pipeline(name="one", steps=(Step(id="do", agent="worker"),))


def lands(number: int) -> RunState:
    """A run that waits for its change."""
    return RunState(
        task=TaskCopy(id=f"A-{number}", title="a"),
        pipeline=PIPELINE,
        place=engine.start(PIPELINE),
        stage="landing",
        uid=f"u{number}",
        change=f"c{number}",
    )


def waits(number: int) -> Job:
    """A job that waits since long."""
    return Job(
        id=JobId(f"job-{number:012x}"),
        kind="run",
        subject=f"task:A-{number}",
        repo=REPO,
        state=moves.begun(lands(number)),
        version=1,
        created_at=0.0,
        updated_at=0.0,
    )


def changed_rows(context: Context) -> int:
    """How many rows the writer has written until now."""
    count = context.store.write(
        lambda w: w.connection.exec_driver_sql("SELECT total_changes()").scalar_one()
    )
    return int(count)


@pytest.fixture
def waiting(context: Context) -> Daemon:
    """A daemon with many runs that wait for their changes."""

    def begin(writing: Writing) -> None:
        for number in range(MANY):
            rows.add(writing, waits(number))

    context.store.write(begin)
    daemon = Daemon(context, run.KIND)
    daemon.start()
    return daemon


def test_what_happens_to_one_of_many_runs_writes_its_row_alone(waiting: Daemon) -> None:
    before = changed_rows(waiting.context)
    held = ChangeStopped(change="c7", target="main", state="held", why="look")
    waiting.context.store.write(lambda w: w.emit(held, repo=REPO, subject="change:c7"))
    assert len(waiting.work) == 1
    waiting.settle()
    assert changed_rows(waiting.context) == before + 2  # the event, and one job


def test_what_happens_to_others_has_no_run_look_or_write(waiting: Daemon) -> None:
    before = changed_rows(waiting.context)
    over = TurnOver(session=1, said="done")

    def others(writing: Writing) -> None:
        for number in range(20):
            writing.emit(over, repo=REPO, agent=Uid(f"other{number}"))
            writing.emit(held, repo=REPO, subject="change:c7000")

    held = ChangeStopped(change="c7000", target="main", state="held", why="look")
    waiting.context.store.write(others)
    assert not waiting.work
    assert changed_rows(waiting.context) == before + 40


def test_a_run_hears_of_its_agent_and_its_change_alone() -> None:
    assert run.KIND.about({}) == frozenset()
    about = run.KIND.about(moves.begun(lands(3)))
    assert about is not None
    assert set(about) == {agent_subject(Uid("u3")), "change:c3"}


def follow(state: dict[str, Any], news: News) -> Decision:
    """Has something laid, and hears from then on what becomes of it."""
    if news.kind == core.BEGUN:
        return Decision(state, (Effect("lay", {"brick": 1}),))
    if news.kind == core.EFFECT:
        state = {**state, "about": "brick:1"}
    if news.kind == Note.kind:
        if news.data["text"] == "end":
            return Decision(state, result={})
        state = {**state, "heard": [*state["heard"], news.data["text"]]}
    return Decision(state)


def _of(state: dict[str, Any]) -> frozenset[str]:
    return frozenset({state["about"]} if "about" in state else ())


FOLLOWER = JobKind("house", follow, frozenset({Note.kind}), _of)


def tell(context: Context, text: str, subject: str = "brick:1") -> None:
    """Something becomes of a brick."""
    context.store.write(lambda w: w.emit(Note(text=text, by=""), repo=REPO, subject=subject))


@pytest.mark.parametrize("dies", [False, True])
def test_nothing_is_lost_between_the_end_of_an_effect_and_hearing_of_what_it_made(
    context: Context, dies: bool
) -> None:
    """Something else happens to the job as well before it takes in any of that."""
    daemon = Daemon(context, FOLLOWER)
    job = daemon.begin()
    daemon.work.pop(0)()
    tell(context, "too early")
    daemon.intents.perform_recorded(daemon.due.pop(0).key)
    tell(context, "cracked")
    tell(context, "of another", "brick:2")
    woken = JobWoken(job=job)
    context.store.write(lambda w: w.emit(woken, repo=REPO, subject=core.subject(job)))
    if dies:
        daemon.is_dead = True
        daemon = Daemon(context, FOLLOWER)
        daemon.start()
    daemon.settle()
    tell(context, "mended")
    daemon.settle()
    assert daemon.job(job).state["heard"] == ["cracked", "mended"]


def test_what_happens_before_the_engine_knows_whom_to_wake_for_it_is_heard(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is committed after the job's last look, and before what it waits for is noted."""
    daemon = Daemon(context, FOLLOWER)
    advance = daemon.jobs.advance
    said: list[str] = []

    def late(job_id: JobId) -> JobNote | None:
        note = advance(job_id)
        if note is not None and note.topics and not said:
            said.append("just now")
            tell(context, "just now")
        return note

    monkeypatch.setattr(daemon.jobs, "advance", late)
    job = daemon.begin()
    daemon.settle()
    assert daemon.job(job).state["heard"] == ["just now"]


def test_a_job_that_is_over_is_woken_for_nothing(context: Context) -> None:
    daemon = Daemon(context, FOLLOWER)
    daemon.begin()
    daemon.settle()
    tell(context, "end")
    daemon.settle()
    tell(context, "more")
    assert not daemon.work
