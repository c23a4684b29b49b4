"""Jobs across daemons: no wake-up is lost, no effect happens twice, whoever dies where."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.contexts import REPO, Turned

from windlass.core import jobs as core
from windlass.core.errors import UserError
from windlass.core.events import Note
from windlass.core.jobs import Decision, DueEffect, Effect, Heard, Job, JobId, JobKind, News
from windlass.daemon.jobs.ledger import Jobs
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.engine.embedded import EmbeddedEngine
from windlass.store import jobs as rows
from windlass.store import rows as event_rows
from windlass.store.store import Event


class Killed(BaseException):
    """The daemon ends here."""


def build(state: dict[str, Any], news: News) -> Decision:
    """Lays brick after brick, waits an hour after the second; is over after `most`, or if told."""
    if news.kind == core.CANCELLED:
        return Decision(state, result={"laid": state["laid"], "why": news.data["why"]})
    if news.kind == "note":
        return Decision({**state, "heard": [*state["heard"], news.data["text"]]}, wake_at=None)
    if news.kind == core.EFFECT:
        if news.data["status"] != "done":
            return Decision(state, result={"failed": news.data["error"]["message"]})
        state = {**state, "laid": state["laid"] + 1}
        if state["laid"] == 2:
            return Decision(state, wake_at=news.at + 3600)
    if state["laid"] == state["most"]:
        return Decision(state, result={"laid": state["laid"], "heard": state["heard"]})
    return Decision(state, (Effect("lay", {"brick": state["laid"]}),))


KIND = JobKind("house", build, hears=frozenset({"note"}))


class Daemon:
    """One daemon after another on the same store: the work is done when the test says so."""

    def __init__(self, context: Context, kind: JobKind = KIND, *, fails: str = "") -> None:
        self.context = context
        self.laid: list[int] = []
        self.told: list[str] = []
        self.dies_at = ""
        self._fails = fails
        lay = Step("lay", self._lay)
        operation = Operation("lay", (lay,), lambda _: [], lambda work: dict(work.data))
        self.intents = Intents(context, (operation,))
        self.jobs = Jobs(context, self.intents, tell=lambda _w, _j, why: self.told.append(why))
        self.jobs.add((kind,))
        self.work: list[Any] = []
        self.due: list[DueEffect] = []
        self.engine = EmbeddedEngine(
            self.jobs, context.clock, begin=self._begin, perform=self.due.append
        )
        self.is_dead = False
        context.store.listen(self._heed)
        context.failpoints.reached = self._reached  # type: ignore[method-assign]

    def start(self) -> None:
        """Takes over what there is, and does everything that follows."""
        self.engine.open()
        self.settle()

    def settle(self) -> None:
        """Does what is to be done until nothing is left."""
        while self.work or self.due:
            if self.work:
                self.work.pop(0)()
            else:
                self.intents.perform_recorded(self.due.pop(0).key)

    def live_on(self, clock: Turned) -> None:
        """Does what is to be done, now and after two hours."""
        self.settle()
        clock.time += 7200
        self.engine.wake_due()
        self.settle()

    def begin(self, most: int = 3) -> JobId:
        """Begins a house."""
        state = {"laid": 0, "most": most, "heard": []}
        job = self.context.store.write(
            lambda w: self.jobs.begin(w, "house", repo=REPO, subject="h", state=state)
        )
        return job.id

    def say(self, text: str) -> None:
        """Has something happen that houses hear of."""
        self.context.store.write(lambda w: w.emit(Note(text=text, by=""), repo=REPO))

    def job(self, job: JobId) -> Job:
        """What is recorded of a job."""
        found = self.context.store.read(lambda c: rows.find(c, job))
        assert found is not None
        return found

    def _lay(self, work: RunningIntent) -> None:
        if self._fails:
            raise UserError(self._fails, "")
        self.laid.append(work.data["brick"])

    def _begin(self, work: Any) -> bool:
        self.work.append(work)
        return True

    def _heed(self, events: list[Event]) -> None:
        if self.is_dead:
            return
        self.engine.heed([Heard(event.kind, event.repo, event.subject) for event in events])

    def _reached(self, name: str) -> None:
        if name == self.dies_at:
            self.is_dead = True
            raise Killed(name)


@pytest.fixture
def daemon(context: Context) -> Daemon:
    """The first daemon."""
    return Daemon(context)


def test_a_job_goes_on_until_it_is_over(daemon: Daemon, clock: Turned) -> None:
    """Each effect's end is what it goes on by; a moment that it waits for is another."""
    job = daemon.begin()
    daemon.settle()
    assert daemon.laid == [0, 1]
    assert daemon.job(job).wake_at is not None
    clock.time += 3601
    daemon.engine.wake_due()
    daemon.settle()
    assert daemon.laid == [0, 1, 2]
    assert (daemon.job(job).status, daemon.job(job).result) == ("done", {"laid": 3, "heard": []})


