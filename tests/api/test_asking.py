"""Following goes on through every end of a daemon, and only what was killed is started again."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.api.conftest import Fake

from windlass.api import calls, client, daemon_start
from windlass.core.errors import Unavailable

OK = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n"

Fakes = Callable[..., Fake]


def events(*ids: int) -> bytes:
    return OK + b"".join(b'id: %d\ndata: {"id":%d}\n\n' % (number, number) for number in ids)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was started instead of a daemon."""
    made: list[str] = []
    monkeypatch.setattr(daemon_start, "start", lambda *_: made.append("daemon"))
    return made


def test_a_stream_that_breaks_goes_on_after_its_last_whole_event(
    fake: Fakes, started: list[str]
) -> None:
    daemon = fake(events(1, 2) + b'data: {"id":3', b"", events(3), events(4))
    following = calls.follow(0)
    assert [next(following)["id"] for _ in range(4)] == [1, 2, 3, 4]
    daemon.join()
    after = [asked.partition(b"after=")[2].partition(b"&")[0] for asked in daemon.asked]
    assert after == [b"0", b"2", b"2", b"3"]
    assert started == []


def test_following_from_now_on_loses_nothing_when_the_first_stream_breaks(
    fake: Fakes, started: list[str]
) -> None:
    daemon = fake(OK + b'[{"id": 5}]', b"", events(6))
    assert next(calls.follow(None))["id"] == 6
    assert b"after=5" in daemon.asked[1]
    assert b"after=5" in daemon.asked[2]
    assert started == []


