"""Intents across daemons and releases: what one left open the next finishes or takes back."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest
from sqlalchemy.exc import IntegrityError
from tests.support import whole_rows
from tests.support.contexts import REPO

from windlass import disk_room
from windlass.core.errors import Conflict, Unavailable, UserError
from windlass.core.events import Note
from windlass.core.ids import Uid
from windlass.daemon.kernel import operations
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intent_upgrades import Progress, give_up
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.operations import Effect, IntentDraft, Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.store import rows
from windlass.store.rows import Intent
from windlass.store.store import Event

KEY = "k"
Change = Callable[[Progress], Progress]


class Killed(BaseException):
    """The daemon ends here."""


class Release:
    """One release's idea of building a house, and what it did on this machine."""

    def __init__(
        self, context: Context, *names: str, dies_in: str = "", fails_in: str = "", **more: Any
    ) -> None:
        self.context = context
        self.log: list[str] = []
        self.told: list[str] = []
        self._dies_in, self._fails_in = dies_in, fails_in
        steps = tuple(Step(name, self._do(name), self._undo(name)) for name in names)
        built = Operation("build", steps, lambda _: [], self._result, **more)
        self.intents = Intents(context, (built,), lambda _w, _i, why: self.told.append(why))

    def build(self) -> dict[str, Any]:
        """Builds a house, or goes on with it."""
        return self.intents.perform(
            "build", KEY, lambda: IntentDraft(REPO, None, lambda _: {"n": 1})
        )

    def intent(self) -> Intent:
        """What is recorded of it."""
        found = self.context.store.read(lambda c: rows.intent(c, KEY))
        assert found is not None
        return found

    def events(self, kind: str) -> list[Event]:
        """What was told of that kind."""
        return self.context.store.read(lambda c: rows.events(c, kind=kind))

    def _do(self, name: str) -> Effect:
        def do(work: RunningIntent) -> None:
            said = Note(text=name, by="")
            work.with_next_record(lambda w: w.emit(said, repo=REPO))
            if name == self._dies_in:
                raise Killed
            if name == self._fails_in:
                raise UserError("no bricks", "buy some")
            self.log.append(name)

        return do

    def _undo(self, name: str) -> Effect:
        def undo(_work: RunningIntent) -> None:
            if f"no {name}" == self._dies_in:
                raise Killed
            self.log.append(f"no {name}")
            if f"no {name}" == self._fails_in:
                raise UserError("it is stuck", "pull")

        return undo

    def _result(self, work: RunningIntent) -> Mapping[str, Any]:
        return {"house": work.data["n"]}


def left_by(context: Context, *names: str, at: str, **more: Any) -> Release:
    """A release that died in that step."""
    older = Release(context, *names, dies_in=at, **more)
    with pytest.raises(Killed):
        older.build()
    return older


def as_before_names(context: Context, intent: Intent) -> None:
    """Has an intent look as releases left it that only counted steps."""
    old = msgspec.structs.replace(intent, done=(), version=1)
    context.store.write(lambda w: whole_rows.put_intent(w, old))


def test_a_step_that_a_release_inserts_is_done_and_none_is_done_twice(context: Context) -> None:
    older = left_by(context, "walls", "roof", "paint", at="paint")
    assert older.intent().done == ("walls", "roof")
    newer = Release(context, "survey", "walls", "cellar", "roof", "paint")
    assert newer.build() == {"house": 1}
    assert newer.log == ["survey", "cellar", "paint"]
    assert newer.intent().status == "done"


def test_steps_that_a_release_reorders_are_not_misread(context: Context) -> None:
    left_by(context, "walls", "roof", "paint", at="roof")
    newer = Release(context, "paint", "roof", "walls")
    newer.build()
    assert newer.log == ["paint", "roof"]


