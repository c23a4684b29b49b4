"""The commands of mail: what they send and print, with a daemon that only answers."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from windlass.api import verbs
from windlass.cli import call as calling
from windlass.cli.call import Call
from windlass.cli.commands import (
    acknowledge,
    answer,
    ask,
    inbox,
    message,
    notify,
    questions,
    send,
    why,
)
from windlass.cli.index import NAMES
from windlass.cli.main import parsed, parser_of
from windlass.core import texts
from windlass.core.errors import Conflict, UserError
from windlass.core.mail import messages

TEXT = "one\r\ntwo\rthree\n\n"
MESSAGE: dict[str, Any] = {
    "id": "msg-1",
    "from": "user",
    "to": "fox",
    "text": "hello",
    "kind": "note",
    "urgent": False,
    "repo": "aaaa1111",
    "state": "queued",
    "under_way": False,
    "route": None,
    "reply_to": None,
    "age": 5.0,
    "note": "",
    "thread": [],
    "history": [{"at": 0.0, "what": "sent", "why": ""}],
    **dict.fromkeys(name for name, _ in message._TIMES),  # noqa: SLF001 - every time that is printed
}


class Told(Call):
    """A call whose daemon gives one answer, and remembers what it was asked.

    Other verbs than that of the command have answers of their own: where it is called, above all.
    """

    def __init__(self, module: Any, *words: str, answer: Any, **others: Any) -> None:
        name = module.__name__.rpartition(".")[2]
        super().__init__(parsed(parser_of(NAMES[name], module), list(words)))
        self.answer = answer
        self.others = {"whoami": {"repo": "/src/here"}, **others}
        self.asked: dict[str, Any] = {}

    def ask(self, verb: str, **request: Any) -> Any:
        """Answers."""
        if verb in self.others:
            return self.others[verb]
        self.asked = request
        return self.answer


Printed = Callable[[], str]


@pytest.fixture
def printed(capsysbinary: pytest.CaptureFixture[bytes]) -> Printed:
    """What was printed since it was asked for last."""

    def read() -> str:
        return capsysbinary.readouterr().out.decode()

    return read


def piped_in(stdin: bytes) -> io.TextIOWrapper:
    """A stdin that a program writes to."""
    return io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")


def sent(*words: str, monkeypatch: pytest.MonkeyPatch, stdin: bytes = b"") -> dict[str, Any]:
    """What `wl send` asks for."""
    monkeypatch.setattr(sys, "stdin", piped_in(stdin))
    call = Told(send, *words, answer={"messages": []})
    assert send.run(call) == 0
    return call.asked


def test_a_file_is_sent_to_the_last_line_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes").write_bytes(TEXT.encode())
    asked = sent("fox", "--file", str(tmp_path / "notes"), monkeypatch=monkeypatch)
    assert asked["text"] == TEXT


@pytest.mark.parametrize("words", [["fox"], ["fox", "--file", "-"], ["-F", "-", "fox"]])
def test_what_is_piped_is_sent_to_the_last_line_end(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sent(*words, monkeypatch=monkeypatch, stdin=TEXT.encode())["text"] == TEXT


@pytest.mark.parametrize(
    "words",
    [
        ["--urgent", "fox", "two", "words"],
        ["fox", "--urgent", "two", "words"],
        ["fox", "two", "--urgent", "words"],
        ["fox", "two", "words", "--urgent"],
    ],
    ids=" ".join,
)
def test_options_stand_before_between_and_after_the_words(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = sent(*words, monkeypatch=monkeypatch)
    assert (asked["agent"], asked["text"], asked["urgent"]) == ("fox", "two words", True)


@pytest.mark.parametrize(
    ("words", "stdin", "said"),
    [
        (["fox", "--file", "notes", "and", "more"], b"", "both a text and --file"),
        (["fox", "--file", "-", "more"], b"x", "both a text and --file"),
        (["fox", "--file", "absent"], b"", "cannot read absent"),
        (["fox", "--file", "."], b"", "cannot read ."),
        (["fox", "--file", "bytes"], b"", "bytes is not UTF-8"),
        (["fox"], b"\xff", "stdin is not UTF-8"),
        (["fox"], b"", "nothing to send"),
        (["fox", "-"], b"", "nothing to send"),
        (["fox", ""], b"x", "nothing to send"),
        (["fox", "--file", "endless"], b"", "endless has more than 1 MiB"),
        (["fox"], b"x" * (calling.LARGEST + 1), "stdin has more than 1 MiB"),
        (["fox", "--wait", "soon", "x"], b"", "'soon' is not a duration"),
        (["fox", "--expires", "", "x"], b"", "'' is not a duration"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_cannot_be_sent_is_a_mistake_in_the_command(
    words: list[str],
    stdin: bytes,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes").write_text("x")
    Path("bytes").write_bytes(b"\xff")
    with Path("endless").open("wb") as file:  # read whole, it would take all memory at once
        file.truncate(1 << 40)
    with pytest.raises(UserError, match=said) as refused:
        sent(*words, monkeypatch=monkeypatch, stdin=stdin)
    assert refused.value.exit_code == 2


def test_as_much_text_is_read_as_the_daemon_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert calling.LARGEST == verbs.LARGEST
    (tmp_path / "most").write_text("é" * texts.LONGEST)
    asked = sent("fox", "--file", str(tmp_path / "most"), monkeypatch=monkeypatch)
    assert len(asked["text"]) == texts.LONGEST
    (tmp_path / "more").write_bytes(b"x" * (texts.LONGEST + 1))
    with pytest.raises(UserError, match="100001 characters, and 100000 is the most"):
        sent("fox", "--file", str(tmp_path / "more"), monkeypatch=monkeypatch)


SAYING: dict[Any, tuple[list[str], Any]] = {
    send: (["fox"], {"messages": []}),
    answer: (["msg-1"], {"messages": []}),
    ask: ([], {"to": "user", "state": None}),
    notify: ([], {"number": 1}),
}
"""The commands that take a text, with what stands before it and what they are answered."""


class Unread(io.TextIOWrapper):
    """A stdin that nobody closes: reading it would never end."""

    @property
    def buffer(self) -> Any:
        """Nobody may have it."""
        raise AssertionError("stdin was read")


@pytest.mark.parametrize("command", SAYING, ids=lambda module: module.__name__.rpartition(".")[2])
@pytest.mark.parametrize(
    ("words", "stdin", "text"),
    [
        (["-"], piped_in, "piped"),
        ([], piped_in, "piped"),
        (["two", "words"], None, "two words"),
        (["a", "-"], None, "a -"),
    ],
    ids=["dash", "nothing", "words", "a dash among words"],
)
def test_a_text_is_on_stdin_with_a_dash_or_without_words_for_every_command(
    command: Any, words: list[str], stdin: Any, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = piped_in(b"piped") if stdin else Unread(io.BytesIO(b""))
    monkeypatch.setattr(sys, "stdin", given)
    before, answered = SAYING[command]
    call = Told(command, *before, *words, answer=answered)
    command.run(call)
    assert call.asked["text"] == text


PAUSED = {**MESSAGE, "note": "fox is paused: it waits for `wl resume fox`"}
THERE = {**MESSAGE, "state": "delivered", "route": "rewake"}


@pytest.mark.parametrize(
    ("first", "later", "delivered"),
    [
        (PAUSED, None, False),
        (MESSAGE, MESSAGE, False),
        (MESSAGE, THERE, True),
        (THERE, None, True),
        ({**MESSAGE, "state": "collapsed", "survivor": "msg-0"}, None, False),
        ({**MESSAGE, "to": "user"}, {**MESSAGE, "to": "user"}, False),
    ],
    ids=["paused", "in vain", "in time", "at once", "collapsed", "to the person"],
)
def test_who_waits_learns_by_the_exit_code_whether_it_was_delivered(
    first: dict[str, Any],
    later: dict[str, Any] | None,
    delivered: bool,
    printed: Printed,
) -> None:
    others = {} if later is None else {"receipts": [later]}
    words = ("fox", "x", "--wait", "3s")
    call = Told(send, *words, answer={"messages": [first]}, **others)
    if delivered:
        assert send.run(call) == 0
    else:
        with pytest.raises(Conflict, match=f"not delivered: msg-1 to {first['to']}") as refused:
            send.run(call)
        assert refused.value.exit_code == 1
    assert printed().startswith("msg-1 to "), "the receipt is printed all the same"
    assert send.run(Told(send, "fox", "x", answer={"messages": [first]}, receipts=[first])) == 0


@pytest.mark.parametrize("state", ["acked", "expired", "failed", "collapsed", *messages.OPEN])
def test_only_an_open_question_is_shown_with_how_to_answer_it(state: str, printed: Printed) -> None:
    assert message.OPEN == messages.OPEN
    asked = {"id": "msg-1", "agent": "fox", "age": 5.0, "text": "why?", "state": state}
    questions.run(Told(questions, "--all", answer=[asked]))
    head, *rest = printed().splitlines()
    assert head == f"fox asks (5s) [{state}]: why?"
    assert rest == (["    wl answer msg-1 '...'"] if state in messages.OPEN else [])


def test_messages_and_all_of_them_are_not_acknowledged_at_once() -> None:
    call = Told(acknowledge, "msg-1", "--all", answer={"acked": []})
    with pytest.raises(UserError, match="both --all and msg-1") as refused:
        acknowledge.run(call)
    assert refused.value.exit_code == 2
    assert not call.asked


def test_a_message_is_shown_with_its_kind_and_who_dealt_with_it(printed: Printed) -> None:
    past = [{"at": 0.0, "what": "acked", "why": "lead"}]
    told = {**MESSAGE, "kind": "question", "urgent": True, "acked_at": 1.0, "history": past}
    message.run(Told(message, "show", "msg-1", answer=told))
    lines = [line.split() for line in printed().splitlines()]
    assert ["kind", "question,", "urgent"] in lines
    assert [line[-2:] for line in lines if line[:1] == ["acked"]] == [["by", "lead"]]
    message.run(Told(message, "show", "msg-1", answer=MESSAGE))
    assert "  kind       note\n" in printed()


ROOTS = [
    {"id": "aaaa1111", "root": "/src/one"},
    {"id": "bbbb2222", "root": "/src/two"},
    {"id": "cccc3333", "root": "/old/two"},
]


def test_outside_of_repositories_mail_is_shown_with_the_folder_that_it_is_of(
    printed: Printed,
) -> None:
    found = [{**MESSAGE, "agent": "fox", "repo": one["id"]} for one in ROOTS]
    outside = {"whoami": {"repo": None}, "repos": ROOTS}
    inbox.run(Told(inbox, answer=found, **outside))
    heads = printed().splitlines()[::2]
    questions.run(Told(questions, answer=found, **outside))
    asked = printed().splitlines()[::2]
    # Two folders of one name are told apart by all of it.
    for head, line, name in zip(heads, asked, ("one", "/src/two", "/old/two"), strict=True):
        assert f"user to fox in {name}  5s ago" in head
        assert line.startswith(f"fox in {name} asks")
    inbox.run(Told(inbox, answer=found))
    assert " in " not in printed()


LONG = "which of the two databases 漢字 " * 20


def test_a_listed_message_is_cut_to_the_terminal(
    monkeypatch: pytest.MonkeyPatch, printed: Printed
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    failed = {**MESSAGE, "text": LONG, "state": "failed", "reason": "its box is gone " * 9}
    call = Told(inbox, answer=[failed])
    call.terminal = True
    inbox.run(call)
    head, text = printed().splitlines()
    assert head.startswith("msg-1  user to fox  5s ago  [failed: its box")
    assert head.endswith("…]")
    assert len(head) == 60
    assert text.startswith("    which of the two databases")
    assert text.endswith("…")
    assert len(text) < 60 < len(LONG)


def test_elsewhere_than_on_a_terminal_a_message_is_whole(printed: Printed) -> None:
    told = {**MESSAGE, "text": LONG}
    inbox.run(Told(inbox, answer=[told]))
    assert printed().splitlines()[1] == f"    {LONG}"
    call = Told(message, "show", "msg-1", answer=told)
    call.terminal = True
    message.run(call)
    assert LONG in printed()


def test_why_a_message_waits_is_said_wherever_it_is_shown(printed: Printed) -> None:
    told = {**MESSAGE, "note": "fox is paused: it waits for `wl resume fox`"}
    message.run(Told(message, "show", "msg-1", answer=told))
    assert "  because    fox is paused: it waits for `wl resume fox`\n" in printed()
    why.run(Told(why, "msg-1", answer=told))
    assert "  because  fox is paused: it waits for `wl resume fox`\n" in printed()


def test_every_step_of_a_message_is_told_in_words_and_whole(
    monkeypatch: pytest.MonkeyPatch, printed: Printed
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    reason = "the conversation has nothing of it though the session ended"
    steps = [("sent", ""), ("requeued", reason), ("received", "stdin"), ("read", ""), ("acked", "")]
    monkeypatch.setattr("time.time", lambda: 100.0)

    def lines(count: int) -> list[str]:
        past = [{"at": 40.0, "what": what, "why": reason} for what, reason in steps[:count]]
        call = Told(why, "msg-1", answer={**MESSAGE, "history": past})
        call.terminal = True
        why.run(call)
        return printed().splitlines()[1:]

    assert lines(1) == ["AGO   WHAT HAPPENED", "1m    sent by user to fox"]
    assert lines(5)[2:] == [
        f"1m    did not arrive, and waits again: {reason}",
        "1m    delivered by stdin",
        "1m    read",
        "1m    acknowledged",
    ]


def test_the_way_a_message_came_is_not_how_it_was_dealt_with(printed: Printed) -> None:
    for state, shown in (("delivered", "delivered by inbox"), ("acked", "acked")):
        inbox.run(Told(inbox, answer=[{**MESSAGE, "state": state, "route": "inbox"}]))
        assert f"[{shown}]" in printed()
