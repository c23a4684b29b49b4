"""Mail with a real store and real files: who is meant, what is refused, and what becomes of it."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import random
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from tests.support.agents import an_agent
from tests.support.ground import Ground, until

from windlass.api.server import Caller
from windlass.core import mail, shapes
from windlass.core.crew import Agent
from windlass.core.errors import Conflict, Denied, NotFound, UserError
from windlass.core.ids import RepoId, Uid
from windlass.core.mail import Message
from windlass.core.states import State
from windlass.daemon import confirming, ending, lodging, mailing, prompting, receipts
from windlass.daemon.context import Context, Folders, SystemClock
from windlass.daemon.delivering import Delivering
from windlass.daemon.failpoints import Failpoints
from windlass.daemon.verbs import Verbs
from windlass.sessions.session import Sessions
from windlass.sessions.tmux import Tmux
from windlass.store import mailbox, noticeboard, rows, tables
from windlass.store.rows import Session
from windlass.store.store import Store, Writing

REPO, OTHER = RepoId("deadbeef"), RepoId("0badcafe")
CREW: dict[str, dict[str, Any]] = {
    "boss": {"role": "manager"},
    "ann": {"parent": "boss"},
    "bob": {"parent": "boss"},
    "eve": {},
}


class Turned(SystemClock):
    """The system's clock, which a test turns on."""

    ahead = 0.0

    def now(self) -> float:
        """Later than it is."""
        return super().now() + self.ahead


class NoDoors:
    """Nobody comes in: there are no sessions."""

    def open(self, uid: Uid) -> None:
        """Does nothing."""

    def close(self, uid: Uid) -> None:
        """Does nothing."""


class Post:
    """A daemon's mail, without its sockets."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = Turned()
        self.store = Store(folder / "windlass.db", clock=self.clock)
        self.store.open()
        self.context = Context(
            store=self.store,
            folders=Folders(folder, folder / "rt"),
            sessions=Sessions(Tmux(folder / "tmux")),
            clock=self.clock,
            dice=random.Random(1),  # noqa: S311 - names, not secrets
            failpoints=Failpoints(None),
            env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        )
        self.verbs = Verbs(self.context, NoDoors())
        self.table = self.verbs.table()
        for repo, name in ((REPO, "shop"), (OTHER, "bank")):
            self._repo(repo, folder / name)
        for name, more in CREW.items():
            self.put(an_agent(name, repo=REPO, **more))
        self.put(an_agent("far", repo=OTHER))

    def _repo(self, repo: RepoId, root: Path) -> None:
        (root / ".git").mkdir(parents=True)
        (root / ".windlass").mkdir()
        values = {
            "id": repo,
            "root": str(root),
            "git_dir": str(root / ".git"),
            "added_at": 0.0,
        }
        self.store.write(lambda w: w.connection.execute(sa.insert(tables.repos).values(values)))

    def put(self, agent: Agent) -> Agent:
        """Keeps an agent."""
        self.store.write(lambda w: rows.put_agent(w, agent))
        return agent

    def agent(self, name: str) -> Agent:
        """One that lives."""
        found = self.store.read(lambda c: rows.agent(c, Uid(name)))
        assert found is not None
        return found

    def ask(self, verb: str, who: str | None = None, **request: Any) -> Any:
        """Asks as an agent, or as the person."""
        caller = Caller(Uid(who) if who else None)
        told = {"cwd": str(self.folder / "shop"), **request}
        return self.table[verb].answer(caller, told)

    def send(self, to: str, text: str = "hello", who: str | None = None, **more: Any) -> Any:
        """Sends; returns the messages."""
        return self.ask("send", who, agent=to, text=text, **more)["messages"]

    def config(self, text: str) -> None:
        """Sets the repository's configuration."""
        (self.folder / "shop/.windlass/config.toml").write_text(text)

    def message(self, number: str) -> Message:
        """A message as it is kept now."""
        found = self.store.read(lambda c: mailbox.find(c, number))
        assert found is not None
        return found

    def change(self, change: Callable[[Writing], Any]) -> Any:
        """Changes the store."""
        return self.store.write(change)

    def events(self, kind: str) -> list[dict[str, Any]]:
        """What was told of that kind."""
        query = sa.select(tables.events).where(tables.events.c.kind == kind)
        return [row.data for row in self.store.read(lambda c: c.execute(query).all())]


