"""What a client of the proxy says: reading it, taking it apart, and answering a refusal.

Strict where others are lenient: what two programs could read in two ways is refused, because the
proxy decides by one of them. Loaded by its path, imports nothing of ours.
"""

import _socket
import time

_LARGEST_HEAD = 1 << 16
_MOST_LINES = 200
_CHUNK = 1 << 16
_HOP = {
    b"connection", b"host", b"keep-alive", b"proxy-authorization", b"proxy-connection", b"te",
    b"upgrade",
}  # fmt: skip


class Refused(Exception):
    """Not allowed, or not possible: the status to answer with, and why."""

    def __init__(self, status: int, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.status = status
        self.why = why
        self.hint = hint


def read_line(client: _socket.socket, end: float) -> bytes:
    """Reads at least the first line of what a client says, and maybe more."""
    said = b""
    while b"\n" not in said:
        if len(said) > _LARGEST_HEAD:
            raise ValueError
        said += receive(client, end)
    return said


def read_head(client: _socket.socket, said: bytes, end: float) -> tuple[bytes, bytes]:
    """Reads on to the end of a request's headers; returns them, and what came after."""
    while b"\r\n\r\n" not in said:
        if len(said) > _LARGEST_HEAD:
            raise ValueError
        said += receive(client, end)
    head, _, rest = said.partition(b"\r\n\r\n")
    if head.count(b"\r\n") >= _MOST_LINES:
        raise ValueError
    return head, rest


def receive(client: _socket.socket, end: float) -> bytes:
    """Receives something before that time; an end is an error."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    client.settimeout(left)
    data = client.recv(_CHUNK)
    if not data:
        raise EOFError
    return data


def answer(client: _socket.socket, refusal: Refused) -> None:
    """Tells a client why its request was refused."""
    body = f"windlass: {refusal.why}\n{refusal.hint}".strip().encode("utf-8", "replace") + b"\n"
    reasons = {400: b"Bad Request", 403: b"Forbidden", 502: b"Bad Gateway"}
    client.sendall(
        b"HTTP/1.1 %d %b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n"
        b"X-Windlass-Refused: 1\r\nConnection: close\r\n\r\n%b"
        % (refusal.status, reasons[refusal.status], len(body), body)
    )


def take_apart(head: bytes) -> "tuple[str, str, list[bytes]]":
    """The method and target of a request, and the lines of its headers."""
    first, *lines = head.split(b"\r\n")
    if any(byte < 32 and byte != 9 for line in (first, *lines) for byte in line):
        raise Refused(400, "this request has a control character in it")
    words = first.decode("ascii", "replace").split(" ")
    if len(words) != 3 or not words[0].isalpha() or words[2] not in {"HTTP/1.0", "HTTP/1.1"}:
        raise Refused(400, "this is a proxy for HTTP: the request is none that it knows")
    return words[0], words[1], lines


def split(place: str, standard: int | None) -> tuple[str, int]:
    """Takes `host:port` apart; refuses what could be read in two ways."""
    host, colon, port = place.rpartition(":")
    if not colon or port.endswith("]"):
        host, colon, port = place, "", ""
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise Refused(400, f"{place!r} is no host and port")
    if not colon and standard is not None:
        port = str(standard)
    host = host.lower().removesuffix(".")
    plain = host.isascii() and host and all(letter.isalnum() or letter in "-._:" for letter in host)
    if not plain or not port.isascii() or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise Refused(400, f"{place!r} is no host and port")
    return host, int(port)


def headers(lines: "list[bytes]") -> "tuple[int, list[bytes]]":
    """The length of the body, and the headers to pass on; refuses what servers read differently."""
    kept, lengths = [], set()
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not name.replace(b"-", b"").replace(b"_", b"").isalnum():
            raise Refused(400, "a header of this request is malformed")
        name = name.lower()
        if name == b"transfer-encoding":
            raise Refused(400, "this proxy takes no chunked request: send its length")
        if name == b"content-length":
            lengths.add(value.strip())
        if name not in _HOP:
            kept.append(line)
    length = lengths.pop() if lengths else b"0"
    if lengths or not length.isdigit() or len(length) > 18:
        raise Refused(400, "the length of this request is unclear")
    return int(length), kept


def bracketed(host: str) -> str:
    """A host as it stands before a port."""
    return f"[{host}]" if ":" in host else host


def joined(host: str, port: int) -> str:
    """A host and a port as one word."""
    return f"{bracketed(host)}:{port}"
