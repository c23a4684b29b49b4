"""HTTP at the daemon's sockets: what would keep its event loop busy is refused unparsed."""

from __future__ import annotations

import h11
import pytest

from windlass.api.bounded_http import LARGEST_HEAD, MOST_LINES, BoundedConnection

_FIRST = b"POST /v1/echo HTTP/1.1\r\nHost: a\r\n"


def heard(said: bytes) -> object:
    """What a server makes of this."""
    connection = BoundedConnection(h11.SERVER)
    connection.receive_data(said)
    return connection.next_event()


def test_a_head_has_so_many_lines_and_its_body_as_many_as_it_likes() -> None:
    most = _FIRST + b"Content-Length: 900\r\n" + b"a: b\r\n" * (MOST_LINES - 3) + b"\r\n"
    assert isinstance(heard(most + b"\n" * 900), h11.Request)


@pytest.mark.parametrize("end", [b"", b"\r\n", b"\n"], ids=["unfinished", "whole", "bare lines"])
@pytest.mark.parametrize("line", [b"a:\r\n", b"a:\n", b" \r\n"])
def test_a_head_of_more_lines_is_refused_before_it_is_parsed_or_even_whole(
    line: bytes, end: bytes
) -> None:
    with pytest.raises(h11.RemoteProtocolError, match=f"at most {MOST_LINES} lines"):
        heard(_FIRST + b"a: b\r\n" + line * (MOST_LINES - 3 + 1) + end)


def test_a_head_that_comes_in_one_piece_is_no_longer_than_others() -> None:
    with pytest.raises(h11.RemoteProtocolError, match="at most"):
        heard(_FIRST + b"a: " + b"x" * LARGEST_HEAD + b"\r\n\r\n")


def test_a_later_head_on_a_connection_is_counted_by_itself() -> None:
    connection = BoundedConnection(h11.SERVER)
    head = _FIRST + b"Content-Length: 0\r\n" + b"a: b\r\n" * (MOST_LINES - 4) + b"\r\n"
    connection.receive_data(head * 2 + _FIRST + b"a:\r\n" * MOST_LINES)
    for _ in range(2):
        assert isinstance(connection.next_event(), h11.Request)
        assert isinstance(connection.next_event(), h11.EndOfMessage)
        connection.send(h11.Response(status_code=200, headers=[("content-length", "0")]))
        connection.send(h11.EndOfMessage())
        connection.start_next_cycle()
    with pytest.raises(h11.RemoteProtocolError, match="at most"):
        connection.next_event()


@pytest.mark.parametrize("how", [b"chunked", b"Chunked", b"identity, chunked"])
def test_a_request_in_chunks_is_refused(how: bytes) -> None:
    with pytest.raises(h11.RemoteProtocolError):
        heard(_FIRST + b"Transfer-Encoding: " + how + b"\r\n\r\n1\r\na\r\n")
