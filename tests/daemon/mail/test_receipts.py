"""What becomes of a message, and who may look at it, acknowledge it or answer it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.daemon.mail.post_office import Post, an_offer
from tests.support.contexts import Turned

from windlass.core.errors import Conflict, Denied, NotFound, UserError
from windlass.core.states import State
from windlass.daemon.mail import inbox, receipts
from windlass.store import mailbox


def test_both_parties_logs_tell_of_a_message(post: Post) -> None:
    (sent,) = post.send("ann", "hello ann", who="bob")
    post.arrives(sent["id"], "context")
    (told,) = post.events("message.sent")
    assert (told["to"], told["text"]) == ("ann", "hello ann")
    (heard,) = post.events("message.received")
    assert (heard["sender"], heard["text"], heard["route"]) == ("bob", "hello ann", "context")


def test_a_reply_acknowledges_what_it_answers(post: Post) -> None:
    (asked,) = post.send("ann", "which way?", who="boss")
    post.arrives(asked["id"])
    (reply,) = post.send("boss", "left", who="ann", reply_to=asked["id"])
    assert post.message(asked["id"]).state == "acked"
    assert post.message(reply["id"]).reply_to == asked["id"]
    shown = post.ask("message", message=asked["id"])
    assert [one["text"] for one in shown["thread"]] == ["left"]


def test_what_an_agent_was_not_given_yet_is_delivered_whatever_is_said_of_it(post: Post) -> None:
    (sent,) = post.send("ann", "which way?", who="boss")
    post.send("boss", "left", who="ann", reply_to=sent["id"])
    post.send("ann", "and fast", who="boss", reply_to=sent["id"])
    with pytest.raises(Conflict, match="has not been delivered yet"):
        post.ask("ack", "ann", messages=[sent["id"]])
    assert post.ask("ack", "ann", all=True) == {"acked": []}
    assert post.message(sent["id"]).state == "queued"


def test_only_the_recipient_acknowledges_a_message_and_only_parties_answer_it(post: Post) -> None:
    (sent,) = post.send("ann", who="boss")
    post.arrives(sent["id"])
    foreign: list[Callable[[], Any]] = [
        lambda: post.send("boss", who="bob", reply_to=sent["id"]),
        lambda: post.ask("ack", "bob", messages=[sent["id"]]),
        lambda: post.ask("ack", "boss", messages=[sent["id"]]),
        lambda: post.ask("message", "bob", message=sent["id"]),
        lambda: post.ask("inbox", "bob", agent="ann"),
        lambda: post.ask("inbox", "ann", agent="boss"),
    ]
    for ask in foreign:
        with pytest.raises(Denied):
            ask()
    with pytest.raises(NotFound):
        post.ask("message", "far", message=sent["id"])
    assert post.message(sent["id"]).state == "delivered"
    assert post.ask("message", "boss", message=sent["id"])["text"] == "hello"
    assert [one["id"] for one in post.ask("inbox", "ann")] == [sent["id"]]
    assert [one["id"] for one in post.ask("inbox", "boss", agent="ann")] == [sent["id"]]
    assert post.ask("ack", "ann", messages=[sent["id"][:8]]) == {"acked": [sent["id"]]}
    assert post.ask("ack", "ann", messages=[sent["id"]]) == {"acked": []}


def test_a_message_says_what_it_waits_for(post: Post, clock: Turned) -> None:
    (first,) = post.send("ann", "1")
    (second,) = post.send("ann", "2")
    message, offered = post.message(first["id"]), an_offer(route="rewake", at=clock.now())
    post.change(lambda w: mailbox.change(w, message, offer=offered))
    post.put(msgspec.structs.replace(post.agent("ann"), state=State.ASKING))
    note = post.ask("message", message=first["id"])["note"]
    assert note.startswith("offered by rewake 0s ago, and not taken yet; ann is asking")
    assert "wl attach ann" in note
    assert post.ask("message", message=second["id"])["note"].startswith(
        f"it comes after {first['id']}; ann is asking"
    )


def test_what_is_not_delivered_in_time_expires_with_a_reason(post: Post, clock: Turned) -> None:
    (late,) = post.send("ann", expires=5.0)
    (soon,) = post.send("ann", "later", expires=500.0)
    for seconds in (0, -1, float("nan"), 1e10):
        with pytest.raises(UserError):
            post.send("ann", "never", expires=seconds)
    clock.time += 6
    post.services.delivery.pulse()
    gone = post.message(late["id"])
    assert (gone.state, bool(gone.reason), gone.ended_at is not None) == ("expired", True, True)
    assert post.message(soon["id"]).state == "queued"


def test_what_was_offered_since_it_was_looked_at_does_not_expire(post: Post) -> None:
    (sent,) = post.send("ann", expires=5.0)
    seen = post.message(sent["id"])
    post.change(lambda w: mailbox.change(w, seen, offer=an_offer()))
    post.change(lambda w: receipts.expire(w, [seen]))
    assert post.message(sent["id"]).state == "queued"


def test_mail_of_an_agent_that_ends_fails_with_a_reason(post: Post) -> None:
    (sent,) = post.send("ann")
    ann = post.agent("ann")
    post.change(lambda w: receipts.close_mail_of(w, ann, "kill"))
    gone = post.message(sent["id"])
    assert (gone.state, gone.reason) == ("failed", "ann has ended: kill")


def test_the_person_has_had_what_it_was_shown_and_what_is_dealt_with_stays_so(post: Post) -> None:
    (sent,) = post.send("user", "! fire", who="eve")
    seen = post.message(sent["id"])
    assert (seen.kind, seen.body, seen.state) == ("alert", "fire", "queued")
    assert post.ask("inbox", "eve") == []
    assert post.message(sent["id"]).state == "queued"
    post.ask("inbox")
    assert post.message(sent["id"]).route == "inbox"
    post.ask("ack", all=True)
    post.ask("inbox", all=True)
    assert post.message(sent["id"]).state == "acked"
    assert len(post.events("message.received")) == 1


def test_what_the_person_dealt_with_as_it_was_listed_stays_so(post: Post) -> None:
    (sent,) = post.send("user", "! fire", who="eve")
    seen = post.message(sent["id"])
    post.ask("ack", messages=[sent["id"]])
    inbox.shown_to_person(post.context, [seen])
    assert post.message(sent["id"]).state == "acked"


def test_an_inbox_of_less_than_one_message_is_refused(post: Post) -> None:
    with pytest.raises(UserError):
        post.ask("inbox", last=0)
    with pytest.raises(UserError):
        post.ask("inbox", last=-1)