@pytest.fixture
def post() -> Iterator[Post]:
    """Mail of four agents in one repository and one in another."""
    folder = Path(tempfile.mkdtemp(prefix="wl-"))
    made = Post(folder)
    yield made
    made.verbs.delivering.close()
    made.verbs.delivering._pool.shutdown()  # noqa: SLF001 - a daemon does not wait for it
    made.store.close()
    shutil.rmtree(folder)


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


def test_both_parties_logs_tell_of_a_message(post: Post) -> None:
    (sent,) = post.send("ann", "hello ann", who="bob")
    post.change(lambda w: receipts.delivered(w, post.message(sent["id"]), "context"))
    (told,) = post.events("message.sent")
    assert (told["to"], told["text"]) == ("ann", "hello ann")
    (heard,) = post.events("message.received")
    assert (heard["sender"], heard["text"], heard["route"]) == ("bob", "hello ann", "context")


def arrives(post: Post, number: str) -> None:
    """As if a conversation had told so."""
    post.change(lambda w: receipts.delivered(w, post.message(number), "rewake"))


def test_a_reply_acknowledges_what_it_answers(post: Post) -> None:
    (asked,) = post.send("ann", "which way?", who="boss")
    arrives(post, asked["id"])
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
    arrives(post, sent["id"])
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


def test_who_may_not_resume_an_agent_cannot_wake_it_and_its_message_waits(post: Post) -> None:
    post.put(msgspec.structs.replace(post.agent("ann"), state=State.STOPPED, session=1))
    ended = Session(agent=Uid("ann"), number=1, marker="m", started_at=1.0, ended_at=2.0)
    post.change(lambda w: rows.put_session(w, ended))
    (sent,) = post.send("ann", who="eve", wake=True)
    assert "may not resume ann, which is not below it" in sent["note"]
    assert post.message(sent["id"]).state == "queued"
    assert post.agent("ann").session == 1


def test_the_same_word_in_another_repository_is_another_message(post: Post) -> None:
    (here,) = post.send("user", "all is well")
    (there,) = post.send("user", "all is well", cwd=str(post.folder / "bank"))
    assert {post.message(one["id"]).state for one in (here, there)} == {"queued"}


def test_the_persons_inbox_has_an_end_too(post: Post) -> None:
    post.config("[mail]\ninbox = 2\n")
    post.send("user", "1", who="eve")
    post.send("user", "2", who="eve")
    with pytest.raises(Conflict, match="the inbox of user is full"):
        post.send("user", "3", who="eve")
    post.ask("inbox")
    post.send("user", "3", who="eve")


def test_a_message_says_what_it_waits_for(post: Post) -> None:
    (first,) = post.send("ann", "1")
    (second,) = post.send("ann", "2")
    offered = an_offer(route="rewake", at=post.clock.now())
    post.change(lambda w: mailbox.change(w, post.message(first["id"]), offer=offered))
    post.put(msgspec.structs.replace(post.agent("ann"), state=State.ASKING))
    note = post.ask("message", message=first["id"])["note"]
    assert note.startswith("offered by rewake 0s ago, and not taken yet; ann is asking")
    assert "wl attach ann" in note
    assert post.ask("message", message=second["id"])["note"].startswith(
        f"it comes after {first['id']}; ann is asking"
    )


def test_a_full_inbox_is_the_senders_error_and_nobody_gets_anything(post: Post) -> None:
    post.config("[mail]\ninbox = 2\n")
    post.send("bob", "1")
    post.send("bob", "2")
    with pytest.raises(Conflict, match="the inbox of bob is full: 2 messages wait"):
        post.send("ann,bob", "3", who="boss")
    assert post.ask("inbox", agent="ann") == []


