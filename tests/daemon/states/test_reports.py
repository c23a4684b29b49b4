"""News of states with a real store and real git: who is told what, once, and what a crash leaves.

Time is turned by the tests, so minutes of idling take none.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.daemon.states.first_session import begins, ends, state_of
from tests.support import whole_rows
from tests.support.agents import an_agent
from tests.support.contexts import REPO, Turned
from tests.support.ground import until

from windlass.core import reasons
from windlass.core.crew import Agent
from windlass.core.events import Hook, NudgesOver
from windlass.core.ids import Uid
from windlass.core.mail.messages import Message
from windlass.core.reasons import Reason
from windlass.core.states import Observation, Source, State
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step
from windlass.daemon.mail import receipts
from windlass.daemon.mail.receipts import PERSON, Party
from windlass.daemon.states import observations, reports
from windlass.daemon.states.reminders import Reminders
from windlass.daemon.states.reports import Reports
from windlass.store import mailbox, noticeboard, rows
from windlass.store.store import Writing

LEAD, FOX = Uid("lead"), Uid("fox")
IDLE = Reason(kind="idle")
pytestmark = pytest.mark.usefixtures("service")


def _git(where: Path, *words: str) -> None:
    names = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")
    subprocess.run(["git", *names, *words], cwd=where, check=True, capture_output=True)


@pytest.fixture
def service(context: Context) -> Iterator[Reports]:
    """The service at work."""
    intents = Intents(context)
    made = Reports(context, intents)
    intents.add((reports.OPERATION,))
    made.open()
    yield made
    made.close()


def agent(context: Context, name: str = FOX, **more: Any) -> Agent:
    """An agent in its first session."""
    told = {"mode": "live", "state_at": context.clock.now(), **more}
    return begins(context, an_agent(name, repo=REPO, **told))


def crew(context: Context, **more: Any) -> Agent:
    """A manager that waits, and fox below it."""
    agent(context, LEAD, role="manager", state=State.WAITING)
    return agent(context, parent=LEAD, **more)


def housed(context: Context, **more: Any) -> Agent:
    """An agent with a workspace of its own, in which two files are not committed."""
    place = context.folders.workspace(REPO, FOX)
    root = context.folders.home / "shop"
    _git(root, "init", "-q", "-b", "main")
    _git(root, "commit", "-q", "--allow-empty", "-m", "first")
    _git(root, "worktree", "add", "-q", "-b", "agent/fox", str(place))
    for name in ("new.py", "notes"):
        (place / name).write_text("x\n")
    return agent(context, branch="agent/fox", workspace=str(place), **more)


def seen(context: Context, who: Agent, value: State, reason: Reason, said: str = "") -> None:
    """Has a hook of an agent's session say something."""
    at = context.clock.now()
    one = Observation(source=Source.HOOK, value=value, at=at, reason=reason, session=1)

    def change(writing: Writing) -> None:
        if said:
            stop = Hook(name="Stop", last_assistant_message=said)
            writing.emit(stop, repo=REPO, agent=who.uid)
        observations.observe(writing, who, one)

    context.store.write(change)
    told_all(context)


def works(context: Context, who: Agent) -> None:
    seen(context, who, State.RUNNING, Reason(kind="prompt_taken"))


def completes(context: Context, who: Agent, said: str = "") -> None:
    seen(context, who, State.COMPLETE, Reason(kind="claimed_complete"), said)


def told_all(context: Context) -> None:
    until(lambda: not context.store.read(rows.open_intents), what="the end of all reports")


def mail_of(context: Context, uid: str) -> list[Message]:
    return context.store.read(lambda c: mailbox.inbox(c, recipient=uid))


def bodies(context: Context, uid: str) -> list[str]:
    return [one.body for one in mail_of(context, uid)]


def notices(context: Context) -> list[str]:
    found = context.store.read(lambda c: noticeboard.waiting(c, REPO, limit=99))
    return [one.text for one in found]


def deliver(context: Context, uid: str) -> None:
    """Has everything that is queued arrive, and be read."""

    def change(writing: Writing) -> None:
        for one in mailbox.queued(writing.connection, uid):
            receipts.mark_read(writing, receipts.delivered(writing, one, "rewake"))

    context.store.write(change)


def test_a_manager_is_told_that_its_worker_is_done_and_what_it_said(context: Context) -> None:
    fox = crew(context)
    works(context, fox)
    completes(context, fox, "The parser is there.\n\nI HAVE COMPLETED THE GOAL")
    (message,) = mail_of(context, LEAD)
    assert (message.sender, message.kind, message.topic) == ("windlass", "note", "state:fox")
    assert message.body.splitlines()[:3] == [
        "fox has completed its goal.", "Its last words:", "> The parser is there.",
    ]  # fmt: skip
    assert bodies(context, FOX) == []


