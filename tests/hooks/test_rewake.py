"""The waiting hook of an agent's session, run as an agent CLI runs it, against a small server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.hooks.conftest import HOOKS, until
from tests.hooks.test_primary import Daemon, daemon

TEXT = '[sent by agent fox]: "grüße" \x1b[31m 👩‍🚀\nC-c Enter\n\n[message msg-0123456789]'


def answer(value: Any, status: bytes = b"200 OK") -> bytes:
    """What the daemon would say."""
    body = json.dumps(value).encode()
    head = b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    return head % (status, len(body)) + body


def started(place: Path) -> subprocess.Popen[bytes]:
    """The hook, as the session's process starts it."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(HOOKS / "rewake.py"), str(place / "api"), "3"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b'{"hook_event_name": "Stop"}')
    process.stdin.close()
    process.stdin = None
    return process


def ended(process: subprocess.Popen[bytes]) -> tuple[int, bytes, bytes]:
    """How it ended and what it said."""
    out, err = process.communicate(timeout=20)
    return process.returncode, out, err


@pytest.fixture
def waiting(place: Path) -> Iterator[Daemon]:
    """A daemon on the agent's socket, which has no mail."""
    with daemon(place) as running:
        running.answers["mail.wait"] = lambda _: None
        yield running


def test_mail_is_printed_whole_and_wakes_the_session(place: Path) -> None:
    long = TEXT + "x" * 200_000
    with daemon(place) as running:
        running.answers["mail.wait"] = lambda _: answer({"text": long})
        assert ended(started(place)) == (2, b"", long.encode())
        ((verb, asked),) = running.heard
    assert (verb, asked["session"]) == ("mail.wait", 3)


@pytest.mark.parametrize("text", [None, ""])
def test_a_hook_that_is_let_go_ends_in_silence(place: Path, text: str | None) -> None:
    with daemon(place) as running:
        running.answers["mail.wait"] = lambda _: answer({"text": text})
        assert ended(started(place)) == (0, b"", b"")


def test_half_an_answer_is_no_answer_and_is_asked_for_again_by_the_same_name(place: Path) -> None:
    whole = answer({"text": TEXT})
    answers = [b"", whole[:20], whole[:-3], answer({"kind": "internal"}, b"500 Error"), whole]
    with daemon(place) as running:
        running.answers["mail.wait"] = lambda _: answers.pop(0)
        assert ended(started(place)) == (2, b"", TEXT.encode())
        names = {asked["arm"] for _, asked in running.heard}
        assert len(running.heard) == 5
    assert len(names) == 1


def test_two_hooks_have_two_names(place: Path) -> None:
    with daemon(place) as running:
        running.answers["mail.wait"] = lambda _: answer({"text": None})
        for process in (started(place), started(place)):
            ended(process)
        assert len({asked["arm"] for _, asked in running.heard}) == 2


def test_a_daemon_that_comes_later_is_found(place: Path) -> None:
    process = started(place)
    until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_SLEEPING)
    with daemon(place) as running:
        running.answers["mail.wait"] = lambda _: answer({"text": TEXT})
        assert ended(process) == (2, b"", TEXT.encode())


def test_a_hook_whose_reader_is_gone_ends_while_it_waits(place: Path, waiting: Daemon) -> None:
    process = started(place)
    until(lambda: waiting.heard)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stderr.close()
    assert process.wait(20) == 0
    assert waiting.gone.wait(60), "it holds on to its connection"


def test_a_hook_whose_session_was_killed_ends_while_it_waits(place: Path, waiting: Daemon) -> None:
    """The session's process is its parent, and the only one that reads what it prints."""
    session = (
        "import subprocess, sys; p = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL,"
        " stderr=subprocess.PIPE); print(p.pid, flush=True); p.wait()"
    )
    argv = [sys.executable, "-I", "-S", str(HOOKS / "rewake.py"), str(place / "api"), "3"]
    with subprocess.Popen(
        [sys.executable, "-I", "-c", session, *argv], stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        hook = psutil.Process(int(parent.stdout.readline()))
        until(lambda: waiting.heard)
        parent.kill()
    hook.wait(20)
    assert waiting.gone.wait(60)
