"""The installed Claude Code: missing, old, broken, upgraded or removed; and the key it is given."""

from __future__ import annotations

import http.server
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.claude import VERSION
from tests.support.ground import until
from tests.support.scene import Scene

from windlass.core.errors import DriverError
from windlass.drivers import claude
from windlass.drivers.claude import ClaudeDriver

pytestmark = pytest.mark.slow
BEGUN = [("creating", "windlass"), ("running", "hook")]
DONE = {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"}
HEADLESS = ["--print"]
MODES = [pytest.param([], id="live"), pytest.param(HEADLESS, id="headless")]
KEY = "sk-test-0123456789-abcdefghijklmnopqrstuvwxyz"
NEW = ("new", "--driver", "claude", "--name", "fox", "be fox")


def bash(command: str) -> dict[str, Any]:
    """An entry that runs a command."""
    return {"tool": "Bash", "input": {"command": command}}


def wrap(on: Scene, *, version: str, otherwise: str) -> None:
    """Puts a script in the place of `claude`: what it says to --version, and what it does else."""
    program = on.ground.folder / "bin" / "claude"
    real = os.path.realpath(program)
    program.unlink()
    program.write_text(
        f'#!/bin/sh\nif [ "$*" = --version ]; then {version}; exit; fi\nREAL={real}\n{otherwise}\n'
    )
    program.chmod(0o755)


TRUE = f"echo '{VERSION} (Claude Code)'"


@pytest.mark.parametrize("mode", MODES)
def test_a_program_that_dies_at_its_start_is_stopped_with_its_last_words(
    on: Scene, mode: list[str]
) -> None:
    wrap(on, version=TRUE, otherwise="echo 'no such luck today' >&2; exit 3")
    on.new("fox", flags=mode)
    on.wait("fox", "stopped")
    assert on.history("fox") == [("creating", "windlass"), ("stopped", "process")]
    assert on.evidence("fox") == "session 1 ended with exit code 3: no such luck today"


@pytest.mark.parametrize("mode", MODES)
def test_a_program_that_hangs_is_being_created_and_can_be_killed(
    on: Scene, mode: list[str]
) -> None:
    wrap(on, version=TRUE, otherwise='touch "$HOME/hangs"; exec sleep 600')
    on.new("fox", flags=mode)
    until(lambda: [*on.ground.state.glob("agents/*/home/hangs")] != [])
    assert on.history("fox") == [("creating", "windlass")]
    on.wl("kill", "fox", "--force").ok()


@pytest.mark.parametrize(
    ("version", "said"),
    [
        pytest.param("echo 1.0.0", "Claude Code 1.0.0 is too old", id="too old"),
        pytest.param("echo hello", "is no Claude Code: hello", id="garbage"),
        pytest.param("exit 1", "is no Claude Code: no output", id="silent"),
    ],
)
def test_a_program_that_will_not_do_is_refused_with_how_to_get_one(
    on: Scene, version: str, said: str
) -> None:
    wrap(on, version=version, otherwise="exit 1")
    refused = on.wl(*NEW).failed(5)
    assert said in refused.err
    assert "npm install -g @anthropic-ai/claude-code" in refused.err
    assert on.ground.agents() == []


def test_a_program_that_is_not_there_is_refused_with_how_to_get_it(on: Scene) -> None:
    (on.ground.folder / "bin" / "claude").unlink()
    refused = on.wl(*NEW).failed(5)
    assert "Claude Code is not installed: no `claude` on PATH" in refused.err
    assert "npm install -g @anthropic-ai/claude-code" in refused.err


def test_a_program_that_does_not_tell_its_version_is_not_waited_for_long(
    on: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrap(on, version="sleep 600", otherwise="exit 1")
    monkeypatch.setenv("PATH", f"{on.ground.folder / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(claude, "_VERSION_TIMEOUT", 0.5)
    with pytest.raises(DriverError, match="does not answer"):
        ClaudeDriver().check()


def test_a_program_that_is_upgraded_under_an_agent_goes_on(on: Scene) -> None:
    on.new("fox", bash("true"), DONE, flags=HEADLESS)
    on.wait("fox", "complete")
    on.wl("pause", "fox").ok()
    real = str((on.ground.folder / "bin" / "claude").resolve().parent)
    on.wl("config", "add", "box.toolchains", real).ok()
    wrap(on, version="echo '2.2.0 (Claude Code)'", otherwise='exec "$REAL" "$@"')
    on.wl("resume", "fox").ok()
    on.wait("fox", "waiting")
    on.wl("send", "fox", "still there?").ok()
    until(lambda: on.texts("fox")[-1] == "Noted.\n\nWAITING", what="an answer")
    versions = on.wl("drivers", "--json").ok().json()
    assert [one["version"] for one in versions if one["name"] == "claude"] == ["2.2.0"]


def test_a_program_that_was_removed_under_an_agent_is_told_of(on: Scene) -> None:
    on.new("fox", bash("true"), DONE, flags=HEADLESS)
    on.wait("fox", "complete")
    on.wl("pause", "fox").ok()
    program = on.ground.folder / "bin" / "claude"
    kept = program.rename(program.with_name("kept"))
    refused = on.wl("resume", "fox").failed(5)
    assert "no `claude` on PATH" in refused.err
    assert on.ground.state_of("fox") == "paused"
    kept.rename(program)
    on.wl("resume", "fox").ok()
    on.wait("fox", "waiting")


def test_a_conversation_whose_file_is_empty_starts_anew_under_another_id(on: Scene) -> None:
    """Its own would be refused: the real program takes it for one that is in use."""
    on.new("fox", bash("true"), DONE, flags=HEADLESS)
    on.wait("fox", "complete")
    on.wl("pause", "fox").ok()
    path = Path(on.wl("info", "fox", "--json").ok().json()["transcript"])
    path.write_bytes(b"")
    on.wl("resume", "fox").ok()
    on.wait("fox", "complete")
    assert path.read_bytes() == b""
    until(lambda: on.texts("fox")[:1] == ["be fox"], what="the new conversation")


class _Listener(http.server.BaseHTTPRequestHandler):
    """Remembers the keys that come in, and refuses."""

    keys: set[str | None]

    def do_POST(self) -> None:
        """Refuses whatever is asked."""
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.keys.add(self.headers.get("x-api-key"))
        body = b'{"type":"error","error":{"type":"invalid_request_error","message":"no"}}'
        self.send_response(400)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


@contextmanager
def listening() -> Iterator[tuple[str, set[str | None]]]:
    """An endpoint that only remembers the keys that it was shown."""
    keys: set[str | None] = set()
    handler = type("Handler", (_Listener,), {"keys": keys})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", keys
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("mode", MODES)
def test_a_key_in_a_file_reaches_the_program_and_is_kept_nowhere(
    on: Scene, mode: list[str]
) -> None:
    key = on.ground.folder / "key"
    key.write_text(f"{KEY}\n")
    key.chmod(0o600)
    on.wl("daemon", "stop").ok()
    del on.ground.env["ANTHROPIC_AUTH_TOKEN"]
    on.wl("config", "set", "claude.api_key_file", str(key), "--global").ok()
    with listening() as (url, keys):
        on.ground.env["ANTHROPIC_BASE_URL"] = url
        on.wl("daemon", "stop").ok()
        on.new("fox", flags=mode)
        on.wait("fox", "waiting")
        on.wl("pause", "fox").ok()
    assert keys == {KEY}
    assert [state for state, _ in on.history("fox")] == ["creating", "running", "waiting", "paused"]
    places = [path for path in on.ground.state.rglob("*") if path.is_file()]
    assert [path for path in places if KEY.encode() in path.read_bytes()] == []


def test_a_key_file_that_is_gone_is_told_of(on: Scene) -> None:
    key = on.ground.folder / "key"
    key.write_text(f"{KEY}\n")
    on.wl("daemon", "stop").ok()
    del on.ground.env["ANTHROPIC_AUTH_TOKEN"]
    on.wl("config", "set", "claude.api_key_file", str(key), "--global").ok()
    on.new("fox", bash("true"), DONE, flags=HEADLESS)
    on.wait("fox", "complete")
    on.wl("pause", "fox").ok()
    key.unlink()
    refused = on.wl("new", "--driver", "claude", "--name", "owl", "be owl").failed(3)
    assert f"claude.api_key_file: {key} cannot be read" in refused.err
    assert f"claude.api_key_file: {key} cannot be read" in on.wl("resume", "fox").failed(3).err
    assert on.ground.state_of("fox") == "stopped"
    assert "session 2 could not be started: claude.api_key_file" in on.evidence("fox")
    key.write_text(f"{KEY}\n")
    on.wl("resume", "fox").ok()
    on.wait("fox", "waiting")