def test_what_fails_takes_back_exactly_what_was_begun(context: Context) -> None:
    left_by(context, "walls", "roof", "paint", at="roof")
    newer = Release(context, "survey", "walls", "roof", "paint", fails_in="roof")
    with pytest.raises(UserError, match="no bricks"):
        newer.build()
    assert newer.log == ["survey", "no roof", "no walls", "no survey"]
    assert newer.intent().status == "failed"


@pytest.mark.parametrize(
    ("dies_in", "left"),
    [
        ("no paint", ["no paint", "no roof", "no walls"]),
        ("no roof", ["no roof", "no walls"]),
        ("no walls", ["no walls"]),
    ],
)
def test_who_dies_while_taking_back_is_followed_by_one_that_goes_on_taking_back(
    context: Context, dies_in: str, left: list[str]
) -> None:
    names = ("walls", "roof", "paint")
    with pytest.raises(Killed):
        Release(context, *names, fails_in="paint", dies_in=dies_in).build()
    after = Release(context, *names)
    for _ in range(2):  # and whoever asks again hears the same
        with pytest.raises(UserError, match="no bricks") as raised:
            after.build()
        assert raised.value.hint == "buy some"
    assert after.log == left
    assert after.intent().status == "failed"
    assert len(after.events("intent.failed")) == 1