def wait(state: dict[str, Any], news: News) -> Decision:
    """Waits for an hour from its begin on, whatever it hears."""
    if news.kind == core.WOKEN:
        return Decision(state, result={"heard": state["heard"]})
    if news.kind == "note":
        state = {**state, "heard": [*state["heard"], news.data["text"]]}
    state = {"until": news.at + 3600, **state}
    return Decision(state, wake_at=state["until"])


@pytest.mark.parametrize("step", [-7200.0, 7200.0])
def test_a_job_waits_as_long_as_it_meant_to_though_the_hour_is_set(
    context: Context, clock: Turned, step: float
) -> None:
    """It hears of something meanwhile, and is not reckoned anew from the hour that it is then."""
    daemon = Daemon(context, JobKind("house", wait, hears=frozenset({"note"})))
    job = daemon.begin()
    daemon.settle()
    clock.set(step)
    daemon.say("rain")
    daemon.settle()
    for minutes, status in ((30, "open"), (31, "done")):
        clock.time += minutes * 60
        daemon.engine.wake_due()
        daemon.settle()
        assert daemon.job(job).status == status, minutes
    assert daemon.job(job).result == {"heard": ["rain"]}


@pytest.mark.parametrize("restarts", [1, 2])
def test_a_job_waits_no_longer_because_the_clock_was_set_back_before_the_next_daemon(
    context: Context, clock: Turned, restarts: int
) -> None:
    """What it waits for is kept as a time of day, and was an hour away when it was asked for."""
    kind = JobKind("house", wait)
    first = Daemon(context, kind)
    job = first.begin()
    first.settle()
    clock.set(-7200.0)
    for _ in range(restarts):
        daemon = Daemon(context, kind)
        daemon.start()
    for minutes, status in ((59, "open"), (2, "done")):
        clock.time += minutes * 60
        daemon.engine.wake_due()
        daemon.settle()
        assert daemon.job(job).status == status, minutes


def test_what_a_job_hears_while_nobody_drives_it_is_not_lost(
    context: Context, clock: Turned
) -> None:
    """The next daemon has it read on from its cursor, in order, once."""
    first = Daemon(context)
    job = first.begin()
    first.settle()
    first.work.clear()
    first.say("rain")
    first.say("sun")  # committed, and the daemon dies before any job is told
    second = Daemon(context)
    second.start()
    assert second.job(job).state["heard"] == ["rain", "sun"]
    clock.time += 7200
    second.engine.wake_due()
    second.settle()
    third = Daemon(context)
    third.start()
    assert third.job(job).state["heard"] == ["rain", "sun"]


POINTS = [
    "job.house.advance.before",
    "job.house.advance.after",
    "lay.lay.before",
    "lay.lay.after",
    "lay.finish.before",
    "lay.finish.after",
]


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("nth", [1, 2])
def test_a_daemon_that_dies_is_followed_by_one_that_goes_on(
    context: Context, clock: Turned, point: str, nth: int
) -> None:
    """Wherever it dies, the job ends with all its bricks, and its effects are numbered once."""
    first = Daemon(context)
    job = first.begin(2)
    for _ in range(nth):
        first.dies_at = point
        with pytest.raises(Killed):
            first.live_on(clock)
        first = Daemon(context)
        first.engine.open()
    first.live_on(clock)
    over = first.job(job)
    assert (over.status, over.result) == ("done", {"laid": 2, "heard": []})
    assert over.sequence == 2


def test_a_daemon_goes_on_that_died_in_what_an_effect_had_done_for_it(context: Context) -> None:
    """That is kept under a key of its own, which begins with the effect's, and is no effect."""
    first = Daemon(context)
    job = first.begin(1)
    first.engine.open()
    first.work.pop(0)()
    (effect,) = first.due
    first.dies_at = "lay.lay.before"
    inner = IntentDraft(REPO, None, lambda _: {"brick": 7})
    with pytest.raises(Killed):
        first.intents.perform("lay", f"{effect.key}:lay", lambda: inner)
    second = Daemon(context)
    second.start()
    assert second.job(job).status == "done"
    assert second.laid == [0]


