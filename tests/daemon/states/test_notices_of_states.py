"""What becomes of agents, and what they say, as notices to the person."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from tests.daemon.mail.news import PERSON, asked, notify, take
from tests.daemon.states.first_session import begins, ends, state_of
from tests.support import whole_rows
from tests.support.agents import an_agent
from tests.support.contexts import REPO
from tests.support.ground import until

from windlass.api.verbs import Caller
from windlass.core import reasons
from windlass.core.crew import Agent
from windlass.core.ids import Uid
from windlass.core.reasons import Reason
from windlass.core.states import Observation, Source, State
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step
from windlass.daemon.mail import admission, notices, questions, receipts
from windlass.daemon.mail.listeners import Listeners
from windlass.daemon.mail.receipts import Party
from windlass.daemon.states import observations
from windlass.daemon.states.reports import OPERATION, Reports
from windlass.store import noticeboard, rows, tables
from windlass.store.store import Writing


def agent(context: Context, name: str = "fox", **more: Any) -> Agent:
    """A live agent in its first session."""
    return begins(context, an_agent(name, repo=REPO, **{"mode": "live", **more}))


def fox_below_lead(context: Context) -> Agent:
    lead = agent(context, "lead")
    return agent(context, parent=lead.uid)


def seen(context: Context, fox: Agent, *states: State, reason: Reason = reasons.UNKNOWN) -> None:
    """Has a hook of an agent's session tell of these states, one after the other."""
    for value in states:
        at = context.clock.now()
        one = Observation(source=Source.HOOK, value=value, at=at, reason=reason, session=1)
        context.store.write(partial(observations.observe, agent=fox, seen=one))


def configure(context: Context, line: str) -> None:
    (context.folders.home / "config.toml").write_text(f"{line}\n")


def left_behind(writing: Writing, who: Agent) -> None:
    """Posts what is told of uncommitted work."""
    text = f"{who.id} was ended with 2 uncommitted files"
    notices.post(writing, REPO, who.id, "waiting", text, agent=who.uid)


def warned(context: Context, sender: Party) -> None:
    """Has somebody warn the person."""

    def change(writing: Writing) -> None:
        text = "the disk is full"
        made = receipts.draft(REPO, sender, receipts.PERSON, text, kind="alert", now=writing.now)
        notices.on_message(writing, receipts.post(writing, made))

    context.store.write(change)


def told(context: Context) -> list[tuple[str, str]]:
    """The type and the text of each notice that nobody has yet."""
    found = context.store.read(lambda c: noticeboard.waiting(c, REPO, limit=99))
    return [(one.type, one.text) for one in found]


def posted(context: Context) -> int:
    """How many notices there ever were."""
    return len(context.store.read(lambda c: rows.events(c, kind="notice.posted")))


def senders(context: Context) -> list[tuple[str, str]]:
    """Of whom each of them is, and the text."""
    found = context.store.read(lambda c: noticeboard.waiting(c, REPO, limit=99))
    return [(one.sender, one.text) for one in found]


def takers(context: Context) -> list[str | None]:
    """Who has each notice, of all that ever were."""
    query = sa.select(tables.notices.c.taken_by).order_by(tables.notices.c.number)
    return [row[0] for row in context.store.read(lambda c: c.execute(query).all())]


@pytest.fixture
def reports(context: Context) -> Iterator[Callable[[], None]]:
    """Has what becomes of agents told; called, it returns when all of it was."""
    intents = Intents(context)
    made = Reports(context, intents)
    intents.add((OPERATION,))
    made.open()
    yield lambda: until(lambda: not context.store.read(rows.open_intents), what="all told")
    made.close()


def test_a_root_s_states_become_notices_with_the_state_itself(context: Context) -> None:
    fox = agent(context)
    seen(context, fox, State.WAITING, reason=Reason(kind="claimed_waiting"))
    assert told(context) == [("waiting", "Agent fox is waiting for input")]
    seen(context, fox, State.RUNNING, State.COMPLETE)
    assert told(context) == [("complete", "Agent fox has completed its goal")]
    events = context.store.read(lambda c: rows.events(c, agent=fox.uid))
    kinds = [event.kind for event in events]
    assert kinds == ["agent.state", "notice.posted"] + ["agent.state"] * 2 + ["notice.posted"]


def test_a_state_that_wavers_is_told_once_until_there_was_work(context: Context) -> None:
    fox = agent(context)
    seen(context, fox, State.WAITING, State.COMPACTING, State.WAITING, State.UNKNOWN)
    seen(context, fox, State.WAITING, State.ASKING, State.WAITING, State.ASKING)
    assert posted(context) == 2  # of waiting and of asking
    seen(context, fox, State.RUNNING, State.WAITING)
    assert posted(context) == 3


def test_a_newer_state_takes_the_place_of_one_that_nobody_has_read(
    context: Context, board: Listeners
) -> None:
    fox = agent(context)
    hen = agent(context, "hen")
    notify(context, Caller(fox.uid), text="half way")
    notify(context, PERSON, sender="fox", text="in its name")
    seen(context, hen, State.WAITING)
    seen(context, fox, State.WAITING)
    first = asyncio.run(board.listen(PERSON, asked(context)))
    take(board, {**first, "notices": first["notices"][-1:]})  # that fox waits; the others stay
    seen(context, fox, State.RUNNING, State.WAITING)
    context.store.write(partial(left_behind, who=fox))
    seen(context, fox, State.RUNNING, State.COMPLETE)
    assert told(context) == [
        ("complete", "half way"),
        ("complete", "in its name"),
        ("waiting", "Agent hen is waiting for input"),
        ("complete", "Agent fox has completed its goal"),
    ]
    assert takers(context) == [None, None, None, "listen", "superseded", "superseded", None]