def test_who_dies_when_all_is_taken_back_is_followed_by_one_that_only_says_so(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(point: str) -> None:
        if point == "build.fail.before":
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(context.failpoints, "reached", dies)
        with pytest.raises(Killed):
            Release(context, "walls", "roof", fails_in="roof").build()
    after = Release(context, "walls", "roof")
    with pytest.raises(UserError, match="no bricks"):
        after.build()
    assert after.log == []
    assert after.intent().status == "failed"


def test_who_dies_while_giving_up_is_followed_by_one_that_goes_on_and_tells_once(
    context: Context,
) -> None:
    names = ("walls", "roof", "paint")
    left_by(context, *names, at="paint")
    more: dict[str, Any] = {"version": 2, "upgrades": {1: give_up}}
    left_by(context, *names, at="no walls", **more)
    after = Release(context, *names, **more)
    with pytest.raises(Conflict, match="older release of Windlass, and is taken back"):
        after.build()
    assert after.log == ["no walls"]
    assert len(after.told) == 1


def test_a_step_that_cannot_be_taken_back_is_told_and_not_tried_again(context: Context) -> None:
    left_by(context, "walls", "roof", "paint", at="paint")
    rules: dict[int, Change] = {1: give_up}
    with pytest.raises(Killed):
        Release(
            context,
            *("walls", "roof", "paint"),
            fails_in="no roof",
            dies_in="no walls",
            version=2,
            upgrades=rules,
        ).build()
    after = Release(context, "walls", "roof", "paint", version=2, upgrades=rules)
    with pytest.raises(Conflict, match="taken back"):
        after.build()
    assert after.log == ["no walls"]
    (failed,) = after.events("intent.undo_failed")
    assert (failed.data["step"], failed.data["error"]) == ("roof", "it is stuck")


def test_what_a_step_tells_is_told_once_however_often_it_is_done(context: Context) -> None:
    left_by(context, "walls", "roof", at="roof")
    left_by(context, "walls", "roof", at="roof")
    after = Release(context, "walls", "roof")
    after.build()
    assert [event.data["text"] for event in after.events("note")] == ["walls", "roof"]


def test_what_a_step_tells_before_it_fails_is_told(context: Context) -> None:
    release = Release(context, "walls", "roof", fails_in="roof")
    with pytest.raises(UserError, match="no bricks"):
        release.build()
    assert [event.data["text"] for event in release.events("note")] == ["walls", "roof"]


def test_an_intent_that_only_counts_its_steps_goes_on_by_the_list_of_then(
    context: Context,
) -> None:
    as_before_names(context, left_by(context, "walls", "roof", "paint", at="paint").intent())
    newer = Release(context, "survey", "walls", "roof", "paint", counted=("walls", "roof", "paint"))
    newer.build()
    assert newer.log == ["survey", "paint"]


def test_what_an_intent_stops_is_recorded_also_of_one_that_an_older_release_left(
    context: Context,
) -> None:
    ann, bob = Uid("ann"), Uid("bob")
    older = left_by(context, "walls", "roof", at="roof")
    assert not operations.stops(older.intent(), ann)
    newer = left_by(context, "walls", "roof", at="roof", stops=lambda _: [ann])
    assert operations.stops(newer.intent(), ann)
    assert not operations.stops(newer.intent(), bob)


def test_whoever_looks_first_knows_what_an_older_release_was_about_to_stop(
    context: Context,
) -> None:
    ann = Uid("ann")
    left_by(context, "walls", "roof", at="roof")
    newer = Release(context, "walls", "roof", stops=lambda _: [ann])
    newer.intents.say_what_stops()
    assert operations.stops(newer.intent(), ann)
    assert newer.log == [], "nothing is done yet"


def test_what_is_done_is_over_also_where_nobody_can_say_what_became_of_it(
    context: Context,
) -> None:
    def gone(_work: RunningIntent) -> dict[str, Any]:
        raise UserError("the house has been sold", "")

    built = Operation("build", (Step("walls", lambda _: None),), lambda _: [], gone)
    run = Intents(context, (built,))
    with pytest.raises(UserError, match="sold"):
        run.perform("build", KEY, lambda: IntentDraft(REPO, None, lambda _: {"n": 1}))
    assert context.store.read(rows.open_intents) == []


def test_a_count_beyond_the_list_of_then_is_reported(context: Context) -> None:
    as_before_names(context, left_by(context, "walls", "roof", "paint", at="paint").intent())
    newer = Release(context, "walls")
    with pytest.raises(Conflict, match="2 of its steps are done, of 1"):
        newer.build()
    assert newer.log == []


def test_a_rule_brings_an_older_version_up_to_date_one_after_the_other(context: Context) -> None:
    left_by(context, "walls", "roof", at="roof")

    def bricks(progress: Progress) -> Progress:
        return Progress({"bricks": progress.data["n"]}, ("brick walls",))

    def count(progress: Progress) -> Progress:
        return Progress({"n": progress.data["bricks"] + 1}, progress.done)

    rules: dict[int, Change] = {1: bricks, 2: count}
    newer = Release(context, "brick walls", "roof", version=3, upgrades=rules)
    assert newer.build() == {"house": 2}
    assert newer.log == ["roof"]
    assert (newer.intent().version, newer.intent().data) == (3, {"n": 2})
    assert newer.told == []


def test_a_rule_may_give_up_and_then_what_was_done_is_taken_back(context: Context) -> None:
    left_by(context, "walls", "roof", "paint", at="paint")
    newer = Release(context, "walls", "roof", "paint", version=2, upgrades={1: give_up})
    with pytest.raises(Conflict, match="older release of Windlass, and is taken back"):
        newer.build()
    assert newer.log == ["no roof", "no walls"]
    assert newer.intent().status == "failed"
    assert len(newer.told) == 1


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"version": 2}, "there is no rule for version 1"),
        ({"version": 3, "upgrades": {2: give_up}}, "there is no rule for version 1"),
    ],
)
def test_a_version_without_a_rule_is_reported_and_nothing_is_guessed(
    context: Context, more: dict[str, Any], why: str
) -> None:
    left_by(context, "walls", "roof", at="roof")
    newer = Release(context, "walls", "roof", **more)
    told: list[Event] = []
    context.store.listen(told.extend)
    for _ in range(2):  # and whoever asks again hears the same
        with pytest.raises(Conflict, match=why) as raised:
            newer.build()
        assert "after walls" in raised.value.message
        assert "wl log" in raised.value.hint
    assert newer.log == []
    assert newer.intent().status == "failed"
    assert [event.kind for event in told] == ["intent.failed"]
    assert len(newer.told) == 1


