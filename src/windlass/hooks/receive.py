"""The receiver of http hooks: a listener on this machine's loopback, run by a session's holder.

Each `POST /hook` with `Authorization: Bearer TOKEN` becomes a line of the session's events file, as
if the observing hook had been run for it, and is answered `{}`. It lives as long as the session and
needs no daemon, so that no event is lost while none runs. What finds no room on a full disk is kept
in memory, and written down when there is some. Built-in modules only: a hundred holders load this.
Speaks as much HTTP/1.1 as agent CLIs do; bodies have a length, none comes in chunks.
"""

import _socket
import _thread
import posix
import sys
import time
from _operator import _compare_digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from windlass.hooks import event_record
else:
    sys.path.insert(0, __file__.rpartition("/")[0])
    import event_record

PATH = b"/hook"
MOST_CLIENTS = 200
"""Connections that have shown the token."""
MOST_STRANGERS = 200
"""Connections that have not. One more lets go the oldest: others on this machine may come and stay
silent, and must not keep out whoever shows the token at once."""
PATIENCE = 30.0
"""Seconds that one request may take of a client that has shown the token."""
PATIENCE_WITH_STRANGERS = 20.0
"""Seconds until a client has to have shown it: on a machine that is busy with a crew an agent CLI
may need some of them between its connection and its first byte, and its event would be lost."""
MOST_UNWRITTEN = 16 << 20
"""Bytes of events that are kept while the disk is full; what comes then is lost."""
_BETWEEN_TRIES = 1.0
_LINGER = 1.0
_LARGEST_HEAD = 1 << 16
_MOST_LINES = 200
"""Lines of a head: a stranger's, too, is taken apart before it is known whose it is."""
_CHUNK = 1 << 16
_REASONS = {
    200: b"OK",
    400: b"Bad Request",
    403: b"Forbidden",
    404: b"Not Found",
    405: b"Method Not Allowed",
    411: b"Length Required",
}


class Receiver:
    """Listens from its making on; answers once `serve` is called."""

    def __init__(self, wanted: "Mapping[str, Any]", wake: str | None) -> None:
        self.events: str = wanted["events"]
        self.wake = wake
        self.word = b"Bearer " + wanted["token"].encode()
        self._unwritten: list[bytes] = []
        self._tries_again = False
        self._writing = _thread.allocate_lock()
        self._lock = _thread.allocate_lock()
        self._clients = self._known = 0
        self._strangers: dict[_socket.socket, None] = {}
        # Never inherited by the program: Python's sockets close on exec.
        self._listening = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        self._listening.bind(("127.0.0.1", 0))
        self._listening.listen(128)
        self.port: int = self._listening.getsockname()[1]
        for path in wanted["files"]:
            _fill_in(path, wanted["port_text"].encode(), b"%d" % self.port)

    def serve(self) -> None:
        """Begins to answer, in threads: they do not survive a fork, so call it after the last."""
        _thread.start_new_thread(self._accept, ())

    def settle(self, seconds: float) -> None:
        """Waits, not longer than that, until what clients sent before they ended is recorded."""
        end = time.monotonic() + seconds
        knock = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        try:
            knock.settimeout(seconds)
            knock.connect(("127.0.0.1", self.port))
            knock.shutdown(_socket.SHUT_WR)
            # Clients are taken in order: when we are let go, all before us have their thread.
            knock.recv(1)
        except OSError:
            return
        finally:
            knock.close()
        while self._clients and time.monotonic() < end:
            time.sleep(0.002)
        with self._writing:
            self._write()

    def _accept(self) -> None:
        while True:
            try:
                # `accept` itself belongs to the heavier module `socket`.
                number, _ = self._listening._accept()  # type: ignore[attr-defined] # noqa: SLF001
            except OSError:
                time.sleep(0.05)  # no descriptor is left, or the client is gone already
                continue
            connection = _socket.socket(fileno=number)
            self._admit(connection)
            try:
                _thread.start_new_thread(self._attend, (connection,))
            except RuntimeError:
                self._part_with(connection, known=False)

    def _admit(self, connection: _socket.socket) -> None:
        """Counts a client; where there are too many strangers, the oldest is let go."""
        with self._lock:
            if len(self._strangers) >= MOST_STRANGERS:
                oldest = next(iter(self._strangers))
                del self._strangers[oldest]
                _let_go(oldest)
            self._strangers[connection] = None
            self._clients += 1

    def _meet(self, client: "_Client", connection: _socket.socket) -> None:
        """Takes a stranger that has shown the token for a client that may stay."""
        with self._lock:
            if self._known >= MOST_CLIENTS:
                raise ValueError
            self._strangers.pop(connection, None)
            self._known += 1
        client.meet()

    def _part_with(self, connection: _socket.socket, *, known: bool) -> None:
        with self._lock:
            # First forgotten, then closed: nobody else is to be let go by its number.
            self._strangers.pop(connection, None)
            self._known -= known
            self._clients -= 1
        connection.close()

    def _attend(self, connection: _socket.socket) -> None:
        client = _Client(connection)
        try:
            connection.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
            while self._answer(client, connection):
                pass
        except Exception:  # noqa: BLE001, S110 a broken client, a full disk: the session goes on
            pass
        finally:
            self._part_with(connection, known=client.known)

    def _answer(self, client: "_Client", connection: _socket.socket) -> bool:
        """Takes one request; False when the connection is done with."""
        method, path, version, headers = client.head()
        if path != PATH:
            return client.refuse(404)
        if method != b"POST":
            return client.refuse(405)
        if not _compare_digest(headers.get(b"authorization", b""), self.word):
            return client.refuse(403)
        if not client.known:
            self._meet(client, connection)
        length = headers.get(b"content-length", b"")
        if not length or b"transfer-encoding" in headers:
            return client.refuse(411)
        if not length.isdigit() or len(length) > 18:
            return client.refuse(400)
        if headers.get(b"expect", b"").lower() == b"100-continue":
            client.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = client.body(int(length))
        self._record(body, int(length))
        asked = headers.get(b"connection", b"").lower()
        stays = asked != b"close" if version == b"HTTP/1.1" else asked == b"keep-alive"
        client.reply(200, stays=stays)
        return stays

    def _record(self, body: bytes, size: int) -> None:
        line = event_record.line(body, size)
        with self._writing:
            if sum(map(len, self._unwritten)) < MOST_UNWRITTEN:
                self._unwritten.append(line)
            self._write()
            if self._unwritten and not self._tries_again:
                self._tries_again = True
                _thread.start_new_thread(self._try_again, ())
        self._poke()

    def _write(self) -> None:
        """Writes down what is waiting for it, in order, as far as there is room."""
        while self._unwritten:
            try:
                event_record.append(self.events, self._unwritten[0])
            except OSError as error:
                if error.errno in event_record.NO_ROOM:
                    return
                # The folder is gone, or is nobody's to write to: the agent must not feel it.
            del self._unwritten[0]

    def _try_again(self) -> None:
        while self._tries_again:
            time.sleep(_BETWEEN_TRIES)
            with self._writing:
                self._write()
                self._tries_again = bool(self._unwritten)
        self._poke()

    def _poke(self) -> None:
        try:
            if self.wake:
                event_record.poke(self.wake)
        except OSError:
            return  # nobody listens


