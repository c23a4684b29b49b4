"""The way out of a box without a network: a proxy on a unix socket, run by a session's holder.

Speaks HTTP (`CONNECT`, and requests with a whole address), and a word of our own for the ports that
the box's loopback shares with this machine's. Decides by name and by number: what the allowed name
resolves to is looked at, and exactly that is connected to. Loaded by its path and built of light
modules, because a hundred holders may run it; imports nothing of ours.
"""

import _socket
import _thread
import posix
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from windlass.box import heads, hello, ip_addresses, relay
else:
    sys.path.insert(0, __file__.rpartition("/")[0])
    import heads
    import hello
    import ip_addresses
    import relay

MOST_CLIENTS = 100
PATIENCE = 30.0
"""Seconds that a client may take to say what it wants, and a connection to be made."""
SILENCE = 900.0
"""Seconds that a connection may stay without a word."""
_LARGEST_LOG = 1 << 20
_WEB = {"http": 80, "https": 443}
_WEB_PORTS = frozenset(_WEB.values())


def look_up(host: str, port: int) -> "list[tuple[int, str]]":
    """Asks the system for the addresses of a name."""
    addresses = _socket.getaddrinfo(host, port, 0, _socket.SOCK_STREAM)
    return [(family, str(address[0])) for family, _, _, _, address in addresses]


_ADVICE = (
    "a person may allow it to sessions with network proxy that start from then on:"
    " wl config add box.domains"
)


