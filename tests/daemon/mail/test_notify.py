"""`wl notify`: whose a notice is that somebody writes, and how many may wait."""

from __future__ import annotations

from functools import partial

import pytest
from tests.daemon.mail.news import PERSON, notify, post
from tests.support import whole_rows
from tests.support.agents import an_agent
from tests.support.contexts import REPO

from windlass.api.verbs import Caller
from windlass.core.errors import Conflict
from windlass.core.ids import Uid
from windlass.daemon.kernel.context import Context
from windlass.daemon.mail import notify as notify_verb
from windlass.store import noticeboard


def test_an_agent_is_its_own_sender_and_a_person_may_name_one(
    context: Context,
) -> None:
    context.store.write(lambda w: whole_rows.put_agent(w, an_agent("fox", repo=REPO)))
    notify(context, Caller(Uid("fox")), sender="hen")
    notify(context, PERSON, sender="ci", type="question")
    notify(context, PERSON)
    found = context.store.read(lambda c: noticeboard.waiting(c, REPO, limit=9))
    assert [(one.sender, one.type) for one in found] == [
        ("fox", "complete"), ("ci", "question"), ("user", "complete"),
    ]  # fmt: skip


def test_a_request_that_is_sent_again_posts_once(context: Context) -> None:
    first = notify(context, PERSON, key="k")
    assert notify(context, PERSON, key="k") == first
    assert context.store.read(lambda c: noticeboard.count_waiting(c, REPO)) == 1


def test_a_queue_that_nobody_reads_is_full_some_day(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify_verb, "_MOST", 2)
    notify(context, PERSON)
    notify(context, PERSON)
    with pytest.raises(Conflict, match="nobody listens"):
        notify(context, PERSON)
    post(context, "what states tell always has room")


def test_who_fills_the_queue_keeps_neither_the_person_nor_another_agent_from_posting(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify_verb, "_MOST", 3)
    for name in ("fox", "owl"):
        agent = an_agent(name, repo=REPO)
        context.store.write(partial(whole_rows.put_agent, agent=agent))
    for _ in range(3):
        notify(context, Caller(Uid("fox")))
    notify(context, Caller(Uid("owl")))
    for name in ("fox", "owl"):
        with pytest.raises(Conflict, match="nobody listens"):
            notify(context, Caller(Uid(name)))
    for _ in range(3):
        notify(context, PERSON)
