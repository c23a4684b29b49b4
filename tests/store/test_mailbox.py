"""Rows of messages on a real SQLite file: what is kept, and which ones are found."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from tests.core.mail.test_messages import OFFER, message

from windlass.core.events import MessageAcked, MessageSent
from windlass.core.ids import RepoId, Uid
from windlass.core.mail.messages import Message
from windlass.store import mailbox, tables
from windlass.store.store import Store


@pytest.fixture
def add(store: Store) -> Any:
    """Keeps a message, with an id of its own."""

    def keep(body: str = "hello", **more: Any) -> Message:
        last = store.read(partial(mailbox.inbox, last=1))
        number = last[-1].number + 1 if last else 1
        new = message(body, **{"id": f"msg-{number:010x}", **more})
        return store.write(lambda w: mailbox.add(w, new))

    return keep


def bodies(messages: list[Message]) -> list[str]:
    return [each.body for each in messages]


def test_a_message_is_kept_as_it_is(store: Store, add: Any) -> None:
    kept = add(
        "quotes ' \" \\ \n\t\x1b 👩‍🚀",
        kind="question",
        urgent=True,
        topic="t",
        reply_to="msg-aaaaaaaaaa",
        expires_at=5.5,
        offer=OFFER,
    )
    assert kept.number == 1
    assert store.read(lambda c: mailbox.find(c, kept.id)) == kept
    assert store.read(lambda c: mailbox.find(c, kept.id[:-1])) is None


def test_what_is_changed_is_changed_in_both_and_nothing_else(store: Store, add: Any) -> None:
    kept, other = add(offer=OFFER), add("other", offer=OFFER)
    changed = store.write(lambda w: mailbox.change(w, kept, state="read", offer=None))
    assert (changed.state, changed.offer) == ("read", None)
    assert store.read(lambda c: mailbox.find(c, kept.id)) == changed
    assert store.read(lambda c: mailbox.find(c, other.id)) == other
    assert bodies(store.read(lambda c: mailbox.watched(c, "uid-owl"))) == ["other"]


def test_what_is_queued_comes_in_the_order_of_delivery(store: Store, add: Any) -> None:
    for body, more in (
        ("1", {}),
        ("2", {"urgent": True}),
        ("3", {"state": "delivered"}),
        ("4", {"offer": OFFER}),
        ("5", {"recipient": "uid-cat"}),
        ("6", {"urgent": True}),
    ):
        add(body, **more)
    assert bodies(store.read(lambda c: mailbox.queued(c, "uid-owl"))) == ["2", "6", "1", "4"]


def test_watched_is_what_was_offered_and_not_read(store: Store, add: Any) -> None:
    add("waits")
    for state in ("queued", "delivered", "read", "acked", "failed"):
        add(state, state=state, offer=OFFER)
    watched = store.read(lambda c: mailbox.watched(c, "uid-owl"))
    assert bodies(watched) == ["queued", "delivered"]


def test_the_person_is_never_busy(store: Store, add: Any) -> None:
    add(recipient="user")
    add(recipient="uid-cat", state="read")
    add(recipient="uid-owl")
    assert store.read(mailbox.busy) == {"uid-owl"}


def test_what_is_under_way_or_has_arrived_does_not_expire(store: Store, add: Any) -> None:
    add("late", expires_at=99.0)
    add("now", expires_at=100.0)
    add("later", expires_at=101.0)
    add("never")
    add("under way", expires_at=99.0, offer=OFFER)
    add("there", expires_at=99.0, state="delivered")
    assert bodies(store.read(lambda c: mailbox.expired(c, 100.0))) == ["late", "now"]


def test_an_inbox_is_the_newest_of_what_is_asked_for(store: Store, add: Any) -> None:
    for number in range(5):
        add(str(number))
    add("elsewhere", repo=RepoId("1" * 8))
    add("from me", sender="uid-owl", recipient="uid-fox")
    add("dealt with", state="acked")
    mine = partial(mailbox.inbox, repo=RepoId("0" * 8), recipient="uid-owl")
    assert bodies(store.read(lambda c: mine(c, last=2))) == ["4", "dealt with"]
    assert bodies(store.read(lambda c: mine(c, states=["queued"], last=2))) == ["3", "4"]
    assert bodies(store.read(lambda c: mailbox.inbox(c, sender="uid-owl"))) == ["from me"]


def test_a_thread_is_what_is_answered_and_what_answers(store: Store, add: Any) -> None:
    first = add("question")
    second = add("answer", reply_to=first.id)
    third = add("thanks", reply_to=second.id)
    add("another")
    for member, expected in (
        (first, ["answer"]),
        (second, ["question", "thanks"]),
        (third, ["question", "answer"]),
    ):
        assert bodies(store.read(partial(mailbox.thread, message=member))) == expected


def test_a_thread_that_bites_its_tail_has_an_end(store: Store, add: Any) -> None:
    first = add("1", id="msg-aaaaaaaaaa", reply_to="msg-bbbbbbbbbb")
    add("2", id="msg-bbbbbbbbbb", reply_to="msg-aaaaaaaaaa")
    assert len(store.read(lambda c: mailbox.thread(c, first))) <= 1001


def test_ids_are_found_by_how_they_begin_and_signs_mean_themselves(store: Store, add: Any) -> None:
    add(id="msg-aaaaaaaaaa")
    add(id="msg-aabbbbbbbb")
    read = partial(store.read)
    assert read(lambda c: mailbox.ids(c, "msg-aa")) == ["msg-aaaaaaaaaa", "msg-aabbbbbbbb"]
    assert read(lambda c: mailbox.ids(c, "msg-aab")) == ["msg-aabbbbbbbb"]
    assert read(lambda c: mailbox.ids(c, "msg%")) == []
    assert read(lambda c: mailbox.ids(c, "msg_")) == []


def test_a_senders_last_minute_is_its_own_and_of_one_repository(store: Store, add: Any) -> None:
    for at in (39.0, 40.0, 41.0, 99.0):
        add(created_at=at)
    add(created_at=99.0, sender="uid-cat")
    add(created_at=99.0, repo=RepoId("1" * 8))
    count = store.read(
        lambda c: mailbox.sent_since(c, "uid-fox", RepoId("0" * 8), since=40.0, now=100.0)
    )
    assert count == 2


def test_the_history_of_a_message_is_whole_whatever_was_sent_after_it(
    store: Store, add: Any
) -> None:
    first = add()
    sent = MessageSent(id=first.id, to="owl", recipient="uid-owl", text="hello")
    acked = MessageAcked(id=first.id, by="user")
    store.write(lambda w: w.emit(sent, repo=first.repo, agent=Uid("uid-fox")))
    later = {
        "at": 1.0,
        "repo": first.repo,
        "agent": "uid-owl",
        "kind": "message.sent",
        "data": {"id": "msg-ffffffffff"},
        "subject": "message:msg-ffffffffff",
    }
    many = [later] * 20_001
    store.write(lambda w: w.connection.execute(sa.insert(tables.events), many))
    store.write(lambda w: w.emit(acked, repo=first.repo))
    history = store.read(lambda c: mailbox.history(c, first))
    assert [event.kind for event in history] == ["message.sent", "message.acked"]
