"""The proxy against servers on this machine's loopback; names resolve to what the test says."""

from __future__ import annotations

import contextlib
import http.server
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.box.conftest import Ground, until

from windlass.box import hello, ip_addresses
from windlass.box.proxy import Proxy

_PUBLIC = "93.184.216.34"


class Servers:
    """One that answers HTTP and says what it was asked; one that says what it was told first."""

    def __init__(self) -> None:
        asked = self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                asked.append((self.command, self.path, self.headers.get("Host"), body))
                self.send_response(200)
                self.send_header("Content-Length", "5")
                self.end_headers()
                self.wfile.write(b"hello")

            do_POST = do_GET  # noqa: N815

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self.web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.web.server_address[1]
        threading.Thread(target=self.web.serve_forever, args=(0.01,), daemon=True).start()

    asked: list[tuple[str, str, str | None, bytes]]


@pytest.fixture
def servers() -> Iterator[Servers]:
    made = Servers()
    yield made
    made.web.shutdown()
    made.web.server_close()


class Rig:
    """A proxy whose resolver is the test's, and that connects to the test's server for all."""

    def __init__(self, folder: Path, server: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: dict[str, list[str]] = {}
        self.looked_up: list[str] = []
        self.reached: list[tuple[str, int]] = []
        self.log = folder / "proxy.log"
        self.path = folder / "p"
        self._server = server
        self._monkeypatch = monkeypatch
        self.proxy: Proxy | None = None

    def open(self, *domains: str, addresses: tuple[str, ...] = ()) -> None:
        """Starts the proxy; what is public is taken to the test's own server."""
        wanted = {"socket": str(self.path), "log": str(self.log)}
        given = {**wanted, "domains": domains, "addresses": addresses}
        self.proxy = Proxy(given, (), self._resolve)
        module = Proxy.__init__.__globals__
        real = module["_connect"]

        def connect(found: list[tuple[int, str]], port: int) -> socket.socket:
            self.reached += [(number, port) for _, number in found]
            if found[0][1] == _PUBLIC:
                found, port = [(socket.AF_INET, "127.0.0.1")], self._server
            return real(found, port)  # type: ignore[no-any-return]

        self._monkeypatch.setitem(module, "_connect", connect)
        self.proxy.serve()

    def _resolve(self, host: str, port: int) -> list[tuple[int, str]]:
        self.looked_up.append(host)
        numbers = self.names.get(host)
        if numbers is None:
            found = socket.getaddrinfo(
                host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
            )
            return [(one[0], str(one[4][0])) for one in found]
        number = numbers.pop(0) if len(numbers) > 1 else numbers[0]
        return [(socket.AF_INET6 if ":" in number else socket.AF_INET, number)]

    def say(self, text: bytes, *, then: bytes = b"") -> bytes:
        """Says something and returns all that is answered."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10)
            client.connect(str(self.path))
            client.sendall(text)
            if then:
                assert client.recv(39).startswith(b"HTTP/1.1 200")
                client.sendall(then)
                client.shutdown(socket.SHUT_WR)
            parts = []
            while part := client.recv(65536):
                parts.append(part)
        return b"".join(parts)

    def get(self, url: str, *headers: str) -> bytes:
        """Asks for a page."""
        lines = [f"GET {url} HTTP/1.1", "Host: ignored", *headers, "", ""]
        return self.say("\r\n".join(lines).encode())

    def connect(self, target: str, *, then: bytes = b"") -> bytes:
        """Asks for a tunnel."""
        return self.say(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode(), then=then)


@pytest.fixture
def rig(ground: Ground, servers: Servers, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    made = Rig(ground.folder, servers.port, monkeypatch)
    yield made
    assert made.proxy is not None
    made.proxy.close()


def client_hello(name: str | None) -> bytes:
    """What a real client says first."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    side = context.wrap_bio(into, out, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        side.do_handshake()
    return out.read()


def with_encrypted_hello(said: bytes) -> bytes:
    """Adds an extension of that kind to a hello, and mends all lengths that it is in."""
    more = (0xFE0D).to_bytes(2) + (5).to_bytes(2) + b"inner"
    message = said[5:]
    at = 4 + 2 + 32
    at += 1 + message[at]
    at += 2 + int.from_bytes(message[at : at + 2])
    at += 1 + message[at]
    size = int.from_bytes(message[at : at + 2]) + len(more)
    hello_ = message[4:at] + size.to_bytes(2) + message[at + 2 :] + more
    message = message[:1] + len(hello_).to_bytes(3) + hello_
    return said[:3] + len(message).to_bytes(2) + message


def test_an_allowed_name_is_reached_and_told_its_own_name(rig: Rig, servers: Servers) -> None:
    rig.names["good.example"] = [_PUBLIC]
    rig.open("good.example")
    assert rig.get("http://good.example/a/b?c=d").endswith(b"hello")
    assert servers.asked == [("GET", "/a/b?c=d", "good.example", b"")]
    assert rig.reached == [(_PUBLIC, 80)]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "notgood.example",
        "good.example.evil.example",
        "good.examplee",
        "sub.good.example",
    ],
)
def test_another_name_is_refused_and_not_even_looked_up(rig: Rig, host: str) -> None:
    rig.names[host] = [_PUBLIC]
    rig.open("good.example")
    said = rig.get(f"http://{host}/")
    assert said.startswith(b"HTTP/1.1 403 ")
    assert f"wl config add box.domains {host}".encode() in said
    assert rig.connect(f"{host}:443").startswith(b"HTTP/1.1 403 ")
    assert rig.looked_up == []
    assert host in rig.log.read_text()


