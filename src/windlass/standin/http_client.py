"""A small HTTP client for hooks on this machine: one POST, one answer, through the loop."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping

from windlass.standin.loop import Loop

_URL = re.compile(r"http://(\[[^\]]+\]|[^/:?#]+)(?::(\d+))?([/?][^#]*)?")


class PostError(Exception):
    """No usable answer came."""


def post(
    loop: Loop, url: str, body: bytes, *, headers: Mapping[str, str], timeout: float
) -> tuple[int, bytes]:
    """Posts JSON and returns status and body; speaks HTTP/1.0, so answers are never chunked."""
    parsed = _URL.fullmatch(url)
    if not parsed:
        raise PostError(f"not a plain http address: {url}")
    host, port, path = parsed[1].strip("[]"), int(parsed[2] or 80), parsed[3] or "/"
    lines = [
        f"POST {path if path.startswith('/') else '/' + path} HTTP/1.0",
        f"Host: {parsed[1]}:{port}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *(f"{key}: {value}" for key, value in headers.items()),
    ]
    head = "\r\n".join(re.sub(r"[\r\n]", " ", line) for line in lines)
    try:
        with socket.create_connection((host, port), timeout=timeout) as connection:
            connection.sendall(f"{head}\r\n\r\n".encode() + body)
            answer = _receive(loop, connection, timeout)
    except OSError as error:
        raise PostError(str(error)) from None
    return _parsed(answer)


def _receive(loop: Loop, connection: socket.socket, timeout: float) -> bytes:
    answer = bytearray()
    ended = False

    def read() -> None:
        nonlocal ended
        try:
            chunk = connection.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        answer.extend(chunk)
        ended = not chunk or _complete(answer)

    connection.settimeout(0)
    loop.on_readable(connection.fileno(), read)
    try:
        if not loop.wait(lambda: ended, timeout):
            raise PostError(f"no answer within {timeout:g} s")
    finally:
        loop.forget(connection.fileno())
    return bytes(answer)


def _complete(answer: bytearray) -> bool:
    head, blank_line, body = bytes(answer).partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length:\s*(\d+)", head) if blank_line else None
    return bool(length) and len(body) >= int(length[1] if length else 0)


def _parsed(answer: bytes) -> tuple[int, bytes]:
    head, _, body = answer.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1\.[01] (\d{3})", head)
    if not status:
        raise PostError("the answer is not HTTP")
    return int(status[1]), body
