"""What no daemon survives is set aside, and who waits for what else is done with an agent gives up.

A daemon that dies is a step that raises what nothing catches; the next one is made anew.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from tests.support import whole_rows
from tests.support.agents import an_agent
from tests.support.contexts import REPO
from tests.support.ground import until

from windlass.core.errors import Conflict, UserError
from windlass.core.ids import Uid
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.kernel.set_aside import MOST_TRIES
from windlass.daemon.views import set_aside
from windlass.store import rows
from windlass.store.rows import Intent
from windlass.store.store import Writing

KEY = "k"
FOX = Uid("fox")
NOBODY: Any = None


class Killed(BaseException):
    """The daemon ends here."""


class Daemon:
    """One that may die in a step: of building a house for an agent, or of that agent's end."""

    def __init__(self, context: Context, *, dies_in: str = "", fails_in: str = "") -> None:
        self.context = context
        self.done: list[str] = []
        self.told: list[str] = []
        self.tries_seen: list[int] = []
        self._dies_in, self._fails_in = dies_in, fails_in
        build = tuple(
            Step(name, partial(self._do, name), partial(self._do, f"no {name}"))
            for name in ("walls", "roof")
        )
        close = (Step("close", self._close),)
        operations = (
            Operation("build", build, _fox, _nothing),
            Operation("paint", (Step("paint", partial(self._do, "paint")),), _fox, _nothing),
            Operation("end", close, _fox, _nothing, ends=True),
        )
        self.intents = Intents(context, operations, lambda _w, _i, why: self.told.append(why))

    def perform(self, kind: str, key: str = KEY, **more: Any) -> dict[str, Any]:
        """Does something, or goes on with it."""
        begin = IntentDraft(REPO, None, lambda _: {"n": 1})
        return self.intents.perform(kind, key, lambda: begin, **more)

    def intent(self, key: str = KEY) -> Intent:
        """What is recorded of it."""
        found = self.context.store.read(lambda c: rows.intent(c, key))
        assert found is not None
        return found

    def start(self) -> None:
        """Goes on with what is open, as every daemon does."""
        for intent in self.context.store.read(rows.open_intents):
            self.intents.resume(intent)

    def _do(self, name: str, _work: RunningIntent) -> None:
        self.tries_seen.append(self.intent().tries)
        if name == self._dies_in:
            raise Killed
        if name == self._fails_in:
            raise UserError("no bricks", "buy some")
        self.done.append(name)

    def _close(self, _work: RunningIntent) -> None:
        def change(writing: Writing) -> None:
            rows.change_agent(writing, FOX, ended_at=writing.now)

        self.context.store.write(change)


def _fox(_data: Mapping[str, Any]) -> list[Uid]:
    return [FOX]


def _nothing(_work: RunningIntent) -> dict[str, Any]:
    return {}


