"""What hooks cost: the policy hook, the observing one as a command and over http, a real tool call.

Everything is a real agent's: its sockets, its policy file and its receiver.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import psutil
from bench.table import Row, timed
from tests.support.claude import claude_binary, claude_environment
from tests.support.ground import Ground

import windlass.hooks
from windlass.model.server import Model

HOOKS = Path(windlass.hooks.__file__).parent
RUNS = 40
CALLS = 40
ROUNDS = 6


class Hooked:
    """An agent that does nothing, for its hooks to be run on."""

    def __init__(self, ground: Ground) -> None:
        self.workspace = ground.new("hooked", {"text": "WAITING"})
        (found,) = (one for one in ground.wl("list", "--json").ok().json() if one["id"] == "hooked")
        self.folder = ground.state / "agents" / found["uid"]
        (self.sockets,) = ground.runtime.glob(f"windlass/*/{found['uid'][:8]}")
        settings = json.loads((self.folder / "settings.json").read_text())
        (self.over_http,) = (h for h in _hooks(settings) if h["type"] == "http")
        self.events = ground.folder / "hooked.events"

    def run(self, name: str, *more: Path) -> Callable[[], Any]:
        """One run of a command hook."""
        given = [self.events, self.sockets / "wake", *more]
        argv = [sys.executable, "-I", "-S", str(HOOKS / f"{name}.py"), *map(str, given)]
        call = {
            "hook_event_name": "PreToolUse",
            "cwd": str(self.workspace),
            "tool_name": "Read",
            "tool_input": {"file_path": str(self.workspace / "README")},
        }
        body = json.dumps(call).encode()
        return lambda: subprocess.run(argv, input=body, stdout=subprocess.DEVNULL, check=True)

    def connect(self) -> http.client.HTTPConnection:
        """A connection to its receiver."""
        where = urlsplit(self.over_http["url"])
        return http.client.HTTPConnection(where.hostname or "", where.port)

    def post(self, connection: http.client.HTTPConnection) -> None:
        """One event over http."""
        body = json.dumps({"hook_event_name": "Bench", "text": "x" * 500})
        connection.request("POST", "/hook", body, self.over_http["headers"])
        connection.getresponse().read()


def measure(ground: Ground) -> list[Row]:
    """Measures all of it; the agent is gone afterwards."""
    hooked = Hooked(ground)
    asking = hooked.run("policy", hooked.sockets / "api", hooked.folder / "policy.json")
    rows = [
        Row("policy hook, start to decision", timed(asking, runs=RUNS), 30),
        Row("observing hook as command", timed(hooked.run("observe"), runs=RUNS), None),
        Row("observing hook over http", _over_http(hooked), 2),
        Row("daemon's CPU for one event", [_cpu_of_an_event(ground, hooked)], None),
    ]
    # What follows needs no daemon, and what one does with events would be in the way.
    ground.wl("daemon", "stop").ok()
    rows += [
        Row("policy hook, daemon down", timed(asking, runs=RUNS), None),
        _real_calls(ground, hooked),
    ]
    ground.wl("kill", "--force", "hooked").ok()
    return rows


def _over_http(hooked: Hooked) -> list[float]:
    with closing(hooked.connect()) as connection:
        hooked.post(connection)
        return timed(lambda: hooked.post(connection), runs=300)


def _cpu_of_an_event(ground: Ground, hooked: Hooked) -> float:
    """Milliseconds; with pauses, because events that come together are read together."""
    daemon = psutil.Process(ground.daemon_pid())
    before = sum(daemon.cpu_times()[:4])
    with closing(hooked.connect()) as connection:
        for _ in range(RUNS):
            hooked.post(connection)
            time.sleep(0.1)
    return (sum(daemon.cpu_times()[:4]) - before) / RUNS * 1000


def _real_calls(ground: Ground, hooked: Hooked) -> Row:
    """What our http hook adds to each of many Read calls of the real Claude Code.

    Beside one that answers without a look at what it is told: what such a hook costs the program
    itself, before anybody hears it, is not ours.
    """
    home = ground.folder / "claude"
    home.mkdir()
    call = {"tool": "Read", "input": {"file_path": str(hooked.workspace / "README")}}
    script = {"turns": [*[call] * CALLS, {"text": "done"}]}
    came: list[float] = []
    with (
        _Deaf() as deaf,
        Model(script, on_request=lambda _: came.append(time.perf_counter())) as model,
    ):
        rounds: dict[Path, list[float]] = {}
        for name, hook in (
            ("deaf", {**hooked.over_http, "url": deaf.url}),
            ("ours", hooked.over_http),
        ):
            path = home / f"{name}.json"
            path.write_text(json.dumps({"hooks": {"PostToolUse": [{"hooks": [hook]}]}}))
            rounds[path] = []
        for settings in [*rounds] * ROUNDS:
            came.clear()
            subprocess.run(
                [str(claude_binary()), "-p", "go", "--settings", str(settings)],
                cwd=hooked.workspace,
                env=claude_environment(home, model.url),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                check=True,
            )
            # From one request for the model to the next: a tool call, its hooks, and the program.
            rounds[settings].append(statistics.median(b - a for a, b in pairwise(came)) * 1000)
    # Each with its neighbour, because the machine is never quiet.
    added = [with_it - without for without, with_it in zip(*rounds.values(), strict=True)]
    each = statistics.median(next(iter(rounds.values())))
    note = f"Claude Code, {CALLS} Read calls of {each:.0f} ms with a hook that nobody reads"
    # No budget: calls differ by more than the hook costs, which is measured above.
    return Row("http hook, real call, beside a deaf one", added, None, note)


class _Deaf:
    """A listener that answers every hook at once and looks at nothing."""

    def __enter__(self) -> Self:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}/hook"
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asked = b""
        with closing(connection), contextlib.suppress(OSError):
            while more := connection.recv(1 << 16):
                asked += more
                if asked.endswith(b"}"):  # hooks are told in JSON objects, and wait for an answer
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                    asked = b""


def _hooks(settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Every hook of a settings file, each once."""
    found = [h for event in settings["hooks"].values() for group in event for h in group["hooks"]]
    return [one for number, one in enumerate(found) if one not in found[:number]]
