"""Questions: whose they are, who answers them, and that none is lost sight of."""

from __future__ import annotations

import msgspec
import pytest
import sqlalchemy as sa
from tests.daemon.mail.post_office import Post
from tests.support.contexts import REPO

from windlass.core.errors import Conflict, Denied, UserError
from windlass.daemon.agents import endings
from windlass.daemon.mail import receipts
from windlass.store import noticeboard, tables


def test_a_roots_question_is_the_persons_and_anothers_its_parents(post: Post) -> None:
    assert post.ask("ask", "boss", text="which port?")["to"] == "user"
    assert post.ask("ask", "ann", text="which file?")["to"] == "boss"
    assert [one["text"] for one in post.ask("questions")] == ["which port?"]
    assert [one["text"] for one in post.ask("questions", "boss")] == ["which file?"]
    assert post.ask("questions", "ann") == []
    with pytest.raises(Denied):
        post.ask("ask", text="a person's")


def test_a_person_that_wants_no_questions_gets_none_and_managers_still_do(post: Post) -> None:
    post.config("allow_agent_questions = false\n")
    with pytest.raises(Denied, match="does not want to be asked"):
        post.ask("ask", "eve", text="which port?")
    assert post.ask("ask", "ann", text="which file?")["to"] == "boss"


def test_only_roots_that_may_ask_the_person_something_by_any_command(post: Post) -> None:
    with pytest.raises(Denied, match="only root agents ask the person"):
        post.send("user", "? which port", who="ann")
    post.send("user", "? which port", who="eve")
    post.config("allow_agent_questions = false\n")
    with pytest.raises(Denied, match="does not want to be asked"):
        post.send("user", "QUESTION: which host", who="eve")


def test_a_question_is_answered_by_its_id_or_by_who_asks(post: Post) -> None:
    asked = post.ask("ask", "eve", text="which port?")["message"]
    (answer,) = post.ask("answer", question="eve", text="8080")["messages"]
    assert (answer["to"], answer["reply_to"]) == ("eve", asked)
    assert post.message(asked).state == "acked"
    assert post.ask("questions") == []
    assert [one["id"] for one in post.ask("questions", all=True)] == [asked]
    first = post.ask("ask", "eve", text="which host?")["message"]
    post.ask("ask", "eve", text="which user?")
    with pytest.raises(UserError, match="eve asks 2 things"):
        post.ask("answer", question="eve", text="localhost")
    post.ask("answer", question=first, text="localhost")
    assert [one["text"] for one in post.ask("questions")] == ["which user?"]
    with pytest.raises(Conflict, match="is settled: it was answered"):
        post.ask("answer", question=first, text="or not")
    post.ask("answer", question="ev", text="root")
    assert post.ask("questions") == []


def test_questions_are_found_behind_any_number_of_other_messages(post: Post) -> None:
    asked = post.ask("ask", "eve", text="which port?")["message"]
    sender = receipts.Party("eve", "eve")
    some = receipts.draft(REPO, sender, receipts.PERSON, "at it", kind="status", now=1.0)
    values = {**msgspec.to_builtins(some), "offer": sa.null()}
    del values["number"]
    many = [{**values, "id": f"msg-{number:010x}"} for number in range(1001)]
    post.change(lambda w: w.connection.execute(sa.insert(tables.messages).values(many)))
    assert [one["id"] for one in post.ask("questions")] == [asked]


def test_what_is_no_question_or_nobodys_any_more_is_not_answered(post: Post) -> None:
    (sent,) = post.send("user", "at it", who="eve")
    with pytest.raises(UserError, match="is no question"):
        post.ask("answer", question=sent["id"], text="so?")
    asked = post.ask("ask", "eve", text="which port?")["message"]
    with pytest.raises(Denied):
        post.ask("answer", "bob", question=asked, text="mine")
    post.put(msgspec.structs.replace(post.agent("eve"), ended_at=1.0))
    with pytest.raises(Conflict, match="eve, who asked, has ended"):
        post.ask("answer", question=asked, text="8080")
    assert post.ask("ack", all=True)["acked"] == [sent["id"], asked]


def test_what_an_ended_agent_asked_or_was_asked_does_not_hang(post: Post) -> None:
    asked = post.ask("ask", "ann", text="which port?")["message"]
    post.arrives(asked)
    boss = post.agent("boss")
    mine = post.ask("ask", "boss", text="which host?")["message"]
    post.change(
        lambda w: endings.close(w, boss, {"how": "kill", "by": "user", "stamp": "s", "agents": {}})
    )
    assert post.message(mine).state == "expired"
    (again,) = post.ask("questions")
    assert (again["agent"], again["text"]) == ("ann", "which port?")
    old = post.message(asked)
    assert (old.state, old.survivor) == ("collapsed", again["id"])
    waiting = post.store.read(lambda c: noticeboard.waiting(c, REPO, limit=10))
    assert [one.message for one in waiting if one.message == again["id"]] == [again["id"]]


def test_a_question_to_the_person_is_a_notice_and_who_takes_it_has_it(post: Post) -> None:
    asked = post.ask("ask", "eve", text="which port?")["message"]
    post.send("user", "only how it goes", who="eve")
    waiting = post.store.read(lambda c: noticeboard.waiting(c, REPO, limit=10))
    assert [one.type for one in waiting] == ["question"]
    numbers = [one.number for one in waiting]
    post.ask("taken", numbers=numbers, listener="x", route="listen")
    had = post.message(asked)
    assert (had.state, had.route) == ("delivered", "notice")