def test_a_sender_has_a_rate_and_another_has_its_own(post: Post) -> None:
    post.config("[mail]\nrate = 3\n")
    post.send("ann,bob", "1", who="boss")
    with pytest.raises(Conflict, match="2 messages sent within a minute, and 3 is the limit"):
        post.send("ann,bob", "2", who="boss")
    post.send("ann", "3", who="eve")
    post.clock.ahead += 61
    post.send("ann,bob", "4", who="boss")


def test_the_same_again_becomes_one_with_what_waits_and_names_it(post: Post) -> None:
    (first,) = post.send("ann", "go")
    (second,) = post.send("ann", "go")
    assert (second["state"], second["survivor"]) == ("collapsed", first["id"])
    assert first["id"] in second["reason"]
    post.change(lambda w: receipts.delivered(w, post.message(first["id"]), "stdin"))
    (third,) = post.send("ann", "go")
    assert third["state"] == "queued"


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


def test_what_is_not_delivered_in_time_expires_with_a_reason(post: Post) -> None:
    (late,) = post.send("ann", expires=5.0)
    (soon,) = post.send("ann", "later", expires=500.0)
    for seconds in (0, -1, float("nan"), 1e10):
        with pytest.raises(UserError):
            post.send("ann", "never", expires=seconds)
    post.clock.ahead += 6
    post.verbs.delivering.pulse()
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
    post.change(lambda w: receipts.close(w, post.agent("ann"), "kill"))
    gone = post.message(sent["id"])
    assert (gone.state, gone.reason) == ("failed", "ann has ended: kill")


def test_what_an_ended_agent_asked_or_was_asked_does_not_hang(post: Post) -> None:
    asked = post.ask("ask", "ann", text="which port?")["message"]
    arrives(post, asked)
    boss = post.agent("boss")
    mine = post.ask("ask", "boss", text="which host?")["message"]
    post.change(
        lambda w: ending.close(w, boss, {"how": "kill", "by": "user", "stamp": "s", "agents": {}})
    )
    assert post.message(mine).state == "expired"
    (again,) = post.ask("questions")
    assert (again["agent"], again["text"]) == ("ann", "which port?")
    old = post.message(asked)
    assert (old.state, old.survivor) == ("collapsed", again["id"])
    waiting = post.store.read(lambda c: noticeboard.waiting(c, REPO, limit=10))
    assert [one.message for one in waiting if one.message == again["id"]] == [again["id"]]


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
    mailing.shown_to_person(post.context, [seen])
    assert post.message(sent["id"]).state == "acked"


def test_an_inbox_of_less_than_one_message_is_refused(post: Post) -> None:
    with pytest.raises(UserError):
        post.ask("inbox", last=0)
    with pytest.raises(UserError):
        post.ask("inbox", last=-1)


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


def test_only_roots_that_may_ask_the_person_something_by_any_command(post: Post) -> None:
    with pytest.raises(Denied, match="only root agents ask the person"):
        post.send("user", "? which port", who="ann")
    post.send("user", "? which port", who="eve")
    post.config("allow_agent_questions = false\n")
    with pytest.raises(Denied, match="does not want to be asked"):
        post.send("user", "QUESTION: which host", who="eve")


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


def test_a_question_to_the_person_is_a_notice_and_who_takes_it_has_it(post: Post) -> None:
    asked = post.ask("ask", "eve", text="which port?")["message"]
    post.send("user", "only how it goes", who="eve")
    waiting = post.store.read(lambda c: noticeboard.waiting(c, REPO, limit=10))
    assert [one.type for one in waiting] == ["question"]
    numbers = [one.number for one in waiting]
    post.ask("taken", numbers=numbers, listener="x", route="listen")
    had = post.message(asked)
    assert (had.state, had.route) == ("delivered", "notice")


# Delivering, on conversations that the test writes.