class Proxy:
    """Listens from its making on; answers once `serve` is called."""

    def __init__(
        self,
        wanted: "Mapping[str, Any]",
        also: "Iterable[str]" = (),
        resolve: "Callable[[str, int], list[tuple[int, str]]]" = look_up,
    ) -> None:
        self.path: str = wanted["socket"]
        self.log: str = wanted["log"]
        self.domains = [domain.lower().rstrip(".") for domain in wanted["domains"]]
        self.addresses = {address.lower() for address in (*wanted["addresses"], *also)}
        self._resolve = resolve
        self._lock = _thread.allocate_lock()
        self._clients = 0
        self._open = True
        self._listening = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        # Beside and then over it: whoever connects finds the old one or the new one.
        new = f"{self.path}.{posix.getpid()}"
        _unlink(new)
        self._listening.bind(new)
        posix.chmod(new, 0o600)
        self._listening.listen(64)
        posix.replace(new, self.path)

    def serve(self) -> None:
        """Begins to answer, in threads: they do not survive a fork, so call it after the last."""
        _thread.start_new_thread(self._accept, ())

    def close(self) -> None:
        """Takes no more clients; those that are there are not cut off."""
        self._open = False
        _unlink(self.path)
        self._listening.shutdown(_socket.SHUT_RDWR)

    def _accept(self) -> None:
        while self._open:
            try:
                # `accept` itself belongs to the heavier module `socket`.
                number, _ = self._listening._accept()  # type: ignore[attr-defined] # noqa: SLF001
            except OSError:
                time.sleep(0.05)  # no descriptor is left, or the client is gone already
                continue
            client = _socket.socket(fileno=number)
            if self._clients >= MOST_CLIENTS:
                client.close()
                continue
            self._count(1)
            try:
                _thread.start_new_thread(self._attend, (client,))
            except RuntimeError:
                client.close()
                self._count(-1)
        self._listening.close()

    def _count(self, change: int) -> None:
        with self._lock:
            self._clients += change

    def _attend(self, client: _socket.socket) -> None:
        try:
            client.settimeout(PATIENCE)
            self._serve(client)
        except Exception:  # noqa: BLE001, S110 a broken client must not end the session
            pass
        finally:
            client.close()
            self._count(-1)

    def _serve(self, client: _socket.socket) -> None:
        end = time.monotonic() + PATIENCE
        said = heads.read_line(client, end)
        if said.startswith(b"RELAY "):
            word, _, rest = said.partition(b"\n")
            self._relay(client, word[6:].decode("ascii"), rest)
            return
        head, rest = heads.read_head(client, said, end)
        try:
            self._request(client, head, rest)
        except heads.Refused as refusal:
            self._note(head.partition(b"\r\n")[0], refusal.why)
            heads.answer(client, refusal)

    def _relay(self, client: _socket.socket, address: str, rest: bytes) -> None:
        """For a port of the box's loopback: nobody there would understand a refusal."""
        if address.lower() not in self.addresses:
            self._note(address.encode(), "not among the addresses of this agent")
            return
        host, port = heads.split(address, None)
        try:
            far = _connect(self._resolve(host, port), port)
        except (heads.Refused, OSError) as error:
            self._note(address.encode(), str(error))
            return
        # Unlimited: hooks keep a connection, and one that is closed under an event loses it.
        _join(client, far, rest, silence=None)

    def _request(self, client: _socket.socket, head: bytes, rest: bytes) -> None:
        method, target, lines = heads.take_apart(head)
        if method == "CONNECT":
            self._tunnel(client, target, rest)
            return
        scheme, _, after = target.partition("://")
        if scheme.lower() != "http":
            raise heads.Refused(
                400, "this is a proxy: ask with CONNECT or with a whole http:// address"
            )
        place, _, path = after.partition("/")
        host, port = heads.split(place.rpartition("@")[2], _WEB["http"])
        length, kept = heads.headers(lines)
        far = self._reach(host, port)
        # The name asked for is the name that was checked: a server of many decides by this line.
        named = heads.joined(host, port) if port != _WEB["http"] else heads.bracketed(host)
        new = [f"{method} /{path} HTTP/1.1".encode("ascii", "replace"), b"Host: " + named.encode()]
        whole = b"\r\n".join([*new, *kept, b"Connection: close"]) + b"\r\n\r\n" + rest[:length]
        # Not a byte more than this one request: the next might be for another name.
        _join(client, far, whole, most=length - len(rest[:length]))

    def _tunnel(self, client: _socket.socket, target: str, rest: bytes) -> None:
        host, port = heads.split(target, None)
        far = self._reach(host, port)
        named = {heads.joined(host, port)} & {*self.addresses, *self.domains}
        try:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            # Who names another port as well says what is spoken there: it may be something else.
            if not named or (port == _WEB["https"] and not ip_addresses.looks_like_one(host)):
                rest = self._checked_hello(client, host, rest)
        except heads.Refused as refusal:
            far.close()
            self._note(target.encode("ascii", "replace"), refusal.why)
            return
        except BaseException:
            far.close()
            raise
        _join(client, far, rest)

    def _checked_hello(self, client: _socket.socket, host: str, said: bytes) -> bytes:
        """Reads on until it is clear which server is meant: one address may serve many names."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                named = hello.server_name(said)
            except ValueError as error:
                raise heads.Refused(403, f"{error}, where TLS to {host} was expected") from None
            if named is not None:
                break
            said += heads.receive(client, end)
        if named.lower() != host:
            raise heads.Refused(403, f"TLS for {named or 'no name'}, where {host} was asked for")
        return said

    def _reach(self, host: str, port: int) -> _socket.socket:
        """Connects to what may be reached; to the very address that was looked at."""
        exact = heads.joined(host, port) in self.addresses
        if not exact:
            self._require_allowed(host, port)
        try:
            addresses = self._resolve(host, port)
        except OSError as error:
            raise heads.Refused(502, f"{host} cannot be resolved: {error}") from None
        if not exact:
            inner = [number for _, number in addresses if not ip_addresses.is_public(number)]
            if inner:
                raise heads.Refused(403, f"{host} is {inner[0]}, which is no public address")
        return _connect(addresses, port)

    def _require_allowed(self, host: str, port: int) -> None:
        if ip_addresses.looks_like_one(host):
            raise heads.Refused(403, f"{host} is a number, and only names are allowed")
        if f"{host}:{port}" in self.domains:
            return
        if not any(_matches(host, domain) for domain in self.domains):
            hint = f"{_ADVICE} {host}"
            raise heads.Refused(403, f"{host} is not among the domains of this agent", hint)
        if port not in _WEB_PORTS:
            hint = f"{_ADVICE} {host}:{port}"
            raise heads.Refused(403, f"port {port} of {host} is not allowed, only 80 and 443", hint)

    def _note(self, what: bytes, why: str) -> None:
        """Keeps what was refused, as lines that are safe to show; not without end."""
        text = f"{what.decode('ascii', 'replace')}\t{why}"
        safe = "".join(
            letter if letter.isprintable() or letter == "\t" else "?" for letter in text
        )[:1000]
        how = posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND | posix.O_CLOEXEC
        try:
            file = posix.open(self.log, how, 0o600)
            if posix.fstat(file).st_size < _LARGEST_LOG:
                posix.write(file, f"{time.time():.3f}\t{safe}\n".encode("utf-8", "replace"))
            posix.close(file)
        except OSError:
            return  # a full disk is no reason to let something through, nor to end


def _matches(host: str, domain: str) -> bool:
    if domain.startswith("*."):
        return host.endswith(domain[1:])
    return host == domain


def _connect(addresses: "list[tuple[int, str]]", port: int) -> _socket.socket:
    problem: OSError | None = None
    for family, number in addresses:
        far = _socket.socket(family, _socket.SOCK_STREAM)
        try:
            far.settimeout(PATIENCE)
            far.connect((number, port))
        except OSError as error:
            far.close()
            problem = error
        else:
            far.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
            return far
    raise heads.Refused(502, f"no connection: {problem or 'no address'}")


def _join(
    near: _socket.socket,
    far: _socket.socket,
    first: bytes,
    *,
    most: int | None = None,
    silence: float | None = SILENCE,
) -> None:
    """Carries everything both ways until both have ended, or nothing was said for long."""
    carrier = relay.Carrier()
    carrier.join(near, far, first, most)
    while len(carrier) and carrier.turn(silence):
        pass
    carrier.close()


def _unlink(path: str) -> None:
    try:
        posix.unlink(path)
    except FileNotFoundError:
        return