def test_a_newer_release_that_is_taken_away_again_leaves_what_is_reported(
    context: Context,
) -> None:
    left_by(context, "walls", "roof", at="roof", version=2)
    older = Release(context, "walls", "roof")
    older.intents.resume(older.intent())
    assert older.intent().status == "failed"
    assert "it is of version 2, this one knows 1" in older.told[0]


def test_a_step_that_nobody_knows_any_more_is_reported(context: Context) -> None:
    left_by(context, "walls", "thatch", "paint", at="paint")
    newer = Release(context, "walls", "paint")
    with pytest.raises(Conflict, match="nobody knows its steps thatch"):
        newer.build()


def test_a_kind_that_nobody_knows_any_more_is_reported(context: Context) -> None:
    left = left_by(context, "walls", "roof", at="roof").intent()
    told: list[str] = []
    after = Intents(context, (), lambda _w, intent, _why: told.append(intent.kind))
    after.resume(left)
    found = context.store.read(lambda c: rows.intent(c, KEY))
    assert found is not None
    assert found.status == "failed"
    assert told == ["build"]


def test_what_needs_no_step_is_recorded_and_finished_in_one_transaction(context: Context) -> None:
    commits: list[list[str]] = []
    context.store.listen(lambda events: commits.append([event.kind for event in events]))
    release = Release(context)
    assert release.build() == {"house": 1}
    assert commits == [["intent.open", "intent.done"]]
    assert release.build() == {"house": 1}
    assert len(commits) == 1


def test_an_intent_whose_data_make_no_sense_is_reported(context: Context) -> None:
    left_by(context, "walls", "roof", at="walls")
    told: list[str] = []
    broken = Operation(
        "build", (Step("walls", lambda _: None),), lambda data: [data["agent"]], lambda _: {}
    )
    intents = Intents(context, (broken,), lambda _w, _i, why: told.append(why))
    (left,) = context.store.read(rows.open_intents)
    intents.resume(left)
    assert context.store.read(rows.open_intents) == []
    assert len(told) == 1
    assert "KeyError: 'agent'" in told[0]


FULL = """CREATE TRIGGER full BEFORE UPDATE ON intents WHEN NEW.id = 'k'
BEGIN SELECT RAISE(ABORT, 'no room'); END"""


def test_what_cannot_be_recorded_goes_on_later_and_nothing_else_is_begun_with_its_agents(
    context: Context,
) -> None:
    done: list[str] = []
    agent = Uid("fox")
    ends = Operation(
        "end", (Step("stop", lambda _: done.append("stop")),), lambda _: [agent], lambda _: {}
    )
    resumes = Operation(
        "resume", (Step("start", lambda _: done.append("start")),), lambda _: [agent], lambda _: {}
    )
    intents = Intents(context, (ends, resumes))

    def perform(kind: str, key: str) -> dict[str, Any]:
        return intents.perform(kind, key, lambda: IntentDraft(REPO, None, lambda _: {}))

    context.store.write(lambda w: w.connection.exec_driver_sql(FULL))
    with pytest.raises(IntegrityError, match="no room"):
        perform("end", KEY)
    with pytest.raises(Unavailable, match="could not be recorded"):
        perform("resume", "r")
    intents.take_up_unrecorded()
    assert done == ["stop"], "nothing is done once more before there is room"

    context.store.write(lambda w: w.connection.exec_driver_sql("DROP TRIGGER full"))
    intents.take_up_unrecorded()
    assert context.store.read(rows.open_intents) == []
    assert perform("end", KEY) == {}
    assert perform("resume", "r") == {}
    intents.take_up_unrecorded()
    assert done == ["stop", "stop", "start"]


FULL_AT_THE_END = (
    "CREATE TABLE parents (id INTEGER PRIMARY KEY)",
    """CREATE TABLE children
    (parent INTEGER REFERENCES parents DEFERRABLE INITIALLY DEFERRED)""",
    """CREATE TRIGGER full_at_the_end AFTER UPDATE ON intents WHEN NEW.status = 'done'
    BEGIN INSERT INTO children VALUES (1); END""",
)
"""A full disk is found when a transaction is committed, after everything in it went well."""