def test_a_star_means_all_below_and_not_itself(rig: Rig) -> None:
    rig.names = {
        "a.good.example": [_PUBLIC],
        "a.b.good.example": [_PUBLIC],
        "good.example": [_PUBLIC],
    }
    rig.open("*.good.example")
    assert rig.get("http://a.good.example/").endswith(b"hello")
    assert rig.get("http://A.B.Good.Example./").endswith(b"hello")
    assert rig.get("http://good.example/").startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "0177.0.0.1",
        "0",
        "0.0.0.0",  # noqa: S104 - nobody binds it
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "10.0.0.1",
        "192.168.1.1",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[fe80::1]",
        "[fd00::1]",
        "[2002:7f00:1::]",
        "1.2.3.999",
    ],
)
def test_a_number_is_refused_in_every_writing(rig: Rig, servers: Servers, host: str) -> None:
    rig.open("*", "*.1", "good.example", host, f"*.{host}")
    assert rig.get(f"http://{host}:{servers.port}/").split()[1] in {b"403", b"400"}
    assert rig.get(f"http://{host}/").split()[1] in {b"403", b"400"}
    assert rig.connect(f"{host}:443").split()[1] in {b"403", b"400"}
    assert rig.reached == []


@pytest.mark.parametrize(
    "number",
    [
        "0.0.0.0",  # noqa: S104 - as above
        "127.0.0.1", "127.9.9.9", "10.1.2.3", "172.16.0.1", "172.31.255.255",
        "192.168.0.1", "169.254.169.254", "100.64.0.1", "224.0.0.1", "255.255.255.255", "192.0.0.1",
        "198.18.0.1", "::1", "::", "::ffff:127.0.0.1", "::ffff:93.184.216.34", "fe80::1",
        "fd12::1", "ff02::1", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "2001:db8::1", "2001::1",
    ],
)  # fmt: skip
def test_an_allowed_name_that_is_no_public_address_is_refused(rig: Rig, number: str) -> None:
    rig.names["good.example"] = [number]
    rig.open("good.example")
    said = rig.get("http://good.example/")
    assert said.startswith(b"HTTP/1.1 403 ")
    assert b"no public address" in said
    assert rig.reached == []


@pytest.mark.parametrize(
    "number", ["93.184.216.34", "8.8.8.8", "2606:2800:220:1::1", "2a00:1450::1"]
)
def test_public_addresses_are_known(number: str) -> None:
    assert ip_addresses.is_public(number)