def test_a_newer_state_takes_the_place_of_one_that_was_not_heard(context: Context) -> None:
    fox = crew(context)
    seen(context, fox, State.WAITING, Reason(kind="claimed_waiting"))
    works(context, fox)
    completes(context, fox)
    assert [one.state for one in mail_of(context, LEAD)] == ["collapsed", "queued"]
    deliver(context, LEAD)
    works(context, fox)
    completes(context, fox)
    assert [one.state for one in mail_of(context, LEAD)] == ["collapsed", "read", "queued"]


def test_a_state_that_wavers_is_told_once_until_there_was_work(context: Context) -> None:
    fox = crew(context)
    for value in (State.WAITING, State.COMPACTING, State.WAITING, State.ASKING, State.WAITING):
        seen(context, fox, value, IDLE)
    assert [one.state for one in mail_of(context, LEAD)] == ["collapsed", "queued"]
    works(context, fox)
    seen(context, fox, State.WAITING, IDLE)
    assert len(mail_of(context, LEAD)) == 3


@pytest.mark.parametrize(("code", "words"), [
    (9, "fox has stopped without being told to"), (0, "The session of fox was left"),
])  # fmt: skip
def test_a_session_that_nobody_of_us_ended_is_told(context: Context, code: int, words: str) -> None:
    fox = crew(context)
    end(context, fox, code)
    assert [words in body for body in bodies(context, LEAD)] == [True]


def test_what_a_manager_does_itself_is_not_told_to_it(context: Context) -> None:
    fox = crew(context)
    stop = Step("stop", lambda _: ends(context, fox, 143))
    ending = Operation("end", (stop,), lambda _: [], lambda _: {})
    begun = IntentDraft(REPO, LEAD, lambda _: {"agents": {FOX: FOX}, "how": "kill"})
    Intents(context, (ending,)).perform("end", None, lambda: begun)
    assert state_of(context, fox) is State.STOPPED
    assert bodies(context, LEAD) == []


def end(context: Context, who: Agent, code: int) -> None:
    ends(context, who, code)
    told_all(context)


def test_who_claims_too_much_is_told_who_is_not_done_once_a_claim(context: Context) -> None:
    lead = agent(context, LEAD, role="manager")
    hen = agent(context, "hen", parent=LEAD)
    completes(context, lead)
    (first,) = bodies(context, LEAD)
    assert first.startswith("You said that the goal is reached, but hen is running.")
    assert notices(context) == ["Manager lead has completed its goal, but hen is running"]
    deliver(context, LEAD)
    works(context, lead)
    completes(context, lead)
    assert len(bodies(context, LEAD)) == 1  # it has heard that, and says so again
    seen(context, hen, State.WAITING, Reason(kind="claimed_waiting"))
    deliver(context, LEAD)
    works(context, lead)
    completes(context, lead)
    assert "but hen is waiting." in bodies(context, LEAD)[-1]
    completes(context, hen)
    works(context, lead)
    deliver(context, LEAD)
    completes(context, lead)
    assert bodies(context, LEAD)[-1].startswith("hen has completed its goal.")


def test_uncommitted_work_is_pointed_out_to_who_made_it_and_to_the_person(
    context: Context,
) -> None:
    fox = housed(context)
    completes(context, fox)
    (told,) = bodies(context, FOX)
    assert "2 files are not committed (new.py, notes). Commit, or say why not." in told
    first, second = notices(context)
    assert first == "Agent fox has completed its goal"
    assert "2 files are not committed (new.py, notes)" in second
    (event,) = context.store.read(lambda c: rows.events(c, agent=FOX, kind="work.uncommitted"))
    assert event.data["files"] == 2
    deliver(context, FOX)
    _git(Path(fox.workspace), "add", ".")
    _git(Path(fox.workspace), "commit", "-q", "-m", "all")
    works(context, fox)
    completes(context, fox)
    assert len(bodies(context, FOX)) == 1
    assert len(notices(context)) == 1


@pytest.mark.parametrize(
    ("config", "told"),
    [("[nudges]\nuncommitted = false\n", 0), ("[nudges]\nuncommitted = 7\n", 1)],
    ids=["unwanted", "broken"],
)
def test_who_does_not_want_it_has_nobody_told_and_a_broken_file_hides_nothing(
    context: Context, config: str, told: int
) -> None:
    (context.folders.home / "config.toml").write_text(config)
    completes(context, housed(context))
    assert len(bodies(context, FOX)) == told
    assert len(notices(context)) == 2


def test_a_manager_hears_of_uncommitted_work_and_the_person_does_not(context: Context) -> None:
    agent(context, LEAD, role="manager", state=State.WAITING)
    fox = housed(context, parent=LEAD)
    completes(context, fox)
    assert "2 files are not committed (new.py, notes); it is asked" in bodies(context, LEAD)[0]
    assert len(bodies(context, FOX)) == 1
    assert notices(context) == []


