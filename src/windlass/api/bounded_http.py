"""HTTP/1.1 as the daemon's sockets take it: what would keep the event loop busy is not parsed.

h11 parses in Python and in one go: a head of thousands of lines takes tens of milliseconds, a
chunked body of one byte a chunk a quarter of a second for each piece that is received, and nobody
else is answered meanwhile. So the lines of a head are counted before it is parsed, and what a
caller sends says how long it is.
"""

from __future__ import annotations

import h11
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

LARGEST_HEAD = 16 << 10
MOST_LINES = 200
"""Lines of a head; programs that ask here send twenty or so. Parsing these takes half a millisecond
at most."""
_ENDS = (b"\n\n", b"\n\r\n")


class BoundedConnection(h11.Connection):
    """One end of HTTP/1.1 to which what takes long to parse is malformed."""

    def __init__(self, role: type[h11.CLIENT | h11.SERVER]) -> None:
        super().__init__(role, max_incomplete_event_size=LARGEST_HEAD)

    def next_event(self) -> h11.Event | type[h11.NEED_DATA | h11.PAUSED]:
        """Parses the next part of what was received."""
        if self.their_state in {h11.IDLE, h11.SEND_RESPONSE}:
            _require_short(self.trailing_data[0])
        event = super().next_event()
        if isinstance(event, h11.Request) and any(
            name == b"transfer-encoding" for name, _ in event.headers
        ):
            raise h11.RemoteProtocolError("a request here says how long it is", 411)
        return event


class BoundedProtocol(H11Protocol):
    """What uvicorn answers a connection by, bounded likewise."""

    def __init__(self, config: Config, state: ServerState) -> None:
        super().__init__(config, state, {})
        self.conn = BoundedConnection(h11.SERVER)


def _require_short(received: bytes) -> None:
    """Refuses a head that is too long or has too many lines, whether all of it is there or not."""
    ends = [at for at in map(received.find, _ENDS) if at >= 0]
    end = min(ends, default=len(received))
    if end > LARGEST_HEAD or received.count(b"\n", 0, end) >= MOST_LINES:
        raise h11.RemoteProtocolError(
            f"a head has at most {MOST_LINES} lines and {LARGEST_HEAD >> 10} KiB", 431
        )