def an_offer(**more: Any) -> Any:
    """A delivery under way."""
    made = {"route": "context", "session": 1, "at": 0.0, "path": "/nowhere", "offset": 0, **more}
    return shapes.convert(made, mail.Offer)


def lives(post: Post, name: str, number: int = 1, **more: Any) -> Path:
    """Gives an agent a session that runs; returns its conversation."""
    agent = post.put(
        msgspec.structs.replace(
            post.agent(name), session=number, workspace=str(post.folder), **more
        )
    )
    session = Session(agent=agent.uid, number=number, marker=f"m{number}", started_at=1.0)

    def start(writing: Writing) -> None:
        rows.put_session(writing, session)
        writing.emit("session.started", repo=agent.repo, agent=agent.uid, session=number)

    post.change(start)
    path = Path(lodging.transcript(post.context, agent))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def write(path: Path, *lines: dict[str, Any]) -> None:
    """Goes on with a conversation."""
    with path.open("ab") as file:
        file.writelines(json.dumps(line).encode() + b"\n" for line in lines)


def added(text: str) -> dict[str, Any]:
    return {
        "type": "attachment",
        "attachment": {"type": "hook_additional_context", "content": [text]},
    }


def result(call: str) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call, "content": "ok"}
    return {"type": "user", "message": {"role": "user", "content": [block]}}


ANSWER = {"type": "assistant", "message": {"role": "assistant", "model": "m", "content": []}}
CALL = {"hook_event_name": "PreToolUse", "tool_use_id": "toolu_1"}