def test_who_leaves_a_live_session_is_told_what_is_uncommitted(context: Context) -> None:
    fox = housed(context)
    end(context, fox, 0)
    (told,) = notices(context)
    assert told.startswith("fox was ended with 2 uncommitted files: wl resume fox, or wl kill fox")


def test_a_workspace_that_cannot_be_read_costs_no_news(context: Context) -> None:
    agent(context, LEAD, role="manager", state=State.WAITING)
    fox = housed(context, parent=LEAD)
    (Path(fox.workspace) / ".git").write_text("gitdir: /nowhere\n")
    shutil.rmtree(context.folders.home / "shop" / ".git")
    completes(context, fox)
    (told,) = bodies(context, LEAD)
    assert "What is not committed could not be seen: " in told


def test_who_works_again_before_the_news_are_out_has_none(context: Context) -> None:
    fox = crew(context)
    late = Reports(context, Intents(context))
    key = _claim_unheard(context, fox)
    works_now = Observation(
        source=Source.HOOK,
        value=State.RUNNING,
        at=context.clock.now(),
        reason=reasons.UNKNOWN,
        session=1,
    )
    context.store.write(partial(observations.observe, agent=fox, seen=works_now))
    _take_up(context, late, key)
    assert bodies(context, LEAD) == []


def test_what_a_daemon_left_untold_the_next_one_tells_once(context: Context) -> None:
    fox = crew(context)
    key = _claim_unheard(context, fox)
    after = Reports(context, Intents(context))
    assert bodies(context, LEAD) == []
    _take_up(context, after, key)
    _take_up(context, after, key)
    assert len(bodies(context, LEAD)) == 1


def test_a_daemon_that_dies_after_telling_tells_nothing_twice(context: Context) -> None:
    """The step is done, and that it is was not recorded."""
    fox = crew(context)
    key = _claim_unheard(context, fox)
    _take_up(context, Reports(context, Intents(context)), key)
    intent = context.store.read(lambda c: rows.intent(c, key))
    assert intent is not None
    undone = msgspec.structs.replace(intent, status="open", step=1, done=("count",), result=None)
    context.store.write(lambda w: whole_rows.put_intent(w, undone))
    _take_up(context, Reports(context, Intents(context)), key)
    assert len(mail_of(context, LEAD)) == 1


def test_what_is_to_be_told_is_recorded_with_the_version_of_its_operation(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reports, "OPERATION", reports.OPERATION._replace(version=7))
    key = _claim_unheard(context, crew(context))
    intent = context.store.read(lambda c: rows.intent(c, key))
    assert intent is not None
    assert intent.version == 7


def _claim_unheard(context: Context, fox: Agent) -> str:
    """Has an agent complete while nobody listens; returns what is left open."""
    listeners, context.store._listeners = context.store._listeners, []  # noqa: SLF001 - it died
    one = Observation(
        source=Source.HOOK,
        value=State.COMPLETE,
        at=context.clock.now(),
        reason=reasons.UNKNOWN,
        session=1,
    )
    context.store.write(partial(observations.observe, agent=fox, seen=one))
    context.store._listeners = listeners  # noqa: SLF001
    (left,) = context.store.read(rows.open_intents)
    assert left.kind == reports.OPERATION.kind
    return left.id


def _take_up(context: Context, service: Reports, key: str) -> None:
    intents = Intents(context, (reports.OPERATION,))
    intent = context.store.read(lambda c: rows.intent(c, key))
    assert intent is not None
    intents.resume(intent)
    service.close()


def look(context: Context, clock: Turned, after: float) -> None:
    clock.time += after
    Reminders(context).look()  # a new one each time: nothing is remembered but in the store


def reminders(context: Context) -> list[Message]:
    return [one for one in mail_of(context, FOX) if one.topic == "nudge"]


def answers_idly(context: Context, fox: Agent) -> None:
    """A turn that its mail brought about, after which it is idle again."""
    deliver(context, FOX)
    works(context, fox)
    seen(context, fox, State.WAITING, IDLE, said="Hm.")


def test_an_idle_worker_is_reminded_ever_later_and_then_its_manager_is_told(
    context: Context, clock: Turned
) -> None:
    fox = crew(context)
    seen(context, fox, State.WAITING, IDLE)
    deliver(context, LEAD)
    for number, seconds in enumerate((120, 240, 480, 960)):
        look(context, clock, seconds - 2)
        assert len(reminders(context)) == number
        look(context, clock, 2)
        assert len(reminders(context)) == number + 1
        look(context, clock, 9_999)  # not while one is under way
        assert len(reminders(context)) == number + 1
        answers_idly(context, fox)
    assert reminders(context)[0].body.startswith(
        "You are idle and have not said that you are done."
    )
    assert len(bodies(context, LEAD)) == 1  # that it is idle again is nothing new
    look(context, clock, 120)
    assert "4 reminders changed nothing" in bodies(context, LEAD)[-1]
    look(context, clock, 99_999)
    assert (len(reminders(context)), len(bodies(context, LEAD))) == (4, 2)