def test_what_was_driven_by_an_older_daemon_is_refused(context: Context, clock: Turned) -> None:
    """Two daemons at once: only the one that claimed the job last changes it."""
    del clock
    old = Daemon(context)
    job = old.begin()
    before = old.job(job)
    new = Daemon(context)
    new.engine.open()
    changed = context.store.write(lambda w: rows.change(w, before, status="done"))
    assert not changed
    assert new.job(job).status == "open"


def test_a_job_that_no_daemon_survives_is_set_aside(context: Context) -> None:
    """After three deaths without progress; the person is told."""
    daemon = Daemon(context)
    job = daemon.begin()
    for _ in range(core.MOST_DEATHS):
        daemon = Daemon(context)
        daemon.dies_at = "job.house.advance.before"
        daemon.engine.open()
        with pytest.raises(Killed):
            daemon.settle()
    last = Daemon(context)
    last.start()
    assert last.job(job).status == "set aside"
    assert last.laid == []
    assert len(last.told) == 1


def test_progress_forgets_earlier_deaths(context: Context) -> None:
    """Deaths count only while a job gets nowhere."""
    job = Daemon(context).begin()

    def die_twice() -> None:
        for _ in range(core.MOST_DEATHS - 1):
            daemon = Daemon(context)
            daemon.say("still there")
            daemon.dies_at = "job.house.advance.before"
            daemon.engine.open()
            with pytest.raises(Killed):
                daemon.settle()

    die_twice()
    Daemon(context).start()
    die_twice()
    last = Daemon(context)
    last.start()
    assert last.job(job).status == "open"


def test_a_kind_that_breaks_is_set_aside_with_its_reason(context: Context) -> None:
    """A defect in one kind of job stops that job, and no other."""

    def broken(state: dict[str, Any], news: News) -> Decision:
        raise KeyError(news.kind, state)

    daemon = Daemon(context, JobKind("house", broken))
    job = daemon.begin()
    daemon.settle()
    assert daemon.job(job).status == "set aside"
    assert "KeyError" in str(daemon.job(job).error)


def test_a_failed_effect_is_news_like_any_other(context: Context) -> None:
    """What failed, and why, is for the job to decide."""
    daemon = Daemon(context, fails="no bricks")
    job = daemon.begin()
    daemon.settle()
    assert daemon.job(job).result == {"failed": "no bricks"}


def test_a_job_is_cancelled_by_being_told(daemon: Daemon) -> None:
    """How it ends then, it decides itself."""
    job = daemon.begin()
    daemon.settle()
    row = daemon.job(job)
    daemon.context.store.write(lambda w: daemon.jobs.cancel(w, row, "sold"))
    daemon.settle()
    assert daemon.job(job).result == {"laid": 2, "why": "sold"}


def test_a_newer_release_goes_on_with_an_older_ones_job(context: Context, clock: Turned) -> None:
    """State is data with a version; what no rule leads to is set aside, never guessed."""
    job = Daemon(context).begin(2)

    def renamed(job: Job) -> dict[str, Any]:
        return {**job.state, "heard": ["upgraded"]}

    newer = Daemon(context, KIND._replace(version=2, upgrades={1: renamed}))
    newer.start()
    clock.time += 7200
    newer.engine.wake_due()
    newer.settle()
    assert newer.job(job).result == {"laid": 2, "heard": ["upgraded"]}
    other = newer.begin()
    newest = Daemon(context, KIND._replace(version=4, upgrades={}))
    newest.start()
    assert newest.job(other).status == "set aside"


def test_a_job_hears_of_nothing_that_happened_before_it_began(daemon: Daemon) -> None:
    """What it has to know of that is in the state that it begins with."""
    for _ in range(3):
        daemon.context.store.write(lambda w: w.emit(Note(text="x", by=""), repo=None))
    newest = daemon.context.store.read(event_rows.newest_event)
    assert daemon.job(daemon.begin()).cursor >= newest


def test_an_idle_job_does_not_keep_old_events(daemon: Daemon) -> None:
    """Its cursor moves over what it does not hear of."""
    job = daemon.begin()
    daemon.settle()
    before = daemon.job(job).cursor
    for _ in range(3):
        daemon.context.store.write(lambda w: w.emit(Note(text="x", by=""), repo=None))
    daemon.jobs.catch_up()
    assert daemon.job(job).cursor >= before + 3