def on_a_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Runs a test on an event loop of its own, with deliveries under way."""

    def run(post: Post, monkeypatch: pytest.MonkeyPatch) -> None:
        async def whole() -> None:
            post.verbs.delivering.open()
            given = {"patch": monkeypatch} if "patch" in inspect.signature(test).parameters else {}
            await test(post, post.verbs.delivering, **given)

        asyncio.run(whole())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


async def when(true: Callable[[], bool], what: str = "it") -> None:
    await asyncio.to_thread(until, true, what=what)


async def context(desk: Delivering, name: str, call: str = "toolu_1") -> str | None:
    """What goes with the answer about a call."""
    asked = {**CALL, "tool_use_id": call}
    return await asyncio.to_thread(desk.context_for, Uid(name), asked)


async def offered(desk: Delivering, name: str, call: str = "toolu_1") -> str:
    """The same, as soon as there is something."""
    for _ in range(200):
        if text := await context(desk, name, call):
            return text
        await asyncio.sleep(0.01)
    raise AssertionError("nothing was offered")


BUSY: dict[str, Any] = {"mode": "live", "state": State.RUNNING}
IDLE: dict[str, Any] = {"mode": "live", "state": State.WAITING}


@on_a_loop
async def test_mail_for_a_busy_agent_goes_with_its_next_call_and_is_read_when_it_goes_on(
    post: Post, desk: Delivering
) -> None:
    path = lives(post, "ann", **BUSY)
    sent = [post.send("ann", text)[0]["id"] for text in ("one", "two")]
    text = await offered(desk, "ann")
    assert text.index("one") < text.index("two")
    assert await context(desk, "ann", "toolu_2") is None
    write(path, result("toolu_1"), added(text))
    await asyncio.to_thread(desk.look, Uid("ann"))
    await when(lambda: post.message(sent[1]).state == "delivered", "the receipt")
    assert [post.message(one).route for one in sent] == ["context", "context"]
    write(path, ANSWER)
    await asyncio.to_thread(desk.look, Uid("ann"))
    await when(lambda: post.message(sent[1]).state == "read", "the receipt")


@on_a_loop
async def test_a_subagent_and_other_events_get_no_mail(post: Post, desk: Delivering) -> None:
    lives(post, "ann", **BUSY)
    (sent,) = post.send("ann")
    for event in (
        {**CALL, "agent_id": "sub"},
        {**CALL, "hook_event_name": "PermissionRequest"},
        {"hook_event_name": "PreToolUse"},
    ):
        assert await asyncio.to_thread(desk.context_for, Uid("ann"), event) is None
    assert post.message(sent["id"]).offer is None
    assert await offered(desk, "ann")


@on_a_loop
async def test_mail_that_its_call_went_without_is_queued_again_when_the_model_went_on(
    post: Post, desk: Delivering, patch: pytest.MonkeyPatch
) -> None:
    patch.setattr(confirming, "_AFTERWARDS", 0.0)
    path = lives(post, "ann", **BUSY)
    (sent,) = post.send("ann")
    await offered(desk, "ann")
    write(path, result("toolu_1"))
    for _ in range(3):
        await asyncio.to_thread(desk.look, Uid("ann"))
    assert post.message(sent["id"]).offer is not None, "what goes with a call comes after it"
    write(path, ANSWER)
    await asyncio.to_thread(desk.look, Uid("ann"))
    await when(lambda: len(post.events("message.requeued")) == 1, "the way back")
    text = await offered(desk, "ann", "toolu_2")
    write(path, result("toolu_2"), added(text))
    await asyncio.to_thread(desk.look, Uid("ann"))
    await when(lambda: post.message(sent["id"]).state == "delivered", "the receipt")


@on_a_loop
async def test_what_a_dead_session_had_is_not_offered_to_the_next_however_long_it_talked(
    post: Post, desk: Delivering, patch: pytest.MonkeyPatch
) -> None:
    patch.setattr(confirming, "_READ_AT_ONCE", 64)
    path = lives(post, "ann", **BUSY)
    (sent,) = post.send("ann")
    text = await offered(desk, "ann")
    patch.setattr(Delivering, "_see_to", lambda *_: None)  # nobody looks until it is over
    write(path, *[result(f"toolu_{number}") for number in range(1000)], added(text))
    lives(post, "ann", 2, **BUSY)
    await asyncio.to_thread(desk.look, Uid("ann"))
    assert post.message(sent["id"]).state == "delivered"
    assert post.events("message.requeued") == []


@on_a_loop
async def test_what_a_dead_session_had_not_goes_to_the_next_once_that_has_started(
    post: Post, desk: Delivering
) -> None:
    path = lives(post, "ann", **BUSY)
    (sent,) = post.send("ann")
    text = await offered(desk, "ann")
    ended = Session(agent=Uid("ann"), number=1, marker="m1", started_at=1.0, ended_at=2.0)
    post.change(lambda w: rows.put_session(w, ended))
    path.write_bytes(json.dumps(added(text)).encode()[:-9])  # killed as it wrote
    post.change(lambda w: rows.put_session(w, Session(agent=Uid("ann"), number=2, marker="m2")))
    await asyncio.to_thread(desk.look, Uid("ann"))
    assert post.message(sent["id"]).offer is not None, "the old one may not be gone yet"
    with path.open("ab") as file:
        file.write(b"\n")
    lives(post, "ann", 2, **BUSY)
    again = await offered(desk, "ann", "toolu_9")
    assert again == text
    assert post.message(sent["id"]).offer is not None


@on_a_loop
async def test_mail_to_an_agent_without_a_session_is_offered_to_its_first(
    post: Post, desk: Delivering
) -> None:
    (sent,) = post.send("ann")
    uid = Uid("ann")
    await when(lambda: uid not in desk._busy and uid not in desk._working)  # noqa: SLF001
    lives(post, "ann", **BUSY)
    assert sent["id"] in await offered(desk, "ann")


@on_a_loop
async def test_mail_that_comes_as_the_last_is_settled_is_not_forgotten(
    post: Post, desk: Delivering, patch: pytest.MonkeyPatch
) -> None:
    lives(post, "ann", **BUSY)
    watched = mailbox.watched
    asked: list[Any] = []

    def slow(connection: sa.Connection, recipient: str) -> list[Message]:
        found = watched(connection, recipient)
        asked.append(found)
        if len(asked) == 2:  # nothing is queued and nothing watched: and just now something is
            post.send("ann")
        return found

    patch.setattr(mailbox, "watched", slow)
    desk.stir(Uid("ann"))
    await when(lambda: len(asked) > 1 and Uid("ann") not in desk._working, "the end")  # noqa: SLF001
    assert await context(desk, "ann")


@on_a_loop
async def test_what_is_outdated_as_it_is_taken_is_not_offered(post: Post, desk: Delivering) -> None:
    lives(post, "ann", **BUSY)
    (old,) = post.send("ann", "red", topic="build")
    seen = post.message(old["id"])
    (new,) = post.send("ann", "green", topic="build")
    reach = confirming.reach(post.context, Uid("ann"))
    assert reach is not None
    text = desk._offer(reach, [seen, post.message(new["id"])], "context")  # noqa: SLF001
    assert "green" in text
    assert "red" not in text
    assert post.message(old["id"]).offer is None
    assert desk._offer(reach, [seen], "context") == ""  # noqa: SLF001


@on_a_loop
async def test_a_headless_session_that_does_not_read_yet_is_offered_nothing(
    post: Post, desk: Delivering
) -> None:
    lives(post, "ann")
    (sent,) = post.send("ann")
    desk.stir(Uid("ann"))
    await when(lambda: Uid("ann") not in desk._working, "the end")  # noqa: SLF001
    assert post.message(sent["id"]).offer is None


@on_a_loop
async def test_what_was_typed_into_a_terminal_that_went_is_judged_by_the_conversation(
    post: Post, desk: Delivering, patch: pytest.MonkeyPatch
) -> None:
    lives(post, "ann", **IDLE)
    (sent,) = post.send("ann")
    reach = confirming.reach(post.context, Uid("ann"))
    assert reach is not None
    patch.setattr(prompting, "is_free", lambda *_: True)  # a moment before its tmux was gone
    assert desk._by_typing(reach, [post.message(sent["id"])])  # noqa: SLF001
    offer = post.message(sent["id"]).offer
    assert offer is not None
    assert offer.route == "paste"


def waits(desk: Delivering, arm: str, session: int = 1) -> asyncio.Task[Any]:
    """A hook that waits for ann's mail."""
    asked: Any = {"session": session, "arm": arm}
    return asyncio.create_task(desk.wait(Caller(Uid("ann")), asked))


