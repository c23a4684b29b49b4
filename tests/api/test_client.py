"""The client against daemons that misbehave: what breaks is `Gone`, what was refused is told."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest
from tests.api.conftest import Fake

from windlass.api import client
from windlass.core.errors import NotFound, Unavailable, UserError

OK = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"
EVENT = b'id: 7\ndata: {"id":7,"kind":"note"}\n\n'
REFUSED = json.dumps({"kind": "not_found", "message": "no agent", "hint": "look"}).encode()
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\ncontent-length: %d\r\n\r\n%s" % (len(REFUSED), REFUSED)
TEXT = b"HTTP/1.1 500 Oops\r\ncontent-type: text/plain\r\ncontent-length: 5\r\n\r\nsorry"

Fakes = Callable[..., Fake]


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"HTTP/1.1",
        b"HTTP/1.1 huh\r\n\r\n",
        NOT_FOUND[:-3],
        OK + EVENT + b'id: 8\ndata: {"id":8,"ki',
        OK + EVENT + b'data: {"id":8}',
        OK + EVENT + b"data: [8]\n\n",
        OK + EVENT + b"data: {}\n\n",
        OK + EVENT + b"data: \xff\n\n",
    ],
)
def test_a_stream_that_breaks_is_gone_and_what_came_before_is_whole(
    fake: Fakes, broken: bytes
) -> None:
    fake(broken)
    seen: list[dict[str, object]] = []
    with pytest.raises(client.Gone):
        seen.extend(client.stream(0, cwd="/"))
    assert [event["id"] for event in seen] == ([7] if EVENT in broken else [])


def test_a_stream_ends_with_its_daemon(fake: Fakes) -> None:
    fake(OK + b": hello\n\n" + EVENT)
    assert [event["id"] for event in client.stream(0, cwd="/")] == [7]


def test_a_connection_that_is_reset_is_gone(fake: Fakes) -> None:
    """What a daemon leaves unread when it goes comes back as a reset."""
    fake(b"", b"")
    with pytest.raises(client.Gone):
        next(client.stream(0, cwd="/" + "x" * 200_000))
    with pytest.raises(client.Gone):
        client.ask("why", {"text": "x" * 200_000})


def test_what_a_daemon_refuses_is_raised_as_what_it_is(fake: Fakes) -> None:
    fake(NOT_FOUND, NOT_FOUND)
    with pytest.raises(NotFound, match="no agent") as caught:
        next(client.stream(0, cwd="/"))
    assert caught.value.hint == "look"
    with pytest.raises(NotFound, match="no agent"):
        client.ask("why", {})


@pytest.mark.parametrize(
    "answer",
    [
        TEXT,
        b"HTTP/1.1 500 Oops\r\n\r\n{}",
        b"HTTP/1.1 500 Oops\r\n\r\n[1]",
        b"HTTP/1.1 426 Upgrade\r\n\r\n{}",
        b"HTTP/1.1 404 Not Found\r\n\r\nNot Found",
    ],
)
def test_a_refusal_that_is_no_json_of_ours_is_unavailable(fake: Fakes, answer: bytes) -> None:
    fake(answer, answer)
    with pytest.raises(Unavailable, match="the daemon answered"):
        next(client.stream(0, cwd="/"))
    with pytest.raises(Unavailable, match="the daemon answered"):
        client.ask("why", {})


@pytest.mark.parametrize(
    "answer", [b"", OK[:-2], OK + b'{"half', OK[:-2] + b"content-length: nine\r\n\r\n{}"]
)
def test_an_answer_that_is_not_whole_is_gone(fake: Fakes, answer: bytes) -> None:
    fake(answer)
    with pytest.raises(client.Gone):
        client.ask("why", {})


def test_a_daemon_that_was_stopped_is_told_from_one_that_was_killed(fake: Fakes) -> None:
    with pytest.raises(client.Stopped):
        client.ask("why", {})
    fake().die()
    with pytest.raises(client.Dead):
        client.ask("why", {})


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"cwd": os.fsdecode(b"/tmp/\xff")}, r"the folder's name is not UTF-8: /tmp/\\udcff"),
        ({"cwd": "/tmp", "text": "a\udc80"}, r"text is not UTF-8: a\\udc80"),
        ({"cwd": "/tmp", "allow": ["a", "\udc80"]}, r"allow is not UTF-8"),
    ],
)
def test_what_is_not_utf8_is_refused_before_it_is_sent(
    request_: dict[str, object], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        client.ask("send", request_)


def test_a_stream_from_a_folder_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(UserError, match="the folder's name is not UTF-8"):
        next(client.stream(0, cwd=os.fsdecode(b"/tmp/\xff")))
