"""`wl notify` and `wl listen` as programs: woken, killed, in a crowd, and without their daemon."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.ground import WL, Done, Ground, grounded, until

pytestmark = pytest.mark.slow
STAY = {"text": "WAITING"}
_names = itertools.count()


@pytest.fixture(scope="module")
def shared() -> Iterator[Ground]:
    """One daemon for all of them."""
    with grounded() as made:
        made.unbox()
        yield made


class Shop:
    """A repository of its own for one test."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.root = ground.repository(f"shop{next(_names)}")
        self.ask("repo.add", repo=str(self.root))

    def ask(self, verb: str, **request: Any) -> Any:
        """Asks the daemon from inside of it."""
        return self.ground.ask(verb, **{"cwd": str(self.root), **request})

    def wl(self, *args: str, **more: Any) -> Done:
        """Runs `wl` in it."""
        return self.ground.wl(*args, **{"cwd": self.root, **more})

    def listen(self, *args: str, cwd: Path | None = None) -> subprocess.Popen[str]:
        """Starts a listener, and returns when it waits."""
        process = self.ground.start("listen", *args, cwd=cwd or self.root)
        self.until_waiting()
        return process

    def waits(self) -> bool:
        """Whether somebody waits."""
        request = {"route": "listen", "listener": "probe", "timeout": 0}
        return bool(self.ask("listen", **request)["why"] == "busy")

    def until_waiting(self) -> None:
        """Returns when somebody waits."""
        until(self.waits, what="a listener")

    def new(self, name: str, *turns: dict[str, Any], flags: tuple[str, ...] = ()) -> None:
        """Starts a stand-in here."""
        script = self.ground.script(f"{self.root.name}-{name}", *turns)
        self.wl(
            "new", "-q", "--driver", "standin", "--name", name, "--script", script, *flags, "go"
        ).ok()


@pytest.fixture
def shop(shared: Ground) -> Shop:
    """A repository that the daemon knows."""
    return Shop(shared)


def told(out: str) -> list[tuple[str, str, str]]:
    lines = [json.loads(line) for line in out.splitlines()]
    return [(line["from"], line["type"], line["msg"]) for line in lines]


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


def test_a_waiting_listener_prints_what_a_root_and_its_worker_come_to(shop: Shop) -> None:
    listener = shop.listen(cwd=_below(shop))
    shop.new("lead", STAY, flags=("--manager",))
    code, out, err = ended(listener)
    assert (code, err) == (0, "")
    assert told(out) == [("lead", "waiting", "Manager lead is waiting for input")]
    shop.new("hand", STAY, flags=("--parent", "lead"))
    shop.new("lone", {"crash": 9})
    heard: dict[str, tuple[str, str]] = {}
    while "lone" not in heard:
        found = told(shop.wl("listen", "--timeout", "20").ok().out)
        heard |= {who: (kind, text) for who, kind, text in found}
    kind, text = heard["lone"]
    assert kind == "waiting"
    assert "wl resume lone" in text
    assert "hand" not in heard  # its manager is told, and may well wait again after that


def _below(shop: Shop) -> Path:
    folder = shop.root / "src" / "deep"
    folder.mkdir(parents=True)
    return folder


def test_an_agent_speaks_for_itself_and_cannot_listen(shop: Shop) -> None:
    say = "wl notify --from hen --type question 'half way'; wl listen; echo \"ended $?\" >said"
    shop.new("fox", {"tool": "Bash", "input": {"command": say}}, STAY)
    until(lambda: shop.ask("why", agent="fox")["state"] == "waiting", within=30)
    found = told(shop.wl("listen").ok().out)
    assert found[0] == ("fox", "question", "half way")
    said = Path(shop.ask("info", agent="fox")["workspace"]) / "said"
    assert said.read_text() == "ended 7\n"


