"""The attacks that are stopped at every level do work where nothing stops them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from windlass.box.proxy import Proxy
from windlass.box.relay import Carrier
from windlass.core.policy import protected

_ROOT = Path(__file__).parents[2]


@pytest.fixture
def service() -> socket.socket:
    """A service on the loopback that answers with a secret."""
    door = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=_answer, args=(door,), daemon=True).start()
    return door


def _answer(door: socket.socket) -> None:
    while True:
        try:
            client, _ = door.accept()
        except OSError:
            return
        with client:
            client.recv(4096)
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\nSECRET")


def _carry(door: socket.socket, there: str) -> None:
    """Carries what comes in on a port to a unix socket, as the relay of a box does."""
    while True:
        try:
            client, _ = door.accept()
        except OSError:
            return
        threading.Thread(target=_join, args=(client, there), daemon=True).start()


def _join(client: socket.socket, there: str) -> None:
    far = socket.socket(socket.AF_UNIX)
    far.connect(there)
    carrier = Carrier()
    carrier.join(client, far)
    while len(carrier):
        carrier.turn()


def test_the_requests_to_the_proxy_get_through_one_that_may_reach_the_service(
    tmp_path: Path, service: socket.socket
) -> None:
    port = service.getsockname()[1]
    told = {
        "socket": str(tmp_path / "proxy"),
        "log": str(tmp_path / "log"),
        "domains": [],
        "addresses": [f"127.0.0.1:{port}"],
    }
    proxy = Proxy(told)
    proxy.serve()
    with socket.create_server(("127.0.0.1", 0)) as door:
        threading.Thread(target=_carry, args=(door, told["socket"]), daemon=True).start()
        known = {"tcp": port, "address": "127.0.0.1"}
        env = {
            **os.environ,
            "HTTP_PROXY": f"http://127.0.0.1:{door.getsockname()[1]}",
            "WINDLASS_SOCKET": str(tmp_path / "api"),
        }
        found = _attacks(known, env, tmp_path, "36 proxy", "36 relay", "59 smuggling")
        door.shutdown(socket.SHUT_RDWR)
    proxy.close()
    service.shutdown(socket.SHUT_RDWR)
    service.close()
    assert "127.0.0.1" in found["36 proxy"]["got"], found
    assert "SECRET" in found["36 relay"]["got"], found
    assert found["59 smuggling"]["got"], found


def _attacks(
    known: dict[str, object], env: dict[str, str], folder: Path, *names: str
) -> dict[str, dict[str, Any]]:
    (folder / "map.json").write_text(json.dumps(known))
    env = {**env, "PYTHONPATH": str(_ROOT), "REDTEAM_MAP": str(folder / "map.json")}
    line = [sys.executable, "-m", "tests.redteam.inside", *names]
    subprocess.run(line, cwd=folder, env=env, check=True, timeout=60)
    found: dict[str, dict[str, Any]] = json.loads((folder / "findings.json").read_text())
    return found


def test_a_pipe_does_stop_a_plain_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"]) as reader:
        with pytest.raises(subprocess.TimeoutExpired):
            reader.wait(0.2)
        reader.kill()


def test_a_change_of_ordinary_files_is_not_marked() -> None:
    assert protected.among(["src/code.py", "README.md", "docs/design.md"]) == []
