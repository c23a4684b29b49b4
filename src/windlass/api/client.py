"""The client that faces use: HTTP/1.0 over a unix socket, on the standard library's sockets.

HTTP/1.0 because its answers end with the connection: no chunks to take apart, and nothing to import
but `socket` and `json` (`http.client` alone would cost a command half of its time).
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from windlass.api import places
from windlass.api.identity import IDENTITY
from windlass.core import errors


class VersionMismatch(Exception):
    """The daemon is of another version than this client, or speaks or stores otherwise."""

    def __init__(self, daemon: str, schema: int) -> None:
        super().__init__(daemon)
        self.daemon = daemon
        self.schema = schema


class Gone(Exception):
    """Nobody answered, or the connection broke before the answer was whole."""


class Stopped(Gone):
    """There is no socket: the daemon ended in good order, or never ran."""


class Dead(Gone):
    """There is a socket and nobody behind it: the daemon was killed."""


class CutOff(Gone):
    """The request was sent, and no whole answer came: it may have been done."""


class LetGo(KeyboardInterrupt):
    """The person interrupted a command after its request was sent: it goes on without them."""


def socket_path() -> str:
    """The caller's own socket: an agent's session names its own, everyone else is the person."""
    return os.environ.get("WINDLASS_SOCKET") or places.person_socket()


def listens() -> bool:
    """Whether somebody is behind the caller's own socket."""
    try:
        _connect(socket_path(), 5.0).close()
    except Gone:
        return False
    return True


def ask(
    verb: str, request: Mapping[str, Any], *, path: str | None = None, timeout: float | None = None
) -> Any:
    """Asks the daemon once; raises what it answered, `Gone` or `VersionMismatch`."""
    body = _encode(request)
    with _connect(path or socket_path(), timeout) as connection:
        try:
            status, payload = _exchange(connection, f"/v1/{verb}", body)
        except Gone as gone:
            raise CutOff(str(gone)) from gone.__cause__
        except KeyboardInterrupt:
            raise LetGo from None
    if status != 200:
        raise _refusal(status, payload)
    try:
        return json.loads(payload)
    except ValueError as error:
        raise CutOff("the answer is no JSON") from error


def stream(
    after: int,
    *,
    cwd: str,
    agent: str | None = None,
    path: str | None = None,
    timeout: float | None = None,
) -> Iterator[dict[str, Any]]:
    """Yields the events after `after`, then those that happen; ends when the daemon goes.

    Whatever breaks it, a silence of `timeout` too, is `Gone`; what was yielded until then is whole.
    """
    asked = {"after": str(after), "cwd": cwd} | ({} if agent is None else {"agent": agent})
    _encode(asked)
    query = "&".join(f"{name}={_quote(text)}" for name, text in asked.items())
    with _connect(path or socket_path(), timeout) as connection:
        try:
            connection.sendall(_head("GET", f"/v1/events?{query}", b""))
            with connection.makefile("rb") as answer:
                yield from _events(answer)
        except OSError as error:
            raise Gone(str(error)) from error


def _events(answer: BinaryIO) -> Iterator[dict[str, Any]]:
    head = b""
    while line := answer.readline().strip():
        head += line + b"\r\n"
    if (status := _status(head)) != 200:
        raise _refusal(status, _whole(head, answer.read()))
    for line in answer:
        if not line.startswith(b"data:"):
            continue
        try:
            event = json.loads(line[5:])
        except ValueError as error:
            raise Gone("an event was cut off") from error
        if not line.endswith(b"\n") or not isinstance(event, dict) or "id" not in event:
            raise Gone("an event was cut off")
        yield event


def _encode(request: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(request, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _not_text(request) from None


def _not_text(request: Mapping[str, Any]) -> errors.UserError:
    for name, value in request.items():
        said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        shown = said.encode(errors="backslashreplace").decode()
        if shown == said:
            continue
        if name == "cwd":
            return errors.UserError(
                f"the folder's name is not UTF-8: {shown}", "rename it, or go to another folder"
            )
        return errors.UserError(f"{name} is not UTF-8: {shown}", "say it in UTF-8")
    return errors.UserError("the request is not UTF-8", "say it in UTF-8")


def _connect(path: str, timeout: float | None) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(timeout)
    try:
        connection.connect(path)
    except OSError as error:
        connection.close()
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            raise Stopped(str(error)) from error
        raise (Dead if isinstance(error, ConnectionRefusedError) else Gone)(str(error)) from error
    return connection


def _exchange(connection: socket.socket, target: str, body: bytes) -> tuple[int, bytes]:
    parts: list[bytes] = []
    try:
        _say(connection, _head("POST", target, body) + body)
        while part := connection.recv(1 << 16):
            parts.append(part)
    except OSError as error:
        # Who was refused unread has the answer before the reset.
        if not parts:
            raise Gone(str(error)) from error
    head, separator, payload = b"".join(parts).partition(b"\r\n\r\n")
    if not separator:
        raise Gone("the answer was cut off")
    return _status(head), _whole(head, payload)


def _say(connection: socket.socket, request: bytes) -> None:
    """Says it, as far as somebody listens: a daemon that lets nobody in has answered already."""
    try:
        connection.sendall(request)
    except BrokenPipeError:
        return


def _head(method: str, target: str, body: bytes) -> bytes:
    return (
        f"{method} {target} HTTP/1.0\r\nHost: windlass\r\nWindlass-Version: {IDENTITY}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()


def _status(head: bytes) -> int:
    parts = head.partition(b"\r\n")[0].split()
    if len(parts) < 2 or not parts[1].isdigit():
        raise Gone("no answer")
    return int(parts[1])


def _whole(head: bytes, payload: bytes) -> bytes:
    for line in head.lower().split(b"\r\n"):
        name, _, length = line.partition(b":")
        if name == b"content-length" and (
            not length.strip().isdigit() or len(payload) < int(length)
        ):
            raise Gone("the answer was cut off")
    return payload


def _refusal(status: int, payload: bytes) -> Exception:
    try:
        reply = json.loads(payload)
        if status == 426:
            return VersionMismatch(reply["version"], reply["schema"])
        kind = errors.BY_KIND.get(reply["kind"], errors.Internal)
        return kind(reply["message"], reply["hint"])
    except (ValueError, LookupError, TypeError):
        said = payload[:200].decode(errors="replace").strip()
        return errors.Unavailable(f"the daemon answered {status}: {said}", "see `wl daemon logs`")


def _quote(text: str) -> str:
    return "".join(
        chr(byte) if chr(byte).isalnum() and byte < 128 else f"%{byte:02X}"
        for byte in text.encode()
    )