def test_what_was_told_of_an_agent_goes_with_it_and_what_it_said_stays(context: Context) -> None:
    fox, hen = agent(context), agent(context, "hen")
    for one in (fox, hen):
        seen(context, one, State.COMPLETE)
        rules = admission.question_rules(context, one.repo)
        context.store.write(partial(questions.record, agent=one, text="which port?", rules=rules))
        context.store.write(partial(left_behind, who=one))
    notify(context, Caller(fox.uid), text="half way")
    warned(context, Party(fox.uid, fox.id))
    context.store.write(partial(receipts.close_mail_of, agent=fox, how="killed"))
    before = len(context.store.read(rows.events))
    context.store.write(partial(notices.forget, agent=fox))
    assert [(who, text) for who, text in senders(context) if who == "fox"] == [
        ("fox", "half way"), ("fox", "Agent fox warns: the disk is full"),
    ]  # fmt: skip
    assert len([who for who, _ in senders(context) if who == "hen"]) == 3
    assert (takers(context).count("ended"), takers(context).count("settled")) == (2, 1)
    assert len(context.store.read(rows.events)) == before


def test_a_root_that_waits_for_agents_at_work_below_it_is_not_told_of(context: Context) -> None:
    lead = agent(context, "lead", role="manager")
    sub = agent(context, "sub", role="manager", parent=lead.uid, state=State.WAITING)
    fox = agent(context, parent=sub.uid, state=State.RUNNING)
    seen(context, lead, State.WAITING)
    assert told(context) == []
    context.store.write(
        lambda w: whole_rows.put_agent(w, msgspec.structs.replace(fox, state=State.COMPLETE))
    )
    seen(context, lead, State.RUNNING, State.WAITING)
    assert told(context) == [("waiting", "Manager lead is waiting for input")]


def test_what_the_person_says_to_itself_is_no_news(context: Context) -> None:
    warned(context, receipts.PERSON)
    assert told(context) == []
    warned(context, Party(Uid("fox"), "fox"))
    assert told(context) == [("waiting", "Agent fox warns: the disk is full")]


def test_what_an_agent_says_itself_stands_for_no_state(context: Context) -> None:
    fox = agent(context)
    notify(context, Caller(fox.uid))
    seen(context, fox, State.COMPLETE)
    assert [kind for kind, _ in told(context)] == ["complete", "complete"]


def test_an_agent_below_another_is_told_of_where_that_is_wanted(
    context: Context, reports: Callable[[], None]
) -> None:
    fox = fox_below_lead(context)
    seen(context, fox, State.COMPLETE)
    reports()
    assert told(context) == []
    configure(context, 'notices = "all"')
    seen(context, fox, State.RUNNING, State.COMPLETE)
    reports()
    assert told(context) == [
        ("complete", "Agent fox (worker of lead) has completed its goal"),
    ]


@pytest.mark.parametrize(("code", "count"), [(9, 1), (0, 0)])
def test_a_worker_s_session_that_fails_is_told_of_where_that_is_wanted(
    context: Context, reports: Callable[[], None], code: int, count: int
) -> None:
    fox = fox_below_lead(context)
    configure(context, 'notices = "all"')
    ends(context, fox, code)
    reports()
    assert len(told(context)) == count
    assert all("fox (worker of lead) has stopped" in text for _, text in told(context))


def test_a_file_that_cannot_be_read_costs_no_state(
    context: Context, reports: Callable[[], None]
) -> None:
    fox = fox_below_lead(context)
    configure(context, "notices = =")
    seen(context, fox, State.COMPLETE)
    reports()
    assert state_of(context, fox) is State.COMPLETE
    (failure,) = context.store.read(lambda c: rows.events(c, kind="notify.failed"))
    assert "not valid TOML" in failure.data["how"]


@pytest.mark.parametrize(("code", "notices"), [(None, 1), (9, 1), (0, 0)])
def test_a_session_that_ends_by_itself_and_badly_is_told(
    context: Context, code: int | None, notices: int
) -> None:
    fox = agent(context)
    ends(context, fox, code)
    assert len(told(context)) == notices
    assert all("wl resume fox" in text for _, text in told(context))


@pytest.mark.parametrize(("stopped", "notices"), [("fox", 0), ("owl", 1)])
def test_a_session_that_we_end_is_no_news(context: Context, stopped: str, notices: int) -> None:
    fox = agent(context)
    uid = fox.uid if stopped == "fox" else Uid(stopped)
    stop = Step("stop", lambda _: ends(context, fox, 143))
    end = Operation("end", (stop,), lambda _: [], lambda _: {}, stops=lambda _: [uid])
    begun = IntentDraft(REPO, None, lambda _: {"how": "kill"})
    Intents(context, (end,)).perform("end", None, lambda: begun)
    assert state_of(context, fox) is State.STOPPED
    assert len(told(context)) == notices