class _Client:
    """One connection, and what came in on it beyond what was asked for."""

    def __init__(self, connection: _socket.socket) -> None:
        self._connection = connection
        self._rest = b""
        self._end = time.monotonic() + PATIENCE_WITH_STRANGERS
        self.known = False
        """Whether it has shown the token: then it may stay and be silent as long as it likes.

        Closing an idle connection could cross an event on its way, which would be lost.
        """

    def meet(self) -> None:
        """Has shown the token: there is time for the rest of its request."""
        self.known = True
        self._end = time.monotonic() + PATIENCE

    def head(self) -> tuple[bytes, bytes, bytes, dict[bytes, bytes]]:
        """Reads the next request up to its body."""
        if self.known and not self._rest:
            self._connection.settimeout(None)
            self._rest = self._received()
        if self.known:
            self._end = time.monotonic() + PATIENCE
        while b"\r\n\r\n" not in self._rest:
            if len(self._rest) > _LARGEST_HEAD:
                raise ValueError
            self._rest += self._more()
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        if head.count(b"\r\n") >= _MOST_LINES:
            raise ValueError
        first, *others = head.split(b"\r\n")
        method, path, version = first.split(b" ")
        headers = {}
        for other in others:
            name, _, value = other.partition(b":")
            headers[name.lower()] = value.strip()
        return method, path, version, headers

    def body(self, length: int) -> bytes:
        """Reads a body to its end; returns nothing of one that is too large to be kept."""
        parts = [self._rest[:length]]
        left = length - len(parts[0])
        self._rest = self._rest[length:]
        while left:
            chunk = self._more()
            if length <= event_record.LARGEST:
                parts.append(chunk[:left])
            self._rest = chunk[left:]
            left -= min(left, len(chunk))
        return b"".join(parts)

    def reply(self, status: int, *, stays: bool) -> None:
        """Answers in one segment: two would wait for each other (Nagle's algorithm)."""
        self.send(
            b"HTTP/1.1 %d %b\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
            b"Connection: %b\r\n\r\n{}"
            % (status, _REASONS[status], b"keep-alive" if stays else b"close")
        )

    def refuse(self, status: int) -> bool:
        """Refuses and is done; takes what is still sent, or the answer would be reset away."""
        self.reply(status, stays=False)
        self._connection.shutdown(_socket.SHUT_WR)
        self._end = min(self._end, time.monotonic() + _LINGER)
        while self._more():
            pass
        return False

    def send(self, data: bytes) -> None:
        """Sends all of it."""
        self._connection.settimeout(PATIENCE)
        self._connection.sendall(data)

    def _more(self) -> bytes:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._received()

    def _received(self) -> bytes:
        data = self._connection.recv(_CHUNK)
        if not data:
            raise EOFError
        return data


def _let_go(connection: _socket.socket) -> None:
    """Ends a connection for whoever waits on it; the thread that has it closes it then."""
    try:
        connection.shutdown(_socket.SHUT_RDWR)
    except OSError:
        return  # the other end was faster


def _fill_in(path: str, text: bytes, port: bytes) -> None:
    """Writes the port into a file, at once and with its mode as it was."""
    source = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    mode = posix.fstat(source).st_mode & 0o777
    parts = []
    while chunk := posix.read(source, _CHUNK):
        parts.append(chunk)
    posix.close(source)
    new = f"{path}.port"
    how = posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_CLOEXEC
    target = posix.open(new, how, 0o600)
    posix.fchmod(target, mode)
    left = b"".join(parts).replace(text, port)
    while left:
        left = left[posix.write(target, left) :]
    posix.close(target)
    posix.replace(new, path)