def test_a_name_that_changes_its_address_is_looked_up_once(rig: Rig) -> None:
    """It is public when it is looked at, and this machine's when it is looked up again."""
    rig.names["good.example"] = [_PUBLIC, "127.0.0.1"]
    rig.open("good.example")
    assert rig.get("http://good.example/").endswith(b"hello")
    assert rig.looked_up == ["good.example"]
    assert rig.reached == [(_PUBLIC, 80)]
    assert rig.get("http://good.example/").startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize("port", [22, 8080, 8443, 25])
def test_only_the_webs_ports_are_reached(rig: Rig, port: int) -> None:
    rig.names["good.example"] = [_PUBLIC]
    rig.open("good.example")
    said = rig.connect(f"good.example:{port}")
    assert said.startswith(b"HTTP/1.1 403 ")
    assert f"box.domains good.example:{port}".encode() in said


def test_a_port_that_is_named_is_reached(rig: Rig, servers: Servers) -> None:
    rig.names["good.example"] = [_PUBLIC]
    rig.open("good.example:8080")
    assert rig.get("http://good.example:8080/x").endswith(b"hello")
    assert servers.asked[0][2] == "good.example:8080"
    assert rig.get("http://good.example/").startswith(b"HTTP/1.1 403 ")


def test_an_exact_address_is_reached_wherever_it_is(rig: Rig, servers: Servers) -> None:
    here = f"127.0.0.1:{servers.port}"
    rig.open(addresses=(here,))
    assert rig.get(f"http://{here}/").endswith(b"hello")
    raw = b"GET /t HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    assert rig.connect(here, then=raw).endswith(b"hello")
    assert rig.say(f"RELAY {here}\n".encode() + raw).endswith(b"hello")
    assert rig.say(b"RELAY 127.0.0.1:1\n" + raw) == b""
    assert rig.get(f"http://localhost:{servers.port}/").startswith(b"HTTP/1.1 403 ")


def test_tls_for_the_name_that_was_asked_for_goes_through(rig: Rig) -> None:
    rig.names["good.example"] = [_PUBLIC]
    rig.open("good.example")
    # The server speaks no TLS: that it answers at all shows that it was reached.
    assert b"400" in rig.connect("good.example:443", then=client_hello("good.example"))
    assert not rig.log.exists()


@pytest.mark.parametrize(
    ("beginning", "why"),
    [
        (client_hello("evil.example"), "evil.example"),
        (client_hello("good.example.evil.example"), "evil.example"),
        (client_hello(None), "no name"),
        (with_encrypted_hello(client_hello("good.example")), "encrypted hello"),
        (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "no TLS"),
        (b"SSH-2.0-x\r\n", "no TLS"),
        (b"\x16\x03\x01\x00\x00", "empty"),
        (b"\x17\x03\x03\x00\x05hello", "no TLS"),
        (b"\x16\x03\x01\x00\x04\x02\x00\x00\x00", "hello"),
        (b"\x16\x03\x01\xff\xff\x01\xff\xff\xff" + b"x" * 70000, "without end"),
    ],
    ids=[
        "other",
        "longer",
        "nameless",
        "encrypted",
        "http",
        "ssh",
        "empty",
        "data",
        "server",
        "endless",
    ],
)
def test_anything_else_in_the_tunnel_is_cut_off(rig: Rig, beginning: bytes, why: str) -> None:
    rig.names["good.example"] = [_PUBLIC]
    rig.open("good.example")
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        assert rig.connect("good.example:443", then=beginning) == b""
    until(lambda: rig.log.exists() and why in rig.log.read_text())


def test_a_hello_is_understood_however_it_is_cut() -> None:
    said = client_hello("good.example")
    for at in range(len(said)):
        assert hello.server_name(said[:at]) is None
    assert hello.server_name(said) == "good.example"
    body, records = said[5:], b""
    for at in range(0, len(body), 7):
        piece = body[at : at + 7]
        records += said[:3] + len(piece).to_bytes(2) + piece
    assert hello.server_name(records) == "good.example"