@pytest.fixture(autouse=True)
def fox(context: Context) -> None:
    """The agent that all of it is about."""
    context.store.write(partial(whole_rows.put_agent, agent=an_agent(FOX, repo=REPO)))


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Others who want something at the same time."""
    with ThreadPoolExecutor(2) as made:
        yield made


def died_in(context: Context, step: str, **more: Any) -> list[int]:
    """As many daemons as there may be die in a step; which try each of them thought it was."""
    seen = []
    for _ in range(MOST_TRIES):
        daemon = Daemon(context, dies_in=step, **more)
        with pytest.raises(Killed):
            daemon.perform("build")
        seen.append(daemon.tries_seen[-1])
    return seen


def test_every_try_is_recorded_before_it_is_made(context: Context) -> None:
    assert died_in(context, "roof") == [1, 2, 3]


def test_what_every_daemon_died_in_is_set_aside_with_all_that_is_known_of_it(
    context: Context,
) -> None:
    died_in(context, "roof")
    after = Daemon(context)
    for _ in range(2):  # and the next one does not look at it again
        after.start()
    intent = after.intent()
    assert (intent.status, intent.done, intent.data["n"]) == ("set aside", ("walls",), 1)
    assert after.done == []
    assert len(after.told) == 1
    assert "build of fox is set aside: the daemon died 3 times in it, after walls" in after.told[0]
    assert "`wl kill fox`" in after.told[0]
    (event,) = context.store.read(lambda c: rows.events(c, kind="intent.set_aside"))
    assert (event.data["what"], event.data["tries"]) == ("build", 3)
    with pytest.raises(Conflict, match="set aside"):
        after.perform("build")


def test_dying_while_taking_back_counts_too_and_why_that_was_is_kept(context: Context) -> None:
    died_in(context, "no walls", fails_in="roof")
    after = Daemon(context)
    after.start()
    assert after.intent().status == "set aside"
    assert after.intent().data["set_aside"]["error"]["message"] == "no bricks"
    assert "in taking it back" in after.told[0]


def test_what_survives_its_last_try_is_done(context: Context) -> None:
    for _ in range(MOST_TRIES - 1):
        with pytest.raises(Killed):
            Daemon(context, dies_in="roof").perform("build")
    after = Daemon(context)
    after.start()
    assert after.intent().status == "done"
    assert after.done == ["roof"]


def test_a_daemon_that_ends_in_good_order_has_not_died_of_what_it_did(
    context: Context, threads: ThreadPoolExecutor
) -> None:
    inside, on = threading.Event(), threading.Event()

    def long(_work: RunningIntent) -> None:
        inside.set()
        assert on.wait(60)

    build = Operation("build", (Step("walls", long),), _fox, _nothing)
    intents = Intents(context, (build,))
    begin = IntentDraft(REPO, None, lambda _: {})
    under_way = threads.submit(intents.perform, "build", KEY, lambda: begin)
    assert inside.wait(60)
    assert Daemon(context).intent().tries == 1
    intents.close()
    assert Daemon(context).intent().tries == 0
    on.set()
    under_way.result(60)
    intents.close()
    assert Daemon(context).intent().tries == 0


def test_what_cannot_be_recorded_for_long_is_not_set_aside_for_it(context: Context) -> None:
    daemon = Daemon(context)
    full = (
        "CREATE TRIGGER full BEFORE UPDATE OF done ON intents"
        " BEGIN SELECT RAISE(ABORT, 'no room'); END"
    )
    context.store.write(lambda w: w.connection.exec_driver_sql(full))
    with pytest.raises(Exception, match="no room"):
        daemon.perform("build")
    for _ in range(2 * MOST_TRIES):
        daemon.intents.take_up_unrecorded()
    assert (daemon.intent().status, daemon.intent().tries) == ("open", 1)
    context.store.write(lambda w: w.connection.exec_driver_sql("DROP TRIGGER full"))
    daemon.intents.take_up_unrecorded()
    assert daemon.intent().status == "done"


def test_nothing_is_begun_with_an_agent_of_what_is_set_aside_but_its_end(context: Context) -> None:
    died_in(context, "walls")
    after = Daemon(context)
    after.start()
    with pytest.raises(Conflict, match="build of fox is set aside") as refused:
        after.perform("paint", "p")
    assert "`wl kill fox`" in refused.value.hint
    (listed,) = set_aside.listed(context, NOBODY, {})
    assert (listed["kind"], listed["agents"], listed["tries"]) == ("build", ["fox"], 3)
    assert after.perform("end", "e") == {}
    assert after.intent().status == "failed"
    assert set_aside.listed(context, NOBODY, {}) == []


def test_what_is_set_aside_is_tried_once_more_if_the_person_wants_it(context: Context) -> None:
    died_in(context, "roof")
    Daemon(context).start()
    again = Daemon(context, dies_in="roof")
    with pytest.raises(Killed):
        again.intents.retry(again.intent(), request="first")
    after = Daemon(context)
    after.start()
    assert (after.intent().status, after.done) == ("set aside", [])
    assert after.intents.retry(after.intent(), request="second") == {}
    assert (after.intent().status, after.done) == ("done", ["roof"])
    assert set_aside.listed(context, NOBODY, {}) == []
    assert after.perform("paint", "p") == {}


def test_a_try_of_the_persons_that_ends_with_its_daemon_in_good_order_goes_on(
    context: Context,
) -> None:
    died_in(context, "roof")
    Daemon(context).start()
    again = Daemon(context, dies_in="roof")
    with pytest.raises(Killed):
        again.intents.retry(again.intent(), request="r")
    again.intents.close()
    after = Daemon(context)
    after.start()
    assert after.intent().status == "done"


def test_what_is_set_aside_is_taken_back_if_the_person_wants_that(context: Context) -> None:
    """The step that they died in may have been begun, and is taken back with the others."""
    died_in(context, "roof")
    Daemon(context).start()
    dying = Daemon(context, dies_in="no walls")
    with pytest.raises(Killed):
        dying.intents.take_back(dying.intent(), request="first")
    after = Daemon(context)
    after.start()
    assert (dying.done, after.intent().status) == (["no roof"], "set aside")
    after.intents.take_back(after.intent(), request="second")
    assert (after.done, after.intent().status) == (["no walls"], "failed")
    with pytest.raises(Conflict, match="build was given up"):
        after.perform("build")
    after.perform("paint", "p")
    with pytest.raises(Conflict, match="paint is done, and not taken back any more"):
        after.intents.take_back(after.intent("p"), request="third")


def test_who_waits_for_what_else_is_done_with_an_agent_is_told_so_and_nothing_was_done(
    context: Context, threads: ThreadPoolExecutor
) -> None:
    daemon, held, on = Daemon(context), threading.Event(), threading.Event()

    def hold() -> None:
        with context.locks.holding([FOX], holder=lambda: "resume of fox"):
            held.set()
            assert on.wait(60)

    other = threads.submit(hold)
    assert held.wait(60)
    with pytest.raises(Conflict, match="fox is busy: resume of fox is under way") as refused:
        daemon.perform("paint", patience=0.01)
    assert refused.value.exit_code == 1
    assert "wl log fox" in refused.value.hint
    assert daemon.done == []
    assert daemon.intent().status == "failed"
    # What was begun already waits as long as it takes: nobody else would finish it.
    late = threads.submit(daemon.perform, "paint", "later")
    until(lambda: len(context.store.read(rows.open_intents)) == 1, what="its record")
    on.set()
    other.result(60)
    assert late.result(60) == {}