async def armed(desk: Delivering, arm: str) -> None:
    """Returns when that hook is the one that waits."""

    def there() -> bool:
        waiter = desk._waiting.get(Uid("ann"))  # noqa: SLF001 - who waits is nobody else's business
        return waiter is not None and waiter.arm == arm

    await when(there, f"{arm} waiting")


@on_a_loop
async def test_a_waiting_hook_is_given_mail_at_once(post: Post, desk: Delivering) -> None:
    lives(post, "ann", **IDLE)
    hook = waits(desk, "a")
    await armed(desk, "a")
    (sent,) = await asyncio.to_thread(post.send, "ann", "x" * 20_000)
    assert "x" * 20_000 in (await asyncio.wait_for(hook, 5))["text"]
    offer = post.message(sent["id"]).offer
    assert offer is not None
    assert (offer.route, offer.arm) == ("rewake", "a")
    later = waits(desk, "b")
    await armed(desk, "b")
    assert not later.done(), "what is under way is not offered twice"
    later.cancel()


@on_a_loop
async def test_a_hook_that_asks_again_has_not_had_what_it_was_given(
    post: Post, desk: Delivering
) -> None:
    lives(post, "ann", **IDLE)
    (sent,) = await asyncio.to_thread(post.send, "ann")
    first = await asyncio.wait_for(waits(desk, "a"), 5)
    again = await asyncio.wait_for(waits(desk, "a"), 5)
    assert first == again
    assert len(post.events("message.requeued")) == 1
    assert post.message(sent["id"]).offer is not None