def test_a_daemon_that_was_stopped_is_waited_for_and_not_started(
    fake: Fakes, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = threading.Event()

    def noticed() -> bool:
        absent.set()
        return False

    monkeypatch.setattr(daemon_start, "answers", noticed)
    first = fake(events(1))
    seen: list[int] = []
    following = calls.follow(0)

    def read() -> None:
        seen.extend(next(following)["id"] for _ in range(2))

    reading = threading.Thread(target=read)
    reading.start()
    first.join()
    first.stop()
    assert absent.wait(60), "the follower did not notice"
    fake(events(2))
    reading.join(60)
    assert seen == [1, 2]
    assert started == []


def test_a_daemon_that_was_killed_is_started_again(
    fake: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Fake] = []
    monkeypatch.setattr(daemon_start, "start", lambda *_: made.append(fake(events(2))))
    first = fake(events(1))
    following = calls.follow(0)
    assert next(following)["id"] == 1
    first.join()
    first.die()
    assert next(following)["id"] == 2
    assert len(made) == 1


def test_a_daemon_that_stays_away_is_not_waited_for_for_ever(
    short: Path, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert short.exists()
    monkeypatch.setattr(calls, "_ABSENCE", 0.0)
    with pytest.raises(Unavailable, match="stopped and stayed away"):
        next(calls.follow(0))
    assert started == []


def test_streams_that_only_ever_break_are_given_up(
    fake: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "_FRUITLESS", 3)
    daemon = fake(OK, OK, OK)
    with pytest.raises(Unavailable, match="breaks off every event stream"):
        next(calls.follow(0))
    daemon.join()


def test_a_follower_whose_agent_has_ended_is_told(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDLASS_SOCKET", str(short / "rt" / "none"))
    monkeypatch.setattr(daemon_start, "answers", lambda: True)
    with pytest.raises(Unavailable, match="its agent has ended"):
        next(calls.follow(0))


def test_a_request_is_sent_again_under_the_same_key(
    fake: Fakes, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = fake(b"", OK + b"[]")
    assert calls.ask("agents", manager=None, ended=True) == []
    daemon.join()
    bodies = [asked.partition(b"\r\n\r\n")[2] for asked in daemon.asked]
    assert bodies[0] == bodies[1]
    assert b"manager" not in bodies[0]
    assert started == ["daemon"]
    daemon.die()
    monkeypatch.setattr(calls, "_TRIES", 2)
    with pytest.raises(Unavailable, match="keeps going away; nothing was asked of it"):
        calls.ask("agents")


def test_a_request_that_is_out_is_asked_after_until_a_daemon_starts(
    fake: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first daemon dies with it, the next two as they start; the fourth knows it."""
    answers = iter((None, None, OK + b'{"sent": [1]}'))
    first = fake(b"")

    def start(*_: object) -> None:
        first.die()
        answer = next(answers)
        if answer is None:
            raise Unavailable("the daemon died as it started")
        fake(answer)

    monkeypatch.setattr(daemon_start, "start", start)
    monkeypatch.setattr(calls, "_BETWEEN_STARTS", 0.0)
    assert calls.ask("send", text="hello") == {"sent": [1]}


def test_what_cannot_be_known_is_said_and_what_was_never_asked_too(
    fake: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = fake(b"")

    def start(*_: object) -> None:
        daemon.die()
        raise Unavailable("the daemon cannot start: no room")

    monkeypatch.setattr(daemon_start, "start", start)
    monkeypatch.setattr(calls, "_KNOWN_WITHIN", 0.0)
    with pytest.raises(Unavailable, match=r"not known whether this was done: .*no room") as said:
        calls.ask("send", text="hello")
    assert "wl log" in said.value.hint
    with pytest.raises(Unavailable, match=r"^the daemon cannot start: no room"):
        calls.ask("send", text="hello")


@pytest.mark.parametrize(("answer", "told"), [(b"", client.LetGo), (None, KeyboardInterrupt)])
def test_who_interrupts_while_a_daemon_is_started_again_lets_go_of_what_is_out(
    fake: Fakes, monkeypatch: pytest.MonkeyPatch, answer: bytes | None, told: type[BaseException]
) -> None:
    if answer is not None:
        fake(answer)

    def start(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(daemon_start, "start", start)
    with pytest.raises(KeyboardInterrupt) as raised:
        calls.ask("send", text="hello")
    assert raised.type is told


def test_starting_notices_at_once_that_a_daemon_has_ended(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is shutting down answers no more and still holds its lock for a moment."""
    held = [True, True, False]
    asked: list[str] = []
    monkeypatch.setattr(daemon_start, "answers", lambda: False)
    monkeypatch.setattr(
        daemon_start, "running", lambda: {} if len(held) > 1 and held.pop(0) else None
    )
    monkeypatch.setattr(daemon_start, "_start_detached", lambda _: asked.append("start"))
    monkeypatch.setattr("time.monotonic", iter(range(1, 5)).__next__)
    daemon_start.start()
    assert asked == ["start"]
    assert (short / "state" / "starting.lock").exists()


READY = "import os; os.write(3, b'{\"pid\": 1}\\n')"
HOME = "import os, pathlib; home = pathlib.Path(os.environ['WINDLASS_HOME'])"
DEATH = "os.kill(os.getpid(), 9)"


def program(*lines: str) -> tuple[str, ...]:
    """What is started in the place of the daemon."""
    return (sys.executable, "-c", "\n".join((HOME, *lines)))


def test_a_daemon_finds_a_state_folder_whose_name_is_relative(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It changes to the root folder as it starts."""
    monkeypatch.chdir(short)
    monkeypatch.setenv("WINDLASS_HOME", "fresh")
    touch = "(home / 'found').touch()"
    monkeypatch.setattr(daemon_start, "_PROGRAM", program(touch, READY))
    daemon_start.start()
    assert (short / "fresh" / "found").exists()


def test_a_daemon_that_is_killed_as_it_starts_is_started_again(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = "(home / 'again').exists() or (home / 'again').touch() or " + DEATH
    monkeypatch.setattr(daemon_start, "_PROGRAM", program(killed, READY))
    daemon_start.start()
    assert (short / "state" / "again").exists()


def test_a_daemon_that_is_killed_every_time_is_given_up(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert short.exists()
    monkeypatch.setattr(daemon_start, "_PROGRAM", program(DEATH))
    with pytest.raises(Unavailable, match="killed twice as it started"):
        daemon_start.start()


def test_who_starts_a_daemon_is_told_what_it_waits_for(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = (
        "import fcntl, json, time",
        "lock = open(home / 'daemon.lock', 'w')",
        "fcntl.flock(lock, fcntl.LOCK_EX)",
        "lock.write(json.dumps({'pid': os.getpid(), 'waits': 'git (pid 7)'}))",
        "lock.flush()",
        "while not (home / 'told').exists(): time.sleep(0.01)",
    )
    monkeypatch.setattr(daemon_start, "_PROGRAM", program(*waiting, READY))
    told: list[str] = []

    def tell(what: str) -> None:
        told.append(what)
        (short / "state" / "told").touch()

    daemon_start.start(tell)
    assert told == ["the daemon waits for git (pid 7)"]


def test_a_daemon_that_says_what_it_waits_for_is_not_taken_for_deaf(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert short.exists()
    told: list[str] = []
    monkeypatch.setattr(daemon_start, "running", lambda: {"pid": 1, "waits": "git (pid 7)"})
    monkeypatch.setattr(daemon_start, "answers", iter([False] * 4 + [True] * 2).__next__)
    monkeypatch.setattr("time.monotonic", iter(range(0, 100, 10)).__next__)
    monkeypatch.setattr(daemon_start, "stop", lambda: pytest.fail("it was stopped"))
    daemon_start.start(told.append)
    assert told == ["the daemon waits for git (pid 7)"]


CONFLICT = {"kind": "conflict", "message": "its lock was moved away", "hint": "look at it"}
REFUSED = (
    f"(home / 'said').touch(); import os; os.write(3, {json.dumps(CONFLICT).encode()!r} + b'\\n')"
)


def test_what_a_daemon_says_of_its_lock_is_told_at_once_where_no_other_one_starts(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert short.exists()
    monkeypatch.setattr(daemon_start, "_PROGRAM", program(REFUSED))
    monkeypatch.setattr(daemon_start, "_PATIENCE", 60.0)
    began = time.monotonic()
    with pytest.raises(Unavailable, match="cannot start: its lock was moved away") as refused:
        daemon_start.start()
    assert refused.value.hint == "look at it"
    assert time.monotonic() - began < 30


def test_a_daemon_of_somebody_else_that_was_faster_is_waited_for(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = short / "state" / "said"
    looks = iter(range(100))
    monkeypatch.setattr(daemon_start, "_PROGRAM", program(REFUSED))
    monkeypatch.setattr(daemon_start, "running", lambda: {"pid": 1} if said.exists() else None)
    monkeypatch.setattr(daemon_start, "answers", lambda: said.exists() and next(looks) > 3)
    daemon_start.start()
    assert next(looks) > 3


def test_a_daemon_that_fails_as_it_starts_is_not_started_again(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = program("(home / 'tries').open('a').write('x')", "raise OSError('no room')")
    monkeypatch.setattr(daemon_start, "_PROGRAM", failing)
    with pytest.raises(Unavailable, match="died as it started: OSError: no room"):
        daemon_start.start()
    assert (short / "state" / "tries").read_text() == "x"


@pytest.mark.parametrize("identity", [None, "0.0.9+1.00000000"])
def test_a_daemon_of_another_identity_is_stopped_before_one_is_started(
    short: Path, monkeypatch: pytest.MonkeyPatch, identity: str | None
) -> None:
    """One from before there were identities has none in its note."""
    assert short.exists()
    done: list[str] = []
    note = {"pid": 1, "version": "0.1.0"} | ({"identity": identity} if identity else {})
    monkeypatch.setattr(daemon_start, "running", lambda: note)
    monkeypatch.setattr(daemon_start, "_end", lambda: done.append("stop"))
    monkeypatch.setattr(daemon_start, "_start_unless_it_answers", lambda _: done.append("start"))
    daemon_start.replace(client.VersionMismatch("0.1.0", 1))
    assert done == ["stop", "start"]


def test_a_daemon_that_is_slow_is_not_taken_for_deaf(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert short.exists()

    def slow(*_: object, **__: object) -> None:
        raise client.Gone("timed out") from TimeoutError()

    monkeypatch.setattr(client, "ask", slow)
    assert daemon_start.answers()
