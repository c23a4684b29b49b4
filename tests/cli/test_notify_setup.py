"""`wl notify setup`: what it writes was tried, and reaches a server as it was said."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from argparse import Namespace
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from windlass.cli import notify_setup
from windlass.cli.call import Call
from windlass.core import notify_commands
from windlass.core.errors import Denied, Unavailable, UserError


class Setup(Call):
    """A call whose daemon remembers what is to be written."""

    def __init__(self) -> None:
        super().__init__(Namespace(json=False, quiet=True))
        self.written: list[dict[str, Any]] = []

    def ask(self, verb: str, **request: Any) -> Any:
        """Takes what is to be written."""
        assert verb == "config.set"
        self.written.append(request)
        return {}


class Heard(HTTPServer):
    """A server on loopback, and what was posted to it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.posts: list[tuple[str, str]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Heard

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.posts.append((self.headers.get("Title", ""), body))
        self.send_response(404 if self.path == "/none" else 200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its own name
        """Says nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "WINDLASS_SOCKET"):
        monkeypatch.delenv(name, raising=False)
    with Heard() as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def test_what_was_tried_is_written_to_the_persons_own_configuration(server: Heard) -> None:
    for kind, sent in (("ntfy", "Windlass"), ("slack", '{"text": "windlass: Windlass')):
        call = Setup()
        assert notify_setup.run(call, [kind, f"{server.url}/topic"]) == 0
        (written,) = call.written
        assert (written["config_key"], written["user"]) == ("notify.command", True)
        assert f"{server.url}/topic" in written["value"]
        assert server.posts[-1][1].startswith(sent)


def test_what_fails_is_not_written(server: Heard) -> None:
    call = Setup()
    with pytest.raises(Unavailable, match="404"):
        notify_setup.run(call, ["ntfy", f"{server.url}/none"])
    with pytest.raises(Unavailable, match="no luck"):
        notify_setup.run(call, ["command", "echo no luck; exit 3"])
    assert call.written == []


@pytest.mark.parametrize("kind", ["ntfy", "slack"])
def test_a_text_is_sent_as_it_is_and_names_no_file(
    kind: str, server: Heard, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("s3cret")
    text = '@secret $(touch hit) `touch hit` "quoted" \\n -o x'
    command = notify_commands.line(kind, server.url, platform="linux", python=sys.executable)
    env = {"PATH": "/usr/bin:/bin", "WINDLASS_NOTICE_TEXT": text, "WINDLASS_NOTICE_FROM": "fox"}
    notice = json.dumps({"from": "fox", "msg": text})
    subprocess.run(
        ["/bin/sh", "-c", command], cwd=tmp_path, env=env, input=notice, text=True, check=True
    )
    body = server.posts[-1][1]
    assert (body if kind == "ntfy" else json.loads(body)["text"].removeprefix("fox: ")) == text
    assert not (tmp_path / "hit").exists()


@pytest.mark.parametrize(
    "words",
    [[], ["pigeon"], ["ntfy"], ["slack", "ftp://x/y"], ["command", " "], ["desktop", "http://x"]],
)
def test_what_is_no_way_is_refused(words: list[str]) -> None:
    with pytest.raises(UserError):
        notify_setup.run(Setup(), words)


def test_agents_do_not_say_how_the_person_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_SOCKET", "/s")
    with pytest.raises(Denied):
        notify_setup.run(Setup(), ["command", "true"])
