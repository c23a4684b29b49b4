"""The beginning of TLS: which server a client says it wants.

Reads a ClientHello and nothing else. The proxy lets a connection to an allowed name through only
when the name in here is the same, because one address may serve allowed and other names alike. So
one that may have another name in it, which only the server can read, is none that is known here.
"""

_HANDSHAKE, _CLIENT_HELLO, _SERVER_NAME, _HOST = 22, 1, 0, 0
_ENCRYPTED = 0xFE0D
"""A whole hello for the server alone (RFC 9849). Browsers send one of mere noise as well, and
nobody but the server can tell the two apart."""
_LONGEST = 1 << 16


def server_name(said: bytes) -> str | None:
    """The name in it; "" if there is none; None while too little was said to know.

    ValueError says what it is instead of TLS.
    """
    message = b""
    rest = said
    while True:
        if rest and rest[0] != _HANDSHAKE:
            raise ValueError("no TLS")
        if len(rest) > 1 and rest[1] != 3:
            raise ValueError("no TLS that is known")
        if len(rest) < 5:
            return None
        size = int.from_bytes(rest[3:5])
        if size == 0:
            raise ValueError("an empty TLS record")
        message += rest[5 : 5 + size]
        if message and message[0] != _CLIENT_HELLO:
            raise ValueError("TLS without a client's hello")
        whole = 4 + int.from_bytes(message[1:4]) if len(message) >= 4 else _LONGEST
        if len(message) >= whole:
            return _read(message[4:whole])
        if len(said) > _LONGEST or (whole > _LONGEST and len(message) >= 4):
            raise ValueError("a TLS hello without end")
        if len(rest) < 5 + size:
            return None
        rest = rest[5 + size :]


def _read(hello: bytes) -> str:
    """Finds the extension among the rest; every length is checked by what it leaves."""
    rest = _Rest(hello)
    rest.take(2 + 32)
    rest.take_sized(1)
    rest.take_sized(2)
    rest.take_sized(1)
    if not rest.left:
        return ""
    extensions = _Rest(rest.take_sized(2))
    names: list[str] = []
    while extensions.left:
        kind = int.from_bytes(extensions.take(2))
        body = extensions.take_sized(2)
        if kind == _ENCRYPTED:
            raise ValueError("TLS with an encrypted hello (ECH), which may be for another name")
        if kind == _SERVER_NAME:
            names.append(_name(body))
    if len(names) > 1:
        raise ValueError("TLS for two names")
    return names[0] if names else ""


def _name(body: bytes) -> str:
    names = _Rest(_Rest(body).take_sized(2))
    kind = names.take(1)[0]
    name = names.take_sized(2)
    if kind != _HOST or names.left:
        raise ValueError("TLS for something else than a name")
    return name.decode("ascii")


class _Rest:
    """What is left of some bytes; taking more than that is an error."""

    def __init__(self, left: bytes) -> None:
        self.left = left

    def take(self, size: int) -> bytes:
        """Takes that many bytes from the front; ValueError if there are fewer."""
        if len(self.left) < size:
            raise ValueError("broken TLS")
        taken, self.left = self.left[:size], self.left[size:]
        return taken

    def take_sized(self, width: int) -> bytes:
        """Takes as many as the number of that width says."""
        return self.take(int.from_bytes(self.take(width)))
