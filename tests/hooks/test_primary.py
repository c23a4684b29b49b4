"""The hook of the person's own session, run as an agent CLI runs it, against a small server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.hooks.conftest import HOOKS, until

Answer = bytes | None
NOTICE = {"number": 7, "line": '{"ts":"t","from":"api","type":"complete","msg":"Ü done"}'}


class Daemon:
    """Something on the person's socket that answers as it is told to and keeps what it heard."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self.answers: dict[str, Callable[[dict[str, Any]], Answer]] = {}
        self.gone = threading.Event()
        """Set when a client hung up before it had an answer."""
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind(str(path))
        self._listening.listen()
        self._threads: list[threading.Thread] = []
        self._run(self._accept)

    def _run(self, work: Callable[..., None], *args: Any) -> None:
        self._threads.append(threading.Thread(target=work, args=args))
        self._threads[-1].start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            self._run(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        with client, client.makefile("rb") as reading:
            verb = reading.readline().split()[1].decode().removeprefix("/v1/")
            length = 0
            while line := reading.readline().strip():
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            body = json.loads(reading.read(length))
            self.heard.append((verb, body))
            said = self.answers[verb](body)
            if said is None:
                reading.read(1)  # until the client hangs up
                self.gone.set()
            else:
                client.sendall(said)

    def close(self) -> None:
        """No trace is left, as after a daemon that stopped."""
        self.path.unlink(missing_ok=True)
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join(60)


@contextmanager
def daemon(place: Path) -> Iterator[Daemon]:
    running = Daemon(place / "api")
    try:
        yield running
    finally:
        running.close()


def ok(value: Any, *, status: int = 200, cut: int = 0) -> bytes:
    body = json.dumps(value).encode()
    head = b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n" % (status, len(body))
    return (head + body)[: -cut or None]


def event(name: str, cwd: object, **more: Any) -> bytes:
    return json.dumps(
        {"hook_event_name": name, "cwd": str(cwd), "session_id": "s1", **more}
    ).encode()


def argv(place: Path, mode: str) -> list[str]:
    told = place / "primary.md"
    told.write_text("how to ü\n", encoding="utf-8")
    program = str(HOOKS / "primary.py")
    words = ["windlass-hook:he", mode, str(place / "api"), str(told)]
    return [sys.executable, "-I", "-S", program, *words]


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("WINDLASS", "CLAUDE"))}
    return {**kept, **more}


def run(place: Path, mode: str, body: bytes, **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        argv(place, mode),
        input=body,
        capture_output=True,
        check=False,
        timeout=20,
        env=environment(**env),
    )


