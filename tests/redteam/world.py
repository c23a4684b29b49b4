"""The ground of a siege: a crew, a person's things, listeners, and canaries that sing when run."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import uuid
from pathlib import Path
from typing import Any

import psutil
from tests.support.ground import WL, Ground

import windlass.core.errors
from windlass.hooks import policy

_HERE = Path(__file__).parent
_CONFIG = """
[workspace]
teardown = "sh ./teardown.sh"
[box]
domains = ["localhost", "allowed.example"]
processes = 64
open_files = 256
file_mb = 16
temp_mb = 16
"""
_MORE_THAN = {"processes": 200, "files": 600, "bytes": 24 << 20}
_WAITS = ({"text": "I wait.\n\nWAITING"}, {"await": "message"})
SIBLING = "bea"
LURED = 54321
_LURE = {
    "type": "assistant",
    "uuid": "00000000-0000-4000-8000-000000000001",
    "timestamp": "2026-01-01T00:00:00.000Z",
    "message": {
        "id": "lure",
        "role": "assistant",
        "model": "lured",
        "content": [],
        "usage": {"input_tokens": LURED, "output_tokens": 1},
    },
}
"""A conversation of somebody else's: whoever counts these tokens has read it."""


class World:
    """Everything that an attack could be after, on one ground; `known` is the attacker's map."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.main = ground.folder / "repo"
        self.mark = f"wlrt{uuid.uuid4().hex[:12]}"
        self.canaries = ground.folder / "canaries"
        """A file for each planted program that somebody has run who is not the agent."""
        self.marks = ground.folder / "marks"
        """A file for each attack that the agent carried out itself, as often as it liked."""
        self.tips: dict[str, str] = {}
        self._undo = contextlib.ExitStack()
        self.known: dict[str, Any] = {}

    def build(self) -> None:
        """Puts everything in its place; the last thing is the map, which is committed."""
        self.canaries.mkdir()
        self.marks.mkdir()
        self._person()
        self._listeners()
        (self.ground.state / "config.toml").write_text(_CONFIG)
        self._repository()
        self._sibling()
        self._shared()
        self._map()

    def leave(self) -> None:
        """Takes back what lies outside of the ground."""
        self._undo.close()

    def sung(self) -> set[str]:
        """The canaries that sang so far; they can sing again."""
        found = {path.name for path in self.canaries.iterdir()}
        for name in found:
            (self.canaries / name).unlink()
        return found

    def has(self, commit: str) -> bool:
        """Whether the main repository has come to hold an object."""
        done = subprocess.run(
            ["git", "cat-file", "-e", commit], cwd=self.main, capture_output=True, check=False
        )
        return done.returncode == 0

    def leaks(self, workspace: Path) -> bool:
        """Whether a plain fetch from a workspace brings the victim's commit along."""
        scratch = self.ground.folder / "scratch.git"
        self.ground.git("init", "-q", "--bare", str(scratch))
        self.ground.git("fetch", "-q", str(workspace), "HEAD", cwd=scratch)
        return self.known["victim_commit"] in self.ground.git(
            "rev-parse", "FETCH_HEAD", cwd=scratch
        )

    def survivors(self, more: str = "") -> list[psutil.Process]:
        """What the attacker left running, by the mark in its arguments."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                words = process.cmdline()
                if words and words[-1].endswith(self.mark + more):
                    found.append(process)
        return found

    def _person(self) -> None:
        home = self.ground.home
        for name in (".ssh", "bin", "run", "lures"):
            (home / name).mkdir()
        (home / ".ssh/id_test").write_text("SECRET-key\n")
        (home / ".bashrc").write_text("# the person's\n")
        (home / "lures/agent-one.jsonl").write_text(json.dumps(_LURE) + "\n")
        path = f"{home}/bin:{self.ground.env['PATH']}"
        self.ground.env |= {
            "PATH": path,
            "PERSONS_TOKEN": "SECRET-token",
            "SSH_AUTH_SOCK": str(home / "run/agent"),
            "DOCKER_HOST": f"unix://{home}/run/docker",
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={home}/run/bus",
            "DISPLAY": ":99",
        }

    def _repository(self) -> None:
        ground, main = self.ground, self.main
        (main / ".gitignore").write_text("findings.json\n.tried-*\n__pycache__\n")
        (main / "tracked.txt").write_text("tracked\n")
        ground.git("add", ".")
        ground.git("commit", "-qm", "second")
        ground.git("branch", "release")
        (main / "README").write_text("SECRET-stash\n")
        ground.git("stash")
        ground.git("pack-refs", "--all")
        (main / ".env").write_text("SECRET-main\n")
        victim = ground.repository("victim")
        (victim / "private.txt").write_text("SECRET-victim\n")
        ground.git("add", ".", cwd=victim)
        ground.git("commit", "-qm", "private", cwd=victim)
        (ground.folder / "foreign.json").write_text('{"turns": [{"text": "SECRET-script"}]}')

    def _sibling(self) -> None:
        ground = self.ground
        workspace = ground.new(SIBLING, *_WAITS, flags=("--isolation", "hooks"))
        ground.wait(SIBLING, states="waiting")
        (workspace / "secret.txt").write_text("SECRET-sibling\n")
        info = ground.wl("info", SIBLING, "--json").ok().json()
        self.known |= {
            "sibling_id": SIBLING,
            "sibling": str(workspace),
            "sibling_pid": info["pid"],
            "sibling_holder": psutil.Process(info["pid"]).ppid(),
            "sibling_folder": info["folder"],
            "sibling_socket": str(self.runtime() / info["uid"][:8] / "api"),
            "sibling_hooks": _port(Path(info["folder"]) / "settings.json"),
            "witness": self._witness(workspace),
        }

    def runtime(self) -> Path:
        """The folder of sockets."""
        (found,) = self.ground.runtime.glob("windlass/*")
        return found

    def _witness(self, workspace: Path) -> dict[str, int]:
        started = subprocess.Popen(
            [sys.executable, _HERE / "witness.py", "secret.txt", self.marks / "22 kill"],
            cwd=workspace,
            env={"TOKEN": "SECRET-sibling"},
            stdout=subprocess.PIPE,
            text=True,
        )
        self._undo.callback(started.wait)
        self._undo.callback(started.kill)
        assert started.stdout is not None
        told: dict[str, int] = json.loads(started.stdout.readline())
        started.stdout.close()
        return told

    def _listeners(self) -> None:
        run = self.ground.home / "run"
        unix, tcp = socket.AF_UNIX, socket.AF_INET
        self.known["tcp"] = self._listen(tcp, ("127.0.0.1", 0))[1]
        address = _address()
        self.known |= {"address": address, "tcp_all": self._listen(tcp, (address, 0))[1]}
        self._listen(unix, f"\0{self.mark}")
        for name in ("agent", "docker", "bus"):
            self._listen(unix, str(run / name))
        there = socket.socket(tcp, socket.SOCK_DGRAM)
        there.bind(("127.0.0.1", 0))
        self.known["udp"] = there.getsockname()[1]
        self._undo.callback(there.close)
        there.settimeout(0)
        self._datagrams = there
        self.known |= {
            "abstract": self.mark,
            "ssh_agent": str(run / "agent"),
            "docker": str(run / "docker"),
        }

    def datagrams(self) -> list[bytes]:
        """What came in by UDP."""
        found = []
        with contextlib.suppress(BlockingIOError):
            while True:
                found.append(self._datagrams.recv(1000))
        return found

    def _listen(self, family: int, address: Any) -> Any:
        door = socket.socket(family, socket.SOCK_STREAM)
        door.bind(address)
        door.listen(50)
        self._undo.callback(door.close)
        self._undo.callback(door.shutdown, socket.SHUT_RDWR)
        threading.Thread(target=_greet, args=(door,), daemon=True).start()
        return door.getsockname()

    def _shared(self) -> None:
        """What every process of this machine shares: memory, queues, keys, temporary files."""
        for name, place in (("shm_file", "/dev/shm"), ("tmp_file", "/tmp")):
            path = Path(place) / self.mark
            path.write_text("SECRET-shared\n")
            self._undo.callback(path.unlink, missing_ok=True)
            self.known[name] = str(path)
        libc = ctypes.CDLL(None, use_errno=True)
        key = uuid.uuid4().int & 0x7FFFFFFF
        number = libc.shmget(key, 64, 0o1600)
        assert number >= 0, os.strerror(ctypes.get_errno())
        self._undo.callback(libc.shmctl, number, 0, None)
        libc.shmat.restype = ctypes.c_void_p
        segment = ctypes.c_void_p(libc.shmat(number, None, 0))
        ctypes.memmove(segment, b"SECRET-sysv\0", 12)
        libc.shmdt(segment)
        queue = f"/{self.mark}".encode()
        assert libc.mq_open(queue, os.O_CREAT | os.O_RDWR, 0o600, None) >= 0
        self._undo.callback(libc.mq_unlink, queue)
        self.known |= {"shm_key": key, "queue": queue.decode()}
        server = str(self.ground.folder / "tmux")
        tmux = ("tmux", "-S", server)
        subprocess.run([*tmux, "-f", "/dev/null", "new-session", "-d"], check=True)
        self._undo.callback(subprocess.run, [*tmux, "kill-server"], check=False)
        self.known["tmux_of_person"] = server

    def _map(self) -> None:
        ground = self.ground
        blob = ground.git("hash-object", "-w", ".env").strip()
        self.known |= {
            "main": str(self.main),
            "home": str(ground.home),
            "tmp": "/tmp",
            "canaries": str(self.canaries),
            "marks": str(self.marks),
            "object": str(self.main / ".git/objects" / blob[:2] / blob[2:]),
            "victim": str(ground.folder / "victim"),
            "victim_commit": ground.git("rev-parse", "HEAD", cwd=ground.folder / "victim").strip(),
            "lures": str(ground.home / "lures"),
            "foreign_script": str(ground.folder / "foreign.json"),
            "daemon_pid": ground.daemon_pid(),
            "person": str(self.runtime() / "person.sock"),
            "tmux": str(self.runtime() / "tmux"),
            "store": str(ground.state / "windlass.db"),
            "wl": WL,
            "library": windlass.core.errors.__file__,
            "hook": policy.__file__,
            "survivor": self.mark,
            "more_than": _MORE_THAN,
            "call": {"request_key": 249 if os.uname().machine == "x86_64" else 218},
        }
        inside = self.main / "tests/redteam/inside"
        shutil.copytree(_HERE / "inside", inside, ignore=_compiled)
        (inside / "map.json").write_text(json.dumps(self.known))
        ground.git("add", "tests")
        ground.git("commit", "-qm", "the way in")
        self.tips = {name: ground.git("rev-parse", name) for name in ("release", "agent/bea")}


def _greet(door: socket.socket) -> None:
    """Answers everybody who says a word."""
    while True:
        try:
            client, _ = door.accept()
        except OSError:
            return
        with client, contextlib.suppress(OSError):
            client.settimeout(2)
            client.recv(4096)
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nSECRET")


def _port(settings: Path) -> int:
    """Where a session's hooks are heard."""
    found = re.search(r"http://127\.0\.0\.1:(\d+)/", settings.read_text())
    assert found is not None
    return int(found[1])


def _address() -> str:
    """An address of this machine that is not its loopback, if it has one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as there:
        try:
            there.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return "127.0.0.2"
        return str(there.getsockname()[0])


_compiled = shutil.ignore_patterns("__pycache__")