@pytest.mark.parametrize(
    "request_",
    [
        b"GET http://good.example/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET http://good.example/ HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 0\r\n\r\n",
        b"GET http://good.example/ HTTP/1.1\r\nContent-Length: +5\r\n\r\n",
        b"GET http://good.example/ HTTP/1.1\r\nX: a\nHost: evil.example\r\n\r\n",
        b"GET http://good.example/ HTTP/1.1\r\n folded: x\r\n\r\n",
        b"GET http://good.example/\n\nGET / HTTP/1.1\r\n\r\n",
        b"GET http://good.example:80:80/ HTTP/1.1\r\n\r\n",
        b"GET http://good.example%2eevil/ HTTP/1.1\r\n\r\n",
        b"GET http://good.ex\xc3\xa4mple/ HTTP/1.1\r\n\r\n",
        b"GET ftp://good.example/ HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n",
        b"GET http://good.example/ HTTP/2\r\n\r\n",
        b"CONNECT good.example HTTP/1.1\r\n\r\n",
        b"CONNECT good.example:99999 HTTP/1.1\r\n\r\n",
        b"\x05\x01\x00\n\r\n\r\n",
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(rig: Rig, request_: bytes) -> None:
    rig.names["good.example"] = [_PUBLIC]
    rig.open("good.example")
    assert rig.say(request_).startswith(b"HTTP/1.1 400 ")
    assert rig.reached == []


def test_a_head_of_many_lines_is_not_even_taken_apart(rig: Rig) -> None:
    rig.names["good.example"] = [_PUBLIC]
    rig.open("good.example")
    head = b"GET http://good.example/ HTTP/1.1\r\n" + b"a:\r\n" * 200 + b"\r\n"
    assert rig.say(head) == b""
    assert rig.reached == []


def test_a_second_request_for_another_name_is_not_carried_along(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what comes at once nor what comes later; the server here would take it all."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            connection.settimeout(20)
            with connection, contextlib.suppress(TimeoutError):
                while part := connection.recv(65536):
                    heard.append(part)
                    if part.endswith(b"abc"):
                        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

        server = threading.Thread(target=serve, daemon=True)
        server.start()
        rig = Rig(ground.folder, listening.getsockname()[1], monkeypatch)
        rig.names["good.example"] = [_PUBLIC]
        rig.open("good.example")
        second = b"GET /second HTTP/1.1\r\nHost: evil.example\r\n\r\n"
        first = b"POST http://good.example/ HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10)
            client.connect(str(rig.path))
            client.sendall(first + second)
            assert client.recv(65536).endswith(b"ok")
            client.sendall(second)
        server.join(60)
    assert rig.proxy is not None
    rig.proxy.close()
    assert not server.is_alive()
    assert b"".join(heard).endswith(b"\r\n\r\nabc")
    assert b"evil" not in b"".join(heard)


def test_user_names_in_an_address_do_not_hide_the_host(rig: Rig) -> None:
    rig.names = {"good.example": [_PUBLIC], "evil.example": [_PUBLIC]}
    rig.open("good.example")
    assert rig.get("http://good.example@evil.example/").startswith(b"HTTP/1.1 403 ")
    assert rig.get("http://x:y@good.example/").endswith(b"hello")


def test_the_log_cannot_be_written_full_or_with_escapes(rig: Rig) -> None:
    rig.open()
    rig.get("http://evil.example/\x1b[31m")
    rig.get(f"http://evil.example/{'x' * 5000}")
    text = rig.log.read_text()
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) < 1100


def test_a_new_proxy_takes_the_place_of_an_old_one(rig: Rig, servers: Servers) -> None:
    rig.open()
    rig.open(addresses=(f"127.0.0.1:{servers.port}",))
    assert rig.get(f"http://127.0.0.1:{servers.port}/").endswith(b"hello")