@on_a_loop
async def test_a_hook_that_hung_up_is_given_nothing(post: Post, desk: Delivering) -> None:
    lives(post, "ann", **IDLE)
    gone = waits(desk, "a")
    await armed(desk, "a")
    gone.cancel()
    with suppress(asyncio.CancelledError):
        await gone
    (sent,) = await asyncio.to_thread(post.send, "ann")
    answer = await asyncio.wait_for(waits(desk, "b"), 5)
    assert sent["id"] in answer["text"]


@on_a_loop
async def test_hooks_of_no_or_another_session_and_older_ones_are_let_go(
    post: Post, desk: Delivering
) -> None:
    lives(post, "ann", **IDLE)
    assert await waits(desk, "a", session=2) == {"text": None}
    older = waits(desk, "b")
    await armed(desk, "b")
    newer = waits(desk, "c")
    assert await asyncio.wait_for(older, 5) == {"text": None}
    await armed(desk, "c")
    with pytest.raises(Denied):
        await desk.wait(Caller(None), {"session": 1, "arm": "x"})
    newer.cancel()


# On a ground, with everything.


@pytest.mark.slow
def test_send_inbox_and_message_from_the_command_line(unboxed: Ground) -> None:
    ground = unboxed
    ground.new("fox", {"text": "I rest.\n\nWAITING"}, flags=["--print"])
    ground.wait("fox", states="waiting")
    body = "quotes ' \" \\ \n\tand \x1b[31m 👩‍🚀\nEnter C-c\n"
    (sent,) = ground.wl("send", "fox", "--json", "--wait", "30s", stdin=body).ok().json()
    assert sent["state"] in ("delivered", "read")
    assert (sent["route"], sent["text"]) == ("stdin", body)
    file = ground.folder / "said.txt"
    file.write_text(body + "more")
    (sent,) = ground.wl("send", "fox", "-F", str(file), "--json", "--wait", "30s").ok().json()
    assert sent["text"] == body + "more"
    assert sent["id"] in ground.wl("inbox", "fox").ok().out
    shown = ground.wl("message", "show", sent["id"]).ok().out
    assert "delivered" in shown
    assert "by stdin" in shown
    assert "\x1b" not in shown
    ground.wl("message", "ack", sent["id"]).ok()
    assert "nothing to acknowledge" in ground.wl("message", "ack", sent["id"]).ok().out
    assert ground.wl("inbox", "fox", "--sent", "--json").ok().json() == []
    for code, command in (
        (8, ("send", "nobody", "hello")),
        (8, ("message", "show", "msg-nothing")),
        (2, ("send", "fox", "")),
        (2, ("send", "fox", "-F", "/nowhere")),
        (2, ("inbox", "--last", "0")),
        (2, ("answer", sent["id"], "what?")),
        (2, ("send", "fox", "--expires", "0s", "x")),
    ):
        ground.wl(*command).failed(code)


@pytest.mark.slow
def test_mail_of_a_stopped_agent_waits_for_its_resume_and_fails_with_its_end(
    unboxed: Ground,
) -> None:
    ground = unboxed
    ground.new("fox", {"text": "I rest.\n\nWAITING"}, flags=["--print"])
    ground.wait("fox", states="waiting")
    ground.wl("pause", "fox").ok()
    done = ground.wl("send", "fox", "later").ok()
    assert "it waits for `wl resume fox`" in done.out
    (waiting,) = ground.wl("inbox", "fox", "--json").ok().json()
    assert (waiting["state"], waiting["under_way"]) == ("queued", False)
    ground.wl("resume", "fox").ok()
    until(lambda: ground.ask("message", message=waiting["id"])["state"] == "read", within=30)
    ground.wl("pause", "fox").ok()
    ground.wl("send", "fox", "never").ok()
    ground.wl("kill", "fox", "--force").ok()
    (failed,) = [
        one for one in ground.wl("inbox", "fox", "--all", "--json").ok().json() if one["ended_at"]
    ]
    assert (failed["text"], failed["state"]) == ("never", "failed")
    assert "fox has ended" in failed["reason"]
