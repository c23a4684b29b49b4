from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.hooks.conftest import HOOKS, raw_lines, told, until

from windlass.core.session_launch import HOOK_PORT
from windlass.sessions.session import HOLDER_PROGRAM, RECEIVE_PROGRAM

TOKEN = "a-token"  # noqa: S105 - of nobody
Hold = Callable[..., "Held"]


class Held:
    """A holder with a receiver, and the program that it holds."""

    def __init__(self, place: Path, argv: list[str], **changed: Any) -> None:
        self.folder = place / "s"
        self.folder.mkdir(mode=0o700)
        self.events = place / "events"
        self.settings = place / "settings.json"
        self.settings.write_text(f'{{"url": "http://127.0.0.1:{HOOK_PORT}/hook"}}')
        self.settings.chmod(0o640)
        spec: dict[str, Any] = {
            "name": "a1",
            "folder": str(self.folder),
            "argv": argv,
            "cwd": str(place),
            "env": {"PATH": os.environ["PATH"], "SETTINGS": str(self.settings)},
            "mode": "headless",
            "wake": str(place / "wake"),
            "receiver": {
                "program": str(RECEIVE_PROGRAM),
                "token": TOKEN,
                "events": str(self.events),
                "files": [str(self.settings)],
                "port_text": HOOK_PORT,
                **changed,
            },
        }
        (place / "spec.json").write_text(json.dumps(spec))
        holder = [sys.executable, "-I", "-S", "-X", "utf8", str(HOLDER_PROGRAM)]
        self.process = subprocess.Popen(
            [*holder, str(place / "spec.json")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def runs(self) -> int:
        """Waits for its program; returns its process."""
        until(lambda: self._holder().get("child"))
        return int(self._holder()["child"])

    def _holder(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads((self.folder / "holder.json").read_text())
        except (FileNotFoundError, ValueError):
            return {}
        return found

    def exit(self) -> dict[str, Any]:
        """How it ended."""
        self.process.wait(20)
        found: dict[str, Any] = json.loads((self.folder / "exit").read_text())
        return found

    @property
    def port(self) -> int:
        """The port that the receiver wrote into the settings."""
        self.runs()
        return int(json.loads(self.settings.read_text())["url"].split(":")[2].split("/")[0])

    def connect(self) -> socket.socket:
        """A connection to the receiver."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)


@pytest.fixture
def hold(place: Path) -> Iterator[Hold]:
    """Starts holders, and ends them without a word on their terminals."""
    held: list[Held] = []

    def start(*argv: str, **changed: Any) -> Held:
        held.append(Held(place, list(argv) or ["sleep", "100"], **changed))
        return held[-1]

    yield start
    for one in held:
        if one.process.poll() is None:
            os.kill(one.runs(), 9)
        _, said = one.process.communicate(timeout=20)
        assert said == b""


def request(
    body: bytes, *, token: str | None = TOKEN, line: str = "POST /hook HTTP/1.1", more: str = ""
) -> bytes:
    carried = "" if token is None else f"Authorization: Bearer {token}\r\n"
    return f"{line}\r\n{carried}Content-Length: {len(body)}\r\n{more}\r\n".encode() + body


def answer(connection: socket.socket) -> bytes:
    """Reads one answer; empty at the end."""
    data = b""
    while not data.endswith(b"\r\n\r\n{}"):
        chunk = connection.recv(65536)
        if not chunk:
            assert data == b""
            return b""
        data += chunk
    return data


def test_a_request_becomes_a_line_and_a_poke_and_is_answered_in_one_segment(
    hold: Hold, place: Path
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wake:
        wake.bind(str(place / "wake"))
        wake.settimeout(10)
        held = hold()
        with held.connect() as client:
            client.sendall(request(b'{\n"hook_event_name": "Stop"}'))
            assert client.recv(65536).endswith(b"\r\n\r\n{}")
        assert wake.recv(100) == b"hook"
    assert told(held.events) == [{"hook_event_name": "Stop"}]
    assert held.events.stat().st_mode & 0o777 == 0o600


def test_what_a_full_disk_has_no_room_for_is_written_down_once_it_has_in_order(
    hold: Hold,
) -> None:
    held = hold()
    held.events.symlink_to("/dev/full")
    with held.connect() as client:
        for number in range(3):
            client.sendall(request(b"%d" % number))
            assert answer(client), "the agent does not feel it"
        held.events.unlink()
        until(held.events.exists)
        client.sendall(request(b"3"))
        assert answer(client)
    until(lambda: len(told(held.events)) == 4)
    assert told(held.events) == [0, 1, 2, 3]


def test_the_port_is_in_the_files_before_the_program_starts_and_their_mode_stays(
    hold: Hold, place: Path
) -> None:
    held = hold("sh", "-c", 'cat "$SETTINGS" > seen; exec sleep 100')
    until(lambda: (place / "seen").exists() and (place / "seen").read_text().endswith("}"))
    assert (place / "seen").read_text() == f'{{"url": "http://127.0.0.1:{held.port}/hook"}}'
    assert held.settings.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in place.iterdir()) == [
        *("s", "seen", "settings.json", "spec.json")
    ]


def test_a_connection_serves_many_requests_and_two_sent_at_once(hold: Hold) -> None:
    held = hold()
    with held.connect() as client:
        for number in range(5):
            client.sendall(request(b"%d" % number))
            assert b"200 OK" in answer(client)
        client.sendall(request(b"5") + request(b"6", more="Connection: close\r\n"))
        both = b""
        while chunk := client.recv(65536):
            both += chunk
    assert both.count(b"200 OK") == 2
    assert told(held.events) == [0, 1, 2, 3, 4, 5, 6]


def test_a_client_of_the_old_kind_is_answered_and_let_go(hold: Hold) -> None:
    held = hold()
    with held.connect() as client:
        client.sendall(request(b"1", line="POST /hook HTTP/1.0"))
        assert b"200 OK" in answer(client)
        assert client.recv(10) == b""


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (request(b"1", token=TOKEN[:-1]), b"403"),
        (request(b"1", token=None), b"403"),
        (request(b"1", token=TOKEN + "é"), b"403"),
        (request(b"1", line="GET /hook HTTP/1.1"), b"405"),
        (request(b"1", line="POST / HTTP/1.1"), b"404"),
        (request(b"1").replace(b"Content-Length: 1", b"Content-Length: -1"), b"400"),
        (request(b"1").replace(b"Content-Length: 1", b"X: 1"), b"411"),
        (request(b"1", more="Transfer-Encoding: chunked\r\n"), b"411"),
    ],
)
def test_what_is_refused_is_not_recorded(hold: Hold, sent: bytes, status: bytes) -> None:
    held = hold()
    with held.connect() as client:
        client.sendall(sent)
        assert answer(client).split(b" ")[1] == status
        client.shutdown(socket.SHUT_WR)
        assert client.recv(10) == b""
    assert not held.events.exists()


@pytest.mark.parametrize(
    "garbage",
    [
        b"\r\n\r\n",
        b"\x00\xff" * 70_000,
        b"POST\r\n\r\n",
        b"a b c d\r\n\r\n",
        pytest.param(request(b"2", more="a:\r\n" * 200), id="a head of many lines"),
    ],
)
def test_garbage_ends_its_connection_and_nothing_else(hold: Hold, garbage: bytes) -> None:
    held = hold()
    with held.connect() as client:
        try:
            client.sendall(garbage)
            client.shutdown(socket.SHUT_WR)
            assert b"200" not in client.recv(65536)
        except OSError as error:
            if error.errno not in {errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN}:
                raise  # else it was let go before it had said all
    with held.connect() as client:
        client.sendall(request(b"1"))
        assert b"200 OK" in answer(client)
    assert told(held.events) == [1]


def test_a_body_that_breaks_off_is_not_recorded(hold: Hold) -> None:
    held = hold()
    with held.connect() as client:
        client.sendall(request(b'{"whole": true}')[:-3])
        client.shutdown(socket.SHUT_WR)
        assert client.recv(10) == b""
    assert not held.events.exists()


def test_a_body_that_is_asked_for_first_comes(hold: Hold) -> None:
    held = hold()
    with held.connect() as client:
        client.sendall(request(b"", more="Expect: 100-continue\r\n").replace(b": 0\r", b": 2\r"))
        assert client.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"42")
        assert b"200 OK" in answer(client)
    assert told(held.events) == [42]


@pytest.mark.slow
def test_too_large_an_event_is_counted_not_kept(hold: Hold) -> None:
    size = (8 << 20) + 1
    held = hold()
    with held.connect() as client:
        client.sendall(request(b"x" * size))
        assert b"200 OK" in answer(client)
        client.sendall(request(b'"' + b"x" * (size - 3) + b'"'))
        assert b"200 OK" in answer(client)
    first, second = map(json.loads, raw_lines(held.events))
    assert first["cut"] == size
    assert len(second["event"]) == size - 3


def test_two_hundred_events_at_once_are_each_recorded_once_and_whole(hold: Hold) -> None:
    held = hold()
    bodies = [json.dumps({"n": n, "text": "x" * 10_000}).encode() for n in range(200)]

    def post(body: bytes) -> bytes:
        with held.connect() as client:
            client.sendall(request(body))
            return answer(client)

    with ThreadPoolExecutor(32) as pool:
        assert all(b"200 OK" in said for said in pool.map(post, bodies))
    events = told(held.events)
    assert sorted(event["n"] for event in events) == list(range(200))
    assert all(event["text"] == "x" * 10_000 for event in events)


def test_slow_and_silent_clients_hold_nobody_up(hold: Hold) -> None:
    held = hold()
    slow = [held.connect() for _ in range(20)]
    for number, client in enumerate(slow):
        client.sendall(request(b'{"a": 1}')[: 4 * number])
    with held.connect() as client:
        client.sendall(request(b"1"))
        assert b"200 OK" in answer(client)
    for client in slow:
        client.close()
    assert told(held.events) == [1]


def test_however_many_come_and_say_nothing_who_shows_the_token_is_heard(hold: Hold) -> None:
    """On the machine's own network every agent can reach the receiver of every other."""
    held = hold()
    silent = [held.connect() for _ in range(300)]
    with held.connect() as client:
        client.sendall(request(b"1"))
        assert b"200 OK" in answer(client)
    assert told(held.events) == [1]
    for client in silent:
        client.close()


def test_a_stranger_that_says_nothing_is_let_go_and_one_with_the_token_stays(
    tmp_path: Path,
) -> None:
    """With less patience than a session's receiver has, which is more than a test's."""
    events = tmp_path / "events"
    wanted = {"events": str(events), "token": TOKEN, "files": [], "port_text": ""}
    program = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import receive\n"
        "receive.PATIENCE_WITH_STRANGERS = 0.5\n"
        "receiver = receive.Receiver(json.loads(sys.argv[2]), None); receiver.serve()\n"
        "print(receiver.port, flush=True); sys.stdin.read()"
    )
    argv = [sys.executable, "-c", program, str(RECEIVE_PROGRAM.parent), json.dumps(wanted)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        port = int(served.stdout.readline())
        connect = partial(socket.create_connection, ("127.0.0.1", port), timeout=60)
        with connect() as known, connect() as silent, connect() as slow:
            known.sendall(request(b"1"))
            assert b"200 OK" in answer(known)
            slow.sendall(request(b"1")[:30])
            for client in (silent, slow):
                assert client.recv(1) == b""
            known.sendall(request(b"2"))
            assert b"200 OK" in answer(known)
        served.communicate()
    assert told(events) == [1, 2]


def test_a_full_disk_is_not_felt(hold: Hold) -> None:
    held = hold(events="/dev/full")
    with held.connect() as client:
        client.sendall(request(b"1"))
        assert b"200 OK" in answer(client)
    assert held.process.poll() is None


def test_the_program_does_not_inherit_the_socket(hold: Hold) -> None:
    held = hold()
    child = held.runs()
    until(lambda: psutil.Process(child).name() == "sleep")
    assert psutil.Process(child).net_connections() == []
    links = [str(path.readlink()) for path in Path(f"/proc/{child}/fd").iterdir()]
    assert links
    assert not [link for link in links if link.startswith("socket")]


def test_what_the_program_sent_last_is_recorded_before_its_end(hold: Hold) -> None:
    code = (
        "import os, json, socket\n"
        "url = json.load(open(os.environ['SETTINGS']))['url']\n"
        "where = ('127.0.0.1', int(url.split(':')[2].split('/')[0]))\n"
        "clients = [socket.create_connection(where) for _ in range(150)]\n"
        f"head = {request(b'7' * 100_000)[:-100_000]!r}\n"
        "for client in clients: client.sendall(head + b'7' * 100_000)\n"
        "os._exit(3)\n"
    )
    held = hold(sys.executable, "-I", "-S", "-c", code)
    assert held.exit()["code"] == 3
    assert [len(line) > 100_000 for line in raw_lines(held.events)] == [True] * 150


def test_files_that_are_missing_are_a_start_that_failed(hold: Hold, place: Path) -> None:
    ended = hold(files=[str(place / "none.json")]).exit()
    assert ended["code"] == 127
    assert "none.json" in ended["reason"]


def test_the_receiver_loads_built_in_modules_only() -> None:
    code = (
        "import sys; before = set(sys.modules); sys.path.insert(0, sys.argv[1]);"
        "import receive; print(*sorted(set(sys.modules) - before))"
    )
    argv = [sys.executable, "-I", "-S", "-c", code, str(HOOKS)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["_operator", "_socket", "errno", "event_record", "receive"]
