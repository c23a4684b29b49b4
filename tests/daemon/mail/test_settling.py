"""What settles a question or gives mail up, who hears of it, and what brings it back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.daemon.mail.post_office import Post, an_offer
from tests.support.contexts import REPO

from windlass.core.errors import NotFound, UserError
from windlass.core.ids import Uid
from windlass.core.mail.reminders import TOPIC
from windlass.core.reasons import Reason
from windlass.core.states import Observation, Source, State
from windlass.daemon.agents import endings, reassign
from windlass.daemon.mail import receipts
from windlass.daemon.states import observations, reminders
from windlass.store import mailbox, noticeboard
from windlass.store.store import Writing


def asks(post: Post, who: str, text: str = "which port?") -> str:
    return str(post.ask("ask", who, text=text)["message"])


def notices(post: Post) -> list[str]:
    found = post.store.read(lambda c: noticeboard.waiting(c, REPO, limit=100))
    return [one.text for one in found]


def told(post: Post, name: str) -> list[str]:
    found = post.store.read(lambda c: mailbox.inbox(c, recipient=name))
    return [one.body for one in found]


def dies(post: Post, name: str) -> float:
    """Ends an agent as its ending does; returns when."""
    told = {"how": "killed", "by": "user", "stamp": "1", "agents": {name: name}}
    agent = post.agent(name)
    post.change(lambda w: endings.close(w, agent, told))
    ended = post.agent(name).ended_at
    assert ended is not None
    return ended


@pytest.mark.parametrize("arrived", [True, False])
def test_the_person_may_answer_for_a_manager_and_that_settles_it(post: Post, arrived: bool) -> None:
    question = asks(post, "ann")
    if arrived:
        post.arrives(question)
    post.ask("answer", question=question, text="8080")
    assert post.message(question).state == "acked"
    assert told(post, "ann") == ["8080"]
    dies(post, "boss")
    assert post.ask("questions") == []


def test_a_reply_to_somebody_else_settles_nothing(post: Post) -> None:
    question = asks(post, "eve")
    post.send("ann", "what do you think?", reply_to=question)
    assert post.message(question).state == "queued"
    post.send("ann,eve", "80", reply_to=question)
    assert post.message(question).state == "acked"


def test_who_asked_hears_that_its_question_was_put_away(post: Post) -> None:
    question = asks(post, "eve")
    other = post.send("user", "only that you know", who="boss")[0]["id"]
    post.ask("ack", messages=[question, other])
    (text,) = told(post, "eve")
    assert question in text
    assert "without an answer" in text
    assert told(post, "boss") == []
    post.ask("ack", messages=[question])
    assert len(told(post, "eve")) == 1


def test_everything_is_acknowledged_in_one_repository_only(post: Post) -> None:
    question = asks(post, "eve")
    with pytest.raises(UserError, match="repository"):
        post.ask("ack", all=True, cwd=str(post.context.folders.home))
    assert post.message(question).state == "queued"
    post.ask("ack", all=True)
    assert post.message(question).state == "acked"


@pytest.mark.parametrize("how", ["answer", "ack"])
def test_nobody_is_woken_for_a_question_that_is_settled(post: Post, how: str) -> None:
    question = asks(post, "eve")
    assert notices(post) == ["Agent eve asks: which port?"]
    given: dict[str, Any] = {
        "answer": {"question": "eve", "text": "80"},
        "ack": {"messages": [question]},
    }
    post.ask(how, **given[how])
    assert notices(post) == []


def test_a_question_moves_with_who_asked_it(post: Post) -> None:
    first = asks(post, "ann")
    post.ask("reassign", agent="ann", parent=None)
    (second,) = post.ask("questions")
    assert second["text"] == "which port?"
    moved = post.message(first)
    assert (moved.state, moved.survivor) == ("collapsed", second["id"])
    assert notices(post) == ["Agent ann asks: which port?"]
    post.ask("reassign", agent="ann", parent="boss")
    assert post.ask("questions") == []
    assert notices(post) == []
    (third,) = post.ask("questions", "boss")
    post.change(lambda w: reassign.reassign(w, Uid("ann"), Uid("boss")))
    assert [one["id"] for one in post.ask("questions", "boss")] == [third["id"]]


def test_a_question_to_a_manager_that_cannot_hear_it_is_news_for_the_person(post: Post) -> None:
    post.put(msgspec.structs.replace(post.agent("boss"), state=State.PAUSED))
    asked = post.ask("ask", "ann", text="which port?")
    assert asked["state"] == "paused"
    assert notices(post) == ["Agent ann asks boss, which is paused (wl resume boss): which port?"]
    waiting = post.store.read(lambda c: noticeboard.waiting(c, REPO, limit=1))
    post.ask("taken", numbers=[waiting[0].number], listener="x", route="listen")
    assert post.message(asked["message"]).state == "queued"


def test_who_asked_and_then_waits_is_told_of_once(post: Post) -> None:
    post.lives("eve", mode="live")
    eve = post.agent("eve")

    def becomes(writing: Writing, state: State) -> None:
        seen = Observation(
            source=Source.HOOK,
            value=state,
            at=writing.now,
            reason=Reason(kind="claimed_waiting"),
            session=1,
        )
        observations.observe(writing, eve, seen)

    post.put(msgspec.structs.replace(eve, state=State.CREATING))
    post.change(lambda w: becomes(w, State.RUNNING))
    question = asks(post, "eve")
    post.change(lambda w: becomes(w, State.WAITING))
    assert notices(post) == ["Agent eve asks: which port?"]
    post.ask("answer", question=question, text="80")
    post.change(lambda w: becomes(w, State.RUNNING))
    post.change(lambda w: becomes(w, State.WAITING))
    assert notices(post) == ["Agent eve is waiting for input"]


def test_a_topic_that_is_called_like_ours_is_not_ours(post: Post) -> None:
    post.send("ann", "get on with it", topic=TOPIC)
    assert post.store.read(lambda c: reminders.tried(c, Uid("ann"))) == []
    sent = post.send("boss", "important", topic="state:ann")[0]["id"]
    dies(post, "ann")
    assert post.message(sent).state == "queued"


def test_ids_are_completed_for_those_whose_messages_they_are(post: Post) -> None:
    mine = post.send("ann", "one", who="bob")[0]["id"]
    for number in range(20):
        post.send("eve", f"other {number}")
    assert post.ask("message", "ann", message="msg-")["id"] == mine
    with pytest.raises(UserError, match="fits 21 messages"):
        post.ask("message", message="msg-")
    with pytest.raises(NotFound, match="no message 'msg-'"):
        post.ask("message", "boss", message="msg-")
    question = asks(post, "eve")
    assert post.ask("answer", question="msg-", text="80")["messages"][0]["reply_to"] == question


def test_what_the_person_says_to_itself_is_no_question(post: Post) -> None:
    post.send("user", "? what was that")
    assert post.ask("questions") == []
    assert [one["text"] for one in post.ask("inbox", agent="user")] == ["? what was that"]


def test_an_agent_that_comes_back_has_its_mail_and_its_question_again(post: Post) -> None:
    question = asks(post, "ann")
    waits, offered = (post.send("ann", text)[0]["id"] for text in ("one", "two"))
    message, offer = post.message(offered), an_offer()
    post.change(lambda w: mailbox.change(w, message, offer=offer))
    seen = post.send("ann", "three")[0]["id"]
    post.arrives(seen)
    early = post.send("ann", "early", expires=0.0001)[0]["id"]
    late = post.message(early)
    post.change(lambda w: receipts.expire(w, [late]))
    ended = dies(post, "ann")
    assert [post.message(one).state for one in (question, waits, offered)] == [
        "expired", "failed", "failed",
    ]  # fmt: skip
    ann = post.put(msgspec.structs.replace(post.agent("ann"), ended_at=None))
    post.change(lambda w: receipts.revive_mail_of(w, ann, ended))
    back = [post.message(one) for one in (question, waits, offered, seen, early)]
    assert [one.state for one in back] == ["queued", "queued", "queued", "delivered", "expired"]
    assert back[2].offer == offer, "its conversation may have it"
    assert [one["id"] for one in post.ask("questions", "boss")] == [question]