def test_a_text_from_stdin_arrives_as_it_is(shop: Shop) -> None:
    text = 'two "lines"\n\\ and\ttabs \x1b[31m 😀'
    posted = shop.wl(
        "notify", "--type", "waiting", "--from", "ci", "-", "--json", stdin=text + "\n"
    )
    printed = shop.wl("listen").ok().out
    assert told(printed) == [("ci", "waiting", text)]
    assert "\x1b" not in printed
    assert posted.ok().json()["line"] == printed.strip()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("notify", "--type", "stuck", "x"), "invalid choice"),
        (("notify",), "nothing to say"),
        (("notify", "-"), "nothing to say"),
        (("notify", "--from", "a\nb", "x"), "cannot be a sender"),
        (("listen", "--timeout", "soon"), "not a duration"),
        (("listen", "--timeout", "99999999d"), "too long"),
        (("config", "set", "notify.command", "true"), "your own configuration"),
    ],
)
def test_what_makes_no_sense_is_refused(shop: Shop, words: tuple[str, ...], problem: str) -> None:
    assert problem in shop.wl(*words).failed(2).err


def test_the_person_s_own_configuration_takes_a_command(shop: Shop) -> None:
    heard = shop.ground.folder / "heard"
    shop.wl("config", "set", "--global", "notify.command", f"cat >>'{heard}'").ok()
    shop.wl("notify", "ring").ok()
    until(lambda: heard.exists() and heard.read_text().endswith("\n"), what="the bell")
    shop.wl("config", "remove", "--global", "notify.command").ok()
    assert told(heard.read_text()) == told(shop.wl("listen").ok().out)


def test_the_second_listener_says_so_and_ends_well(shop: Shop) -> None:
    first = shop.listen()
    second = shop.wl("listen").ok()
    assert second.out == ""
    assert f"process {first.pid}" in second.err
    assert shop.wl("listen", "--json").ok().json() == {"why": "busy", "pid": first.pid}
    shop.wl("notify", "news").ok()
    assert told(ended(first)[1]) == [("user", "complete", "news")]


def test_killed_between_taking_and_printing_a_listener_loses_nothing(shop: Shop) -> None:
    reading, writing = os.pipe()
    room = fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ)
    os.write(writing, b"x" * room)  # nobody reads: the listener cannot print
    stuck = subprocess.Popen(
        [WL, "listen"], cwd=shop.root, env=shop.ground.env, stdin=subprocess.DEVNULL, stdout=writing
    )
    shop.until_waiting()
    shop.wl("notify", "precious").ok()
    until(lambda: not shop.waits(), what="a listener that was given the notice")
    stuck.kill()
    stuck.wait()
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"x" * room
    assert told(shop.wl("listen").ok().out) == [("user", "complete", "precious")]
    assert "No messages" in shop.wl("listen", "--timeout", "0").ok().out


def test_a_listener_outlives_its_daemon_however_that_ends(shop: Shop) -> None:
    listener = shop.listen()
    shop.ground.kill_daemon()
    until(lambda: shop.ground.daemon_pid() is not None, what="the next daemon")
    shop.until_waiting()
    shop.wl("daemon", "stop").ok()
    assert listener.poll() is None
    shop.until_waiting()
    shop.wl("notify", "still there?").ok()
    assert told(ended(listener)[1]) == [("user", "complete", "still there?")]


def test_who_stops_the_daemon_is_not_contradicted_by_a_listener(shop: Shop) -> None:
    listener = shop.listen("--timeout", "2")
    shop.wl("daemon", "stop").ok()
    code, out, err = ended(listener)
    assert (code, err) == (0, "")
    assert out.startswith("No messages received.")
    assert "wl listen" in out
    assert shop.ground.daemon_pid() is None


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_listener_that_is_told_to_end_ends_and_makes_room(
    shop: Shop, number: int, code: int
) -> None:
    listener = shop.listen()
    listener.send_signal(number)
    assert ended(listener) == (code, "", "")
    until(lambda: not shop.waits(), what="room")


def test_the_end_of_everybody_ends_the_listener(shop: Shop) -> None:
    shop.new("fox", STAY)
    assert told(shop.wl("listen").ok().out)[0][0] == "fox"
    listener = shop.listen()
    shop.wl("nuke", "--force").ok()
    code, out, err = ended(listener)
    assert (code, err) == (0, "")
    assert "Everybody here was ended" in out


def test_many_at_once_lose_and_double_nothing(shop: Shop) -> None:
    writers = [shop.ground.start("notify", f"n{n}", cwd=shop.root) for n in range(8)]
    heard: list[str] = []
    while len(heard) < 8:
        heard += [text for _, _, text in told(shop.wl("listen", "--timeout", "20").ok().out)]
    assert [ended(one)[0] for one in writers] == [0] * 8
    assert sorted(heard) == [f"n{n}" for n in range(8)]
