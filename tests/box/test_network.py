"""Boxed sessions without a network: what they reach goes through their holder."""

from __future__ import annotations

import http.server
import json
import socket
import socketserver
import subprocess
import threading
from collections.abc import Iterator

import pytest
from tests.box.conftest import Ground, Stage, until

from windlass.box import wrapper
from windlass.box.proxy import Proxy
from windlass.core.box_spec import Quota
from windlass.core.errors import ConfigError
from windlass.core.session_launch import HOOK_PORT, MODEL_PORT, ReceiverSpec

pytestmark = pytest.mark.slow

_ASK = """
import json, socket, sys, urllib.error, urllib.request
said = {}
for url in sys.argv[1:]:
    try:
        said[url] = urllib.request.urlopen(url, timeout=20).read().decode()
    except urllib.error.HTTPError as error:
        said[url] = "%d %s" % (error.code, error.read().decode())
    except OSError as error:
        said[url] = "failed"
with open("said.new", "w") as file:
    json.dump(said, file)
import os
os.rename("said.new", "said")
"""


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"outside {self.path}".encode())

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


def test_an_address_given_is_reached_under_its_own_number(
    stage: Stage, ground: Ground, port: int
) -> None:
    ground.show(addresses=(f"127.0.0.1:{port}",))
    url = f"http://127.0.0.1:{port}/model"
    stage.python(_ASK, url, "http://example.invalid/", mode="headless")
    until(stage.said)
    said = json.loads(stage.said())
    assert said[url] == "outside /model"
    assert said["http://example.invalid/"].startswith("403 windlass: example.invalid is not among")
    assert "example.invalid" in (stage.folder / "proxy.log").read_text()


def test_other_ports_of_this_machine_are_not_reached(
    stage: Stage, ground: Ground, port: int
) -> None:
    ground.show(addresses=("127.0.0.1:1024",))
    stage.python(_ASK, f"http://127.0.0.1:{port}/", f"http://localhost:{port}/", mode="headless")
    until(stage.said)
    assert set(json.loads(stage.said()).values()) == {"failed"}


def test_a_port_that_no_box_can_listen_on_is_told_before_anything_starts(
    stage: Stage, ground: Ground
) -> None:
    ground.show(addresses=("127.0.0.1:80",))
    with pytest.raises(ConfigError, match="port 80"):
        stage.start("/bin/true")


def test_with_the_hosts_network_they_would_be(stage: Stage, ground: Ground, port: int) -> None:
    ground.show(network="host")
    stage.python(_ASK, f"http://127.0.0.1:{port}/", mode="headless")
    until(stage.said)
    assert set(json.loads(stage.said()).values()) == {"outside /"}


def test_hooks_reach_the_receiver_of_their_session(stage: Stage, ground: Ground) -> None:
    settings = ground.work / "settings"
    settings.write_text(HOOK_PORT)
    events = ground.folder / "events"
    receiver = ReceiverSpec(token="t0ken", events=str(events), files=(str(settings),))  # noqa: S106
    code = """
import http.client
port = int(open("settings").read())
link = http.client.HTTPConnection("127.0.0.1", port)
for number in range(3):
    link.request("POST", "/hook", '{"n": %d}' % number, {"Authorization": "Bearer t0ken"})
    assert link.getresponse().read() == b"{}"
"""
    stage.start(
        wrapper.interpreter()[0], "-I", "-c", code,
        mode="headless", receiver=receiver,
    )  # fmt: skip
    assert stage.ended().exit_code == 0, (stage.folder / "stderr").read_text()
    assert [json.loads(line)["event"]["n"] for line in events.read_text().splitlines()] == [0, 1, 2]