@pytest.mark.parametrize("how", ["message", "claim", "typed"])
def test_the_count_starts_anew_when_something_else_set_it_going(
    context: Context, clock: Turned, how: str
) -> None:
    fox = crew(context)
    seen(context, fox, State.WAITING, IDLE)
    for seconds in (120, 240):
        look(context, clock, seconds)
        answers_idly(context, fox)
    if how == "message":
        say(context, fox)
        answers_idly(context, fox)
    elif how == "claim":
        works(context, fox)
        seen(context, fox, State.WAITING, Reason(kind="claimed_waiting"))
        works(context, fox)
        seen(context, fox, State.WAITING, IDLE)
    else:
        prompt = Hook(name="UserPromptSubmit", prompt="and now?")
        context.store.write(partial(Writing.emit, data=prompt, agent=FOX))
        works(context, fox)
        seen(context, fox, State.WAITING, IDLE)
    look(context, clock, 120)
    assert len(reminders(context)) == 3


def say(context: Context, fox: Agent, sender: Party = PERSON) -> None:
    def change(writing: Writing) -> None:
        made = receipts.draft(
            REPO, sender, Party(fox.uid, fox.id), "go", kind="note", now=writing.now
        )
        receipts.post(writing, made)

    context.store.write(change)


def _root(context: Context, fox: Agent) -> None:
    changed = msgspec.structs.replace(_now(context, fox), parent=None)
    context.store.write(lambda w: whole_rows.put_agent(w, changed))


def _now(context: Context, fox: Agent) -> Agent:
    found = context.store.read(lambda c: rows.agent(c, fox.uid))
    assert found is not None
    return found


def _child(context: Context, fox: Agent) -> None:
    agent(context, "cub", parent=fox.uid, state=State.RATE_LIMITED)


def _question(context: Context, fox: Agent) -> None:
    def change(writing: Writing) -> None:
        asker, to = Party(fox.uid, fox.id), Party(LEAD, LEAD)
        made = receipts.draft(REPO, asker, to, "how?", kind="question", now=writing.now)
        receipts.post(writing, made)

    context.store.write(change)


def _off(context: Context, fox: Agent) -> None:
    assert fox
    (context.folders.home / "config.toml").write_text("[nudges]\nmost = 0\n")


@pytest.mark.parametrize("why", [_root, say, _child, _question, _off])
def test_who_has_nothing_to_be_reminded_of_is_left_alone(
    context: Context, clock: Turned, why: Any
) -> None:
    fox = crew(context)
    seen(context, fox, State.WAITING, IDLE)
    why(context, fox)
    look(context, clock, 99_999)
    assert reminders(context) == []


@pytest.mark.parametrize("state", sorted(set(State) - {State.WAITING}))
def test_only_who_waits_is_reminded(context: Context, clock: Turned, state: State) -> None:
    fox = crew(context)
    seen(context, fox, state, IDLE)
    look(context, clock, 99_999)
    assert reminders(context) == []


def test_where_the_manager_cannot_hear_the_person_is_told(context: Context, clock: Turned) -> None:
    (context.folders.home / "config.toml").write_text("[nudges]\nmost = 1\nfirst = 10\n")
    fox = crew(context)
    paused = msgspec.structs.replace(_now(context, an_agent(LEAD)), state=State.PAUSED)
    context.store.write(lambda w: whole_rows.put_agent(w, paused))
    seen(context, fox, State.WAITING, IDLE)
    look(context, clock, 10)
    answers_idly(context, fox)
    look(context, clock, 10)
    assert ["1 reminder changed nothing" in text for text in notices(context)] == [True]
    (event,) = context.store.read(lambda c: rows.events(c, agent=FOX, kind=NudgesOver.kind))
    assert event.data["reminders"] == 1


def test_a_file_that_cannot_be_read_reminds_nobody(context: Context, clock: Turned) -> None:
    fox = crew(context)
    seen(context, fox, State.WAITING, IDLE)
    (context.folders.home / "config.toml").write_text("[nudges]\nfirst = 'soon'\n")
    look(context, clock, 99_999)
    assert reminders(context) == []


def test_news_of_an_agent_that_has_ended_are_not_worth_delivering(context: Context) -> None:
    fox = crew(context)
    completes(context, fox)
    (news,) = mail_of(context, LEAD)
    context.store.write(lambda w: receipts.close_mail_of(w, fox, "merge"))
    (after,) = mail_of(context, LEAD)
    assert (news.state, after.state) == ("queued", "expired")
    assert after.reason == "fox has ended meanwhile: merge"