def waiting(place: Path, body: bytes | None = None) -> subprocess.Popen[bytes]:
    started = subprocess.Popen(
        argv(place, "wait"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert started.stdin is not None
    started.stdin.write(event("Stop", place) if body is None else body)
    started.stdin.close()
    started.stdin = None
    return started


def silent(done: subprocess.CompletedProcess[bytes]) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_what_a_hook_is_told_goes_to_the_daemon_and_its_answer_is_printed(place: Path) -> None:
    said = {"hookSpecificOutput": {"additionalContext": "ü"}}
    with daemon(place) as there:
        there.answers["primary"] = lambda _: ok(said)
        done = run(place, "tell", event("PostToolUse", "/x", tool_name="Bash"))
        assert (done.returncode, done.stderr, json.loads(done.stdout)) == (0, b"", said)
        asked = {"hook_event_name": "PostToolUse", "cwd": "/x", "session_id": "s1"}
        assert there.heard == [("primary", {**asked, "tool_name": "Bash"})]


@pytest.mark.parametrize(
    "answer",
    [ok({}), ok({"kind": "denied"}, status=403), ok({"a": "b"}, cut=1), b"", b"nonsense\r\n\r\n"],
    ids=["no opinion", "refused", "cut off", "nothing", "nonsense"],
)
@pytest.mark.parametrize("name", ["SessionStart", "PreToolUse"])
def test_without_a_whole_good_answer_it_is_silent(place: Path, answer: bytes, name: str) -> None:
    (place / ".git").mkdir()
    (place / ".windlass").mkdir()
    with daemon(place) as there:
        there.answers["primary"] = lambda _: answer
        assert silent(run(place, "tell", event(name, place)))
        assert len(there.heard) == 1


def test_a_daemon_that_takes_too_long_is_not_waited_for(place: Path) -> None:
    with daemon(place) as there:
        there.answers["primary"] = lambda _: None
        assert silent(run(place, "tell", event("PreToolUse", place)))
        assert there.gone.wait(60)


@pytest.mark.parametrize("mode", ["tell", "wait"])
def test_in_an_agents_own_session_it_asks_nobody(place: Path, mode: str) -> None:
    with daemon(place) as there:
        assert silent(run(place, mode, event("SessionStart", place), WINDLASS_AGENT="api"))
        assert there.heard == []


@pytest.mark.parametrize("body", [b"", b"no json", b"[]", b'{"hook_event_name": "SessionStart"}'])
@pytest.mark.parametrize("mode", ["tell", "wait", "nonsense"])
def test_whatever_goes_wrong_it_is_silent(place: Path, mode: str, body: bytes) -> None:
    assert silent(run(place, mode, body))


def test_without_a_daemon_a_session_in_a_repository_of_ours_still_gets_its_instructions(
    place: Path,
) -> None:
    inside = place / "repo" / "deep" / "down"
    inside.mkdir(parents=True)
    (place / ".windlass").mkdir()  # around the repository, not in it
    (place / "repo" / ".git").write_text("gitdir: elsewhere\n")
    assert silent(run(place, "tell", event("SessionStart", inside)))
    (place / "repo" / ".windlass").mkdir()
    done = run(place, "tell", event("SessionStart", inside, source="startup"))
    assert json.loads(done.stdout) == {
        "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "how to ü\n"}
    }
    assert silent(run(place, "tell", event("UserPromptSubmit", inside)))
    assert silent(run(place, "tell", event("PostToolUse", inside, text='"SessionStart"')))
    # As after a kill -9: there is a socket, and nobody behind it.
    left = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    left.bind(str(place / "api"))
    left.close()
    assert run(place, "tell", event("SessionStart", inside)).stdout == done.stdout


def test_notices_wake_the_session_and_only_then_leave_the_queue(place: Path) -> None:
    with daemon(place) as there:
        there.answers["listen"] = lambda _: ok({"notices": [NOTICE], "why": "notices"})
        there.answers["taken"] = lambda _: ok({"taken": 1})
        started = waiting(place)
        out, err = started.communicate(timeout=20)
        assert (started.returncode, out) == (2, b"")
        first, line, advice = err.decode().splitlines()
        assert (first, line) == ("[windlass] News of your crew:", NOTICE["line"])
        assert "wl merge" in advice
        who = {"cwd": str(place), "route": "rewake", "listener": "s1"}
        assert there.heard == [("listen", who), ("taken", {**who, "numbers": [7]})]


@pytest.mark.parametrize("why", ["replaced", "ended", "timeout", "busy"])
def test_one_that_is_sent_away_ends_in_silence(place: Path, why: str) -> None:
    with daemon(place) as there:
        there.answers["listen"] = lambda _: ok({"notices": [], "why": why})
        assert silent(run(place, "wait", event("Stop", place)))


@pytest.mark.parametrize(
    "answer",
    [ok({"kind": "usage"}, status=400), ok({"kind": "internal"}, status=500)],
    ids=["unknown repository", "a defect"],
)
def test_one_that_is_refused_does_not_ask_again(place: Path, answer: bytes) -> None:
    with daemon(place) as there:
        there.answers["listen"] = lambda _: answer
        assert silent(run(place, "wait", event("Stop", place)))
        assert len(there.heard) == 1


def test_a_subagents_event_waits_for_nothing(place: Path) -> None:
    with daemon(place) as there:
        assert silent(run(place, "wait", event("Stop", place, agent_id="a1")))
        assert there.heard == []


def test_it_waits_through_a_daemon_that_goes_and_comes_back(place: Path) -> None:
    started = waiting(place)  # none is there yet
    with daemon(place) as there:
        stops = ok({"kind": "unavailable"}, status=500)
        there.answers["listen"] = lambda _: stops if len(there.heard) > 1 else ok({"x": 1}, cut=3)
        until(lambda: len(there.heard) >= 3)
    with daemon(place) as there:
        there.answers["listen"] = lambda _: ok({"notices": [NOTICE], "why": "notices"})
        there.answers["taken"] = lambda _: ok({}, cut=1) if len(there.heard) < 4 else ok({})
        _, err = started.communicate(timeout=20)
        assert started.returncode == 2
        assert b"done" in err
        assert [verb for verb, _ in there.heard] == ["listen", "taken", "taken", "taken"]


def test_it_ends_with_the_process_that_started_it(place: Path) -> None:
    line = 'import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:], stdin=open("in")))'
    (place / "in").write_bytes(event("Stop", place))
    with daemon(place) as there:
        there.answers["listen"] = lambda _: None
        session = subprocess.Popen(
            [sys.executable, "-c", line, *argv(place, "wait")], cwd=place, env=environment()
        )
        until(lambda: bool(there.heard))
        session.send_signal(signal.SIGKILL)
        session.wait(60)
        assert there.gone.wait(60), "the hook outlived its session"


def test_it_ends_when_nobody_is_left_to_read_what_it_says(place: Path) -> None:
    """As when the session was gone before it began, and its parent is another one for good."""
    with daemon(place) as there:
        there.answers["listen"] = lambda _: None
        started = waiting(place)
        until(lambda: bool(there.heard))
        assert started.stdout is not None
        assert started.stderr is not None
        started.stdout.close()
        started.stderr.close()
        assert started.wait(60) == 0
        assert there.gone.wait(60)


@pytest.mark.parametrize("name", ["SessionStart", "Stop"])
def test_a_session_that_nobody_sits_at_is_not_kept_from_ending(place: Path, name: str) -> None:
    with daemon(place) as there:
        assert silent(run(place, "wait", event(name, place), CLAUDE_CODE_ENTRYPOINT="sdk-cli"))
        assert there.heard == []
        there.answers["listen"] = lambda _: ok({"notices": [], "why": "ended"})
        assert silent(run(place, "wait", event(name, place), CLAUDE_CODE_ENTRYPOINT="cli"))
        assert len(there.heard) == 1