class _Model(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        if self.request.recv(100) == b"a question":
            self.request.sendall(b"an answer")


def test_however_many_come_to_the_models_port_and_say_nothing_who_asks_is_answered(
    stage: Stage, ground: Ground
) -> None:
    ground.show(network="host")
    code = """
import os, socket
at = ("127.0.0.1", int(os.environ["PORT"]))
silent = [socket.create_connection(at) for _ in range(300)]
with socket.create_connection(at) as asking:
    asking.sendall(b"a question")
    print(asking.recv(100).decode())
"""
    program = wrapper.interpreter()[0]
    path = str(ground.sockets / wrapper.MODEL_SOCKET)
    with socketserver.ThreadingUnixStreamServer(path, _Model) as model:
        threading.Thread(target=model.serve_forever, args=(0.01,), daemon=True).start()
        stage.start(
            program, "-I", "-c", code, mode="headless", env={"PORT": MODEL_PORT}, relayed=True
        )
        assert stage.ended().exit_code == 0, (stage.folder / "stderr").read_text()
        model.shutdown()
    assert stage.output().strip() == "an answer"


def test_abstract_sockets_and_udp_stay_outside(stage: Stage, ground: Ground) -> None:
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(type=socket.SOCK_DGRAM) as heard:
        listening.bind(f"\0windlass-{ground.folder.name}")
        listening.listen()
        heard.bind(("127.0.0.1", 0))
        heard.setblocking(False)  # noqa: FBT003 - its only parameter
        code = f"""
import socket
import subprocess
try:
    socket.socket(socket.AF_UNIX).connect("\\0windlass-{ground.folder.name}")
    print("reached")
except OSError:
    print("not reached")
socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", {heard.getsockname()[1]}))
"""
        stage.python(code, mode="headless")
        stage.ended()
        assert stage.output().strip() == "not reached"
        with pytest.raises(BlockingIOError):
            heard.recv(1)


def test_a_command_beside_a_session_uses_a_way_out_that_is_kept_for_it(
    ground: Ground, port: int
) -> None:
    address = f"127.0.0.1:{port}"
    ground.show(addresses=(address,))
    wanted = {"socket": str(ground.sockets / wrapper.PROXY_SOCKET), "domains": ()}
    way = Proxy({**wanted, "log": str(ground.folder / "log"), "addresses": (address,)})
    way.serve()
    program, needed = wrapper.interpreter()
    ground.show(readable=needed)
    line = wrapper.prefix(ground.boxing, folder=ground.files, sockets=ground.sockets, env={})
    code = f"import urllib.request as r; print(r.urlopen('http://{address}/x').read().decode())"
    argv = [*line, program, "-I", "-c", code]
    done = subprocess.run(argv, env={}, capture_output=True, text=True, check=False)
    way.close()
    assert done.stdout == "outside /x\n", done.stderr


def test_many_large_answers_at_once_arrive_whole(stage: Stage, ground: Ground) -> None:
    class Large(_Handler):
        def do_GET(self) -> None:
            body = self.path.encode() * 200_000
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Large)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    port = server.server_address[1]
    ground.show(addresses=(f"127.0.0.1:{port}",))
    code = f"""
import concurrent.futures, urllib.request
def ask(number):
    read = urllib.request.urlopen("http://127.0.0.1:{port}/%03d" % number).read()
    return read == b"/%03d" % number * 200000
with concurrent.futures.ThreadPoolExecutor(10) as pool:
    print(sum(pool.map(ask, range(30))))
"""
    stage.python(code, mode="headless")
    stage.ended()
    server.shutdown()
    server.server_close()
    assert stage.output().strip() == "30"


def test_a_fork_bomb_does_not_cut_off_the_way_out(stage: Stage, ground: Ground, port: int) -> None:
    ground.show(addresses=(f"127.0.0.1:{port}",), quota=Quota(processes=40))
    code = f"""
import os, signal, urllib.request
children = []
try:
    while True:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except OSError:
    pass
print(urllib.request.urlopen("http://127.0.0.1:{port}/still").read().decode(), len(children) < 40)
"""
    stage.python(code, mode="headless")
    assert stage.ended().exit_code == 0, (stage.folder / "stderr").read_text()
    assert stage.output().strip() == "outside /still True"
