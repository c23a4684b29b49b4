"""Mail as it is sent: who is meant, what is refused, and what becomes one with what waits."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.daemon.mail.post_office import Post
from tests.support import whole_rows
from tests.support.agents import an_agent
from tests.support.contexts import REPO, Turned

from windlass.core.errors import Conflict, NotFound, UserError
from windlass.core.ids import Uid
from windlass.core.states import State
from windlass.store import mailbox
from windlass.store.rows import Session
from windlass.store.store import Event


def recipients(messages: list[dict[str, Any]]) -> set[str]:
    return {one["to"] for one in messages}


@pytest.mark.parametrize(
    ("who", "to", "meant"),
    [
        (None, "ann", {"ann"}),
        (None, "ann,bob", {"ann", "bob"}),
        (None, " ann , bob,ann", {"ann", "bob"}),
        (None, "bos", {"boss"}),
        (None, "children", {"boss", "eve"}),
        (None, "all", {"boss", "ann", "bob", "eve"}),
        (None, "worker", {"ann", "bob", "eve"}),
        (None, "manager,eve", {"boss", "eve"}),
        ("ann", "all", {"boss", "bob", "eve"}),
        ("ann", "parent", {"boss"}),
        ("boss", "parent", {"user"}),
        ("boss", "children", {"ann", "bob"}),
        ("ann", "user", {"user"}),
        ("ann", "user-claude,boss", {"user", "boss"}),
    ],
)
def test_words_mean_whom_they_say(post: Post, who: str | None, to: str, meant: set[str]) -> None:
    assert recipients(post.send(to, who=who)) == meant


def test_a_role_of_the_repositorys_own_is_a_word_for_its_agents(post: Post) -> None:
    folder = post.shop / ".windlass" / "roles"
    folder.mkdir(parents=True)
    (folder / "reviewer.md").write_text("words")
    post.config("[roles.keeper]\n")
    for word in ("reviewer", "keeper"):
        with pytest.raises(NotFound, match=f"{word}: there is nobody"):
            post.send(word)
    post.put(an_agent("rex", repo=REPO, role="reviewer"))
    post.put(an_agent("reviewers", repo=REPO))
    assert recipients(post.send("reviewer")) == {"rex"}
    post.put(an_agent("reviewer", repo=REPO))
    assert recipients(post.send("reviewer")) == {"reviewer"}, "an agent's own name goes first"


@pytest.mark.parametrize(
    ("who", "to", "error"),
    [
        (None, "nobody", NotFound),
        (None, "far", NotFound),
        (None, "parent", UserError),
        ("ann", "children", NotFound),
        (None, ", ,", UserError),
        (None, "ann,nobody", NotFound),
    ],
)
def test_whoever_is_not_there_is_an_error_and_nobody_gets_anything(
    post: Post, who: str | None, to: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        post.send(to, who=who)
    assert post.store.read(mailbox.inbox) == []


def test_a_parent_that_has_ended_is_the_person(post: Post) -> None:
    post.put(msgspec.structs.replace(post.agent("boss"), ended_at=1.0))
    assert recipients(post.send("parent", who="ann")) == {"user"}


@pytest.mark.parametrize("text", ["", " \n\t", "a\0b", "x" * 100_001, "half a \ud800"])
def test_what_cannot_be_delivered_as_it_is_is_refused(post: Post, text: str) -> None:
    with pytest.raises(UserError):
        post.send("ann", text)
    assert post.store.read(mailbox.inbox) == []


def test_who_may_not_resume_an_agent_cannot_wake_it_and_its_message_waits(post: Post) -> None:
    post.put(msgspec.structs.replace(post.agent("ann"), state=State.STOPPED, session=1))
    ended = Session(agent=Uid("ann"), number=1, marker="m", started_at=1.0, ended_at=2.0)
    post.change(lambda w: whole_rows.put_session(w, ended))
    (sent,) = post.send("ann", who="eve", wake=True)
    assert "may not resume ann, which is not below it" in sent["note"]
    assert post.message(sent["id"]).state == "queued"
    assert post.agent("ann").session == 1


def test_a_full_inbox_is_the_senders_error_and_nobody_gets_anything(post: Post) -> None:
    post.config("[mail]\ninbox = 2\n")
    post.send("bob", "1", who="boss")
    post.send("bob", "2", who="boss")
    with pytest.raises(Conflict, match="the inbox of bob is full: 2 messages wait"):
        post.send("ann,bob", "3", who="boss")
    assert post.ask("inbox", agent="ann") == []


def test_who_fills_an_inbox_keeps_nobody_else_from_being_heard(post: Post) -> None:
    """Neither the person, whatever agents left there, nor an agent that says little."""
    post.config("[mail]\ninbox = 2\n")
    for to in ("bob", "user"):
        post.send(to, "1", who="eve")
        post.send(to, "2", who="eve")
        with pytest.raises(Conflict, match=f"the inbox of {to} is full"):
            post.send(to, "3", who="eve")
        post.send(to, "4", who="boss")
    post.send("bob", "5")
    post.send("bob", "6")
    with pytest.raises(Conflict, match="the inbox of bob is full"):
        post.send("bob", "7")


def test_the_persons_inbox_has_an_end_too(post: Post) -> None:
    post.config("[mail]\ninbox = 2\n")
    post.send("user", "1", who="eve")
    post.send("user", "2", who="eve")
    with pytest.raises(Conflict, match="the inbox of user is full"):
        post.send("user", "3", who="eve")
    post.ask("inbox")
    post.send("user", "3", who="eve")


def test_a_sender_has_a_rate_and_another_has_its_own(post: Post, clock: Turned) -> None:
    post.config("[mail]\nrate = 3\n")
    post.send("ann,bob", "1", who="boss")
    with pytest.raises(Conflict, match="2 messages sent within a minute, and 3 is the limit"):
        post.send("ann,bob", "2", who="boss")
    post.send("ann", "3", who="eve")
    clock.time += 61
    post.send("ann,bob", "4", who="boss")


def test_the_same_again_becomes_one_with_what_waits_and_names_it(post: Post) -> None:
    (first,) = post.send("ann", "go")
    (second,) = post.send("ann", "go")
    assert (second["state"], second["survivor"]) == ("collapsed", first["id"])
    assert first["id"] in second["reason"]
    post.arrives(first["id"])
    (third,) = post.send("ann", "go")
    assert third["state"] == "queued"


def test_the_same_word_in_another_repository_is_another_message(post: Post) -> None:
    (here,) = post.send("user", "all is well")
    (there,) = post.send("user", "all is well", cwd=str(post.bank))
    assert {post.message(one["id"]).state for one in (here, there)} == {"queued"}


def test_yes_no_yes_is_kept_as_it_was_said(post: Post) -> None:
    states = [post.send("ann", text)[0]["state"] for text in ("yes", "no", "yes")]
    assert states == ["queued", "queued", "queued"]


def test_a_new_message_on_a_topic_takes_the_place_of_what_waits(post: Post) -> None:
    (old,) = post.send("ann", "red", topic="build")
    (other,) = post.send("ann", "red", topic="lint")
    (new,) = post.send("ann", "green", topic="build")
    gone = post.message(old["id"])
    assert (gone.state, gone.survivor) == ("collapsed", new["id"])
    assert new["id"] in gone.reason
    assert post.message(other["id"]).state == "queued"


def test_a_message_that_wakes_nobody_is_sent_in_one_transaction(post: Post) -> None:
    commits: list[list[str]] = []

    def committed(events: list[Event]) -> None:
        commits.append([event.kind for event in events])

    post.store.listen(committed)
    (sent,) = post.send("ann", key="once")
    assert [one for one in commits if "intent.done" in one] == [commits[0]]
    assert {"message.sent", "intent.open"} <= set(commits[0])
    assert sent["text"] == "hello"
    assert post.send("ann", key="once")[0]["id"] == sent["id"]


def test_a_name_is_looked_up_once_and_a_flood_of_names_not_at_all(post: Post) -> None:
    assert recipients(post.send(",".join(["ann"] * 100_000))) == {"ann"}
    with pytest.raises(UserError, match="501 names, and 500 are the most"):
        post.send(",".join(f"a{number}" for number in range(501)))