def test_an_ending_that_fails_when_it_is_committed_is_remembered_too(context: Context) -> None:
    done: list[str] = []
    step = Step("walls", lambda _: done.append("walls"))
    intents = Intents(context, (Operation("build", (step,), lambda _: [], lambda _: {}),))
    context.store.write(lambda w: [w.connection.exec_driver_sql(s) for s in FULL_AT_THE_END])
    with pytest.raises(IntegrityError):
        intents.perform("build", KEY, lambda: IntentDraft(REPO, None, lambda _: {}))
    context.store.write(lambda w: w.connection.exec_driver_sql("DROP TRIGGER full_at_the_end"))
    intents.take_up_unrecorded()
    assert context.store.read(rows.open_intents) == []
    assert done == ["walls"]


class FullDisk:
    """An operation that fails on a full disk, and cannot be taken back before there is room."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.room = False
        self.left: list[str] = []
        step = Step("make", self._make, self._remove)
        spawn = Operation("spawn", (step,), lambda _: [Uid("fox")], lambda _: {})
        end = Operation(
            "end", (Step("stop", lambda _: None),), lambda _: [Uid("fox")], lambda _: {}
        )
        self.intents = Intents(context, (spawn, end))

    def perform(self, kind: str) -> dict[str, Any]:
        """Asks for it, under a key that is called like it."""
        return self.intents.perform(kind, kind, lambda: IntentDraft(REPO, None, lambda _: {}))

    def _make(self, _work: RunningIntent) -> None:
        self.left.append("half")
        raise self._is_full()

    def _remove(self, _work: RunningIntent) -> None:
        if not self.room:
            raise self._is_full()
        self.left.clear()

    def _is_full(self) -> OSError:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/here")


def test_a_step_that_a_full_disk_stops_is_no_defect(context: Context) -> None:
    disk = FullDisk(context)
    disk.room = True
    with pytest.raises(Unavailable, match="No space left on device: '/here'") as failed:
        disk.perform("spawn")
    assert failed.value.hint == "free some disk space and try again"
    assert disk.left == []


def test_what_a_full_disk_does_not_let_be_taken_back_is_taken_back_once_there_is_room(
    context: Context,
) -> None:
    disk = FullDisk(context)
    with pytest.raises(Unavailable, match="no room left on the disk of /here: make: ") as failed:
        disk.perform("spawn")
    assert "what can be taken back is, by itself" in failed.value.hint
    with pytest.raises(Unavailable, match="spawn was begun here before"):
        disk.perform("end")
    disk.intents.take_up_unrecorded()
    assert disk.left == ["half"]

    disk.room = True
    disk.intents.take_up_unrecorded()
    assert disk.left == []
    assert context.store.read(rows.open_intents) == []
    assert disk.perform("end") == {}


def test_a_step_back_that_fails_without_a_word_on_a_disk_with_little_room_is_tried_again(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    undone: list[str] = []

    def fails(_work: RunningIntent) -> None:
        undone.append("no")
        raise UserError("git fast-import ended with 1", "")

    def no_bricks(_work: RunningIntent) -> None:
        raise UserError("no bricks", "buy some")

    steps = (Step("walls", lambda _: None, fails), Step("roof", no_bricks))
    intents = Intents(context, (Operation("build", steps, lambda _: [], lambda _: {}),))
    monkeypatch.setattr(disk_room, "LITTLE", 1 << 60)
    with pytest.raises(Unavailable, match=r"no room left on the disk of .*: no bricks"):
        intents.perform("build", KEY, lambda: IntentDraft(REPO, None, lambda _: {}))
    monkeypatch.undo()
    intents.take_up_unrecorded()
    assert undone == ["no", "no"]
    told = context.store.read(lambda c: rows.events(c, kind="intent.undo_failed"))
    assert len(told) == 1, "with room it failed for good"
