"""The client that faces use: HTTP/1.0 over a unix socket, on the standard library's sockets.

HTTP/1.0 because its answers end with the connection: no chunks to take apart, and nothing to import
but `socket` and `json` (`http.client` alone would cost a command half of its time).
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping
from typing import Any

from windlass import __version__
from windlass.api import places
from windlass.core import errors


class VersionMismatch(Exception):
    """The daemon is of another version than this client."""

    def __init__(self, daemon: str, schema: int) -> None:
        super().__init__(daemon)
        self.daemon = daemon
        self.schema = schema


class Gone(Exception):
    """Nobody answered, or the connection broke before the answer was whole."""


def socket_path() -> str:
    """The caller's own socket: an agent's session names its own, everyone else is the person."""
    return os.environ.get("WINDLASS_SOCKET") or places.person_socket()


def ask(
    verb: str, request: Mapping[str, Any], *, path: str | None = None, timeout: float | None = None
) -> Any:
    """Asks the daemon once; raises what it answered, `Gone` or `VersionMismatch`."""
    body = json.dumps(request).encode()
    with _connect(path or socket_path(), timeout) as connection:
        answer = _exchange(connection, "POST", f"/v1/{verb}", body)
    status, payload = answer
    decoded = json.loads(payload)
    if status == 200:
        return decoded
    if status == 426:
        raise VersionMismatch(decoded["version"], decoded["schema"])
    kind = errors.BY_KIND.get(decoded.get("kind", ""), errors.Internal)
    raise kind(decoded.get("message", f"the daemon answered {status}"), decoded.get("hint", ""))


def stream(
    *, after: int | None = None, agent: str | None = None, everything: bool = False
) -> Iterator[dict[str, Any]]:
    """Yields events as they happen, those after `after` first; ends when the daemon goes."""
    query = [f"cwd={_quote(os.getcwd())}"]
    if after is not None:
        query.append(f"after={after}")
    if agent is not None:
        query.append(f"agent={_quote(agent)}")
    if everything:
        query.append("everything=1")
    with _connect(socket_path(), None) as connection:
        head = _head("GET", "/v1/events?" + "&".join(query), b"")
        connection.sendall(head)
        with connection.makefile("rb") as answer:
            status = _status(answer.readline())
            while answer.readline().strip():
                pass
            if status != 200:
                reply = json.loads(answer.read() or b"{}")
                kind = errors.BY_KIND.get(reply.get("kind", ""), errors.Internal)
                raise kind(reply.get("message", "no event stream"), reply.get("hint", ""))
            for line in answer:
                if line.startswith(b"data:"):
                    yield json.loads(line[5:])


def _connect(path: str, timeout: float | None) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout)
    try:
        connection.connect(path)
    except OSError as error:
        connection.close()
        raise Gone(str(error)) from error
    return connection


def _exchange(
    connection: socket.socket, method: str, target: str, body: bytes
) -> tuple[int, bytes]:
    try:
        connection.sendall(_head(method, target, body) + body)
        parts = []
        while part := connection.recv(1 << 16):
            parts.append(part)
    except OSError as error:
        raise Gone(str(error)) from error
    head, found, payload = b"".join(parts).partition(b"\r\n\r\n")
    length = _length(head)
    if not found or (length is not None and len(payload) < length):
        raise Gone("the answer was cut off")
    return _status(head.partition(b"\r\n")[0]), payload


def _head(method: str, target: str, body: bytes) -> bytes:
    return (
        f"{method} {target} HTTP/1.0\r\nHost: windlass\r\nWindlass-Version: {__version__}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()


def _status(line: bytes) -> int:
    parts = line.split()
    if len(parts) < 2:
        raise Gone("no answer")
    return int(parts[1])


def _length(head: bytes) -> int | None:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
    return None


def _quote(text: str) -> str:
    return "".join(
        chr(byte) if chr(byte).isalnum() and byte < 128 else f"%{byte:02X}"
        for byte in os.fsencode(text)
    )
