"""The commands of mail: what they send and print, with a daemon that only answers."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from windlass.cli.call import Call
from windlass.cli.commands import inbox, message, send, why
from windlass.cli.index import NAMES
from windlass.cli.main import parsed, parser_of
from windlass.core.errors import UserError

TEXT = "one\r\ntwo\rthree\n\n"
MESSAGE: dict[str, Any] = {
    "id": "msg-1",
    "from": "user",
    "to": "fox",
    "text": "hello",
    "kind": "note",
    "urgent": False,
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
    """A call whose daemon gives one answer, and remembers what it was asked."""

    def __init__(self, module: Any, *words: str, answer: Any) -> None:
        name = module.__name__.rpartition(".")[2]
        super().__init__(parsed(parser_of(NAMES[name], module), list(words)))
        self.answer = answer
        self.asked: dict[str, Any] = {}

    def ask(self, verb: str, **request: Any) -> Any:
        """Answers."""
        del verb
        self.asked = request
        return self.answer


Printed = Callable[[], str]


@pytest.fixture
def printed(capsysbinary: pytest.CaptureFixture[bytes]) -> Printed:
    """What was printed since it was asked for last."""

    def read() -> str:
        return capsysbinary.readouterr().out.decode()

    return read


def sent(*words: str, monkeypatch: pytest.MonkeyPatch, stdin: bytes = b"") -> dict[str, Any]:
    """What `wl send` asks for."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
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
    ],
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
    with pytest.raises(UserError, match=said) as refused:
        sent(*words, monkeypatch=monkeypatch, stdin=stdin)
    assert refused.value.exit_code == 2


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
