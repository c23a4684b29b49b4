"""Mail in a storm: agents and a person write to each other while daemon and sessions die with -9.

Sessions are killed at moments that the seed chooses, the daemon too, or right after it wrote down
what it was about to offer. What was kept is compared with what stands in the conversations, which
are read here by other means than the product's: each message once, in one of them, whole and in
order, or not at all and with a reason.
"""

from __future__ import annotations

import json
import random
import re
import signal
import sqlite3
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest
from tests.support import nursery
from tests.support.ground import Ground, end, grounded, until

from windlass.api import client
from windlass.core.errors import WindlassError

pytestmark = pytest.mark.slow

CREW = [f"a{number}" for number in range(10)]
ROUTES = ("rewake", "context", "stdin", "paste")
MARK = re.compile(r"\[message (msg-\w+)\]")
ARRIVED = ("delivered", "read", "acked")
GIVEN_UP = ("failed", "expired", "collapsed")
_LONG = 3.0
"""Seconds after which what was offered is not on its way any more, on a machine that is not full:
only who has no time to wait for what is proven believes it."""


def bash(command: str) -> dict[str, Any]:
    """An entry that runs a command."""
    return {"tool": "Bash", "input": {"command": command}}


class Kept(NamedTuple):
    """A message as the store has it."""

    number: int
    id: str
    sender_id: str
    recipient_id: str
    urgent: bool
    body: str
    state: str
    reason: str
    offered_for: float
    sender: str


class Storm:
    """Ten agents, a person, and bad luck."""

    def __init__(self, ground: Ground, seed: int, messages: int) -> None:
        self.ground = ground
        self.dice = random.Random(seed)  # noqa: S311 - a storm that can be repeated
        self.sent: dict[str, list[str]] = {}
        """What the person said, and the messages that the daemon said it became."""
        self.points = ground.folder / "failpoints"
        self.points.mkdir()
        ground.env["WINDLASS_FAILPOINTS"] = str(self.points)
        with (ground.state / "config.toml").open("a") as config:
            config.write("\n[mail]\nrate = 100000\ninbox = 10000\n")
        nursery.start(ground.env)
        ground.warm = False
        by_agents = messages // 5
        self.hands = ThreadPoolExecutor(4)
        list(self.hands.map(self.ask, repeat("spawn"), self._crew(by_agents)))
        self.left = messages - by_agents

    def _crew(self, messages: int) -> Iterator[dict[str, Any]]:
        """Every other agent is headless; each sends its part of the messages."""
        for number, name in enumerate(CREW):
            turns = self._turns(name, list(range(number, messages, len(CREW))))
            yield {
                "name": name,
                "driver": "standin",
                "script": self.ground.script(name, *turns),
                "mode": "headless" if number % 2 else "live",
                "goal": f"be {name}",
            }

    def _turns(self, name: str, mine: list[int]) -> list[dict[str, Any]]:
        """Sends of an agent's own, some in one turn, and work between messages."""
        turns: list[dict[str, Any]] = []
        for number in mine:
            to = self.dice.choice([one for one in CREW if one != name])
            urgent = "--urgent " if self.dice.random() < 0.2 else ""
            # A plain line: while no daemon answers, the policy hook allows nothing else.
            said = f"wl send {urgent}{to} {name} says number {number}."
            turns += [bash("true"), {"pause": 0.2}, bash(said), bash("true")]
            if self.dice.random() < 0.5:
                turns += [{"text": "I wait.\n\nWAITING"}, {"await": "message"}]
        return [*turns, {"text": "I rest.\n\nWAITING"}]

    def ask(self, verb: str, request: dict[str, Any]) -> Any:
        """Asks as `wl` does: under a key, and again where the daemon died over it."""
        whole = {"cwd": str(self.ground.folder / "repo"), "key": str(uuid.uuid4()), **request}
        for _ in range(20):
            for path in self.ground.runtime.glob("windlass/*/person.sock"):
                try:
                    return client.ask(verb, whole, path=str(path), timeout=60.0)
                except client.Gone:
                    continue
            nursery.start(self.ground.env)
        raise AssertionError(f"no daemon answers {verb}")

    def blow(self) -> None:
        """Sends everything, with something dying now and then."""
        while self.left > 0:
            self._send()
            luck = self.dice.random()
            if luck < 0.04:
                self._kill_daemon()
            elif luck < 0.12:
                self._kill_session(self.dice.choice(CREW))
            elif luck < 0.18:
                (self.points / f"mail.{self.dice.choice(ROUTES)}.offered").touch()
            elif luck < 0.19:
                self.ground.tmux("kill-server")
            elif luck < 0.30:
                self.hands.submit(self._resume, self.dice.choice(CREW))
        self.hands.shutdown()

    def _send(self) -> None:
        to = self.dice.sample(CREW, self.dice.choice((1, 1, 1, 3)))
        text = f"the person says number {self.left}. " + "x" * self.dice.choice((0, 10, 4000))
        self.left -= len(to)
        request = {"agent": ",".join(to), "text": text, "urgent": self.dice.random() < 0.2}
        done = self.ask("send", {**request, "wake": self.dice.random() < 0.1})
        self.sent[text] = [one["id"] for one in done["messages"]]
        # A random moment of what now happens, not something to wait for.
        time.sleep(self.dice.choice((0.0, 0.0, 0.01, 0.03, 0.1, 0.2)))

    def _kill_daemon(self) -> None:
        daemon = self.ground.living_daemon()
        if daemon is not None:  # else it died by itself a moment ago
            end([daemon])

    def _kill_session(self, name: str) -> None:
        pid = self.ask("info", {"agent": name})["pid"]
        if pid is not None:
            with suppress(psutil.NoSuchProcess):  # it ended by itself a moment ago
                psutil.Process(pid).send_signal(signal.SIGKILL)

    def _resume(self, name: str) -> None:
        with suppress(WindlassError):  # it runs, or has not been seen to have ended
            self.ask("resume", {"agent": name})

    def calm(self, *, patient: bool) -> None:
        """Lets everything come to rest: everybody is awake, and nothing is queued any more.

        What was offered by a daemon that then died is missed only after long silence; whoever has
        no time for that ends the sessions, which proves it at once.
        """
        for point in self.points.iterdir():
            point.unlink(missing_ok=True)
        end = time.monotonic() + (150 if patient else 60)
        while waiting := [one for one in self.kept() if one.state == "queued"]:
            for name in {one.recipient_id for one in waiting}:
                if self._state(name) == "stopped":
                    self._resume(name)
            silent = {one.recipient_id for one in waiting if one.offered_for > _LONG}
            for name in () if patient else silent:
                self._kill_session(name)
            assert time.monotonic() < end, waiting
            self.ask("receipts", {"messages": [one.id for one in waiting], "timeout": 1.0})
        until(self._all_rest, within=60, what="everybody at rest")

    def _state(self, name: str) -> str:
        return str(self.ask("why", {"agent": name})["state"])

    def _all_rest(self) -> bool:
        return all(self._state(name) in ("waiting", "complete", "stopped") for name in CREW)

    def kept(self) -> list[Kept]:
        """Every message between agents, and of the person to them, as they were sent."""
        connection = sqlite3.connect(self.ground.state / "windlass.db")
        try:
            return [
                Kept(*row)
                for row in connection.execute(
                    "SELECT number, id, sender_id, recipient_id, urgent, body, state, reason, "
                    "? - coalesce(json_extract(offer, '$.at'), ?), sender FROM messages "
                    "WHERE recipient != 'user' ORDER BY number",
                    (time.time(), time.time()),
                )
            ]
        finally:
            connection.close()

    def judge(self) -> None:
        """The promise, from the conversations themselves."""
        kept = {one.id: one for one in self.kept()}
        shown = {name: list(self._shown(name)) for name in CREW}
        count = Counter(number for texts in shown.values() for number, _ in texts)
        for text, numbers in self.sent.items():
            found = sorted(one.id for one in kept.values() if one.body == text)
            assert found == sorted(numbers), f"accepted twice or never: {text[:40]!r}"
        assert set(count) <= set(kept), "a conversation has what nobody sent"
        for one in kept.values():
            assert one.state in (*ARRIVED, *GIVEN_UP), one
            assert count[one.id] == (one.state in ARRIVED), (one, count[one.id])
            assert one.reason or one.state in ARRIVED, one
        for name, texts in shown.items():
            for number, text in texts:
                assert kept[number].recipient_id == name, (number, name)
                assert f"]: {kept[number].body}\n\n[message {number}]" in text, (number, text[:300])
            self._in_order([kept[number] for number, _ in texts])

    def _in_order(self, heard: list[Kept]) -> None:
        for pair in {(one.sender, one.urgent) for one in heard}:
            numbers = [one.number for one in heard if (one.sender, one.urgent) == pair]
            assert numbers == sorted(numbers), (heard[0].recipient_id, pair, numbers)

    def _shown(self, name: str) -> Iterator[tuple[str, str]]:
        """The ids in what a model was shown, in order, each with the text that it came in."""
        path = Path(self.ask("info", {"agent": name})["transcript"])
        for file in sorted(path.parent.glob("*.jsonl")):
            for line in file.read_bytes().split(b"\n"):
                try:
                    data = json.loads(line)
                except ValueError:
                    continue  # half a line, of a session that was killed as it wrote
                for text in shown_by(data):
                    for number in MARK.findall(text):
                        yield number, text


def shown_by(line: dict[str, Any]) -> list[str]:
    """What a line of a conversation says that the model was shown, but for what tools gave."""
    if line["type"] == "user":
        return _texts(line["message"]["content"])
    if line["type"] == "attachment":
        extra = line["attachment"]
        if extra["type"] == "queued_command":
            return _texts(extra["prompt"])
        if extra["type"] == "hook_additional_context":
            return _texts(extra["content"])
    return []


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    said = [one if isinstance(one, str) else one.get("text") for one in content]
    return [one for one in said if one is not None]


@pytest.fixture
def ground() -> Iterator[Ground]:
    """Without boxes: what they cost would be most of the storm."""
    with grounded() as made:
        made.unbox()
        yield made


@pytest.mark.parametrize("seed", [1, 2])
def test_in_a_short_storm_every_message_arrives_once_or_says_why_not(
    ground: Ground, seed: int
) -> None:
    storm = Storm(ground, seed, messages=60)
    storm.blow()
    storm.calm(patient=False)
    storm.judge()


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 120))
def test_in_a_long_storm_every_message_arrives_once_or_says_why_not(
    ground: Ground, seed: int
) -> None:
    storm = Storm(ground, seed, messages=500)
    storm.blow()
    storm.calm(patient=True)
    storm.judge()


SLOWLY = [pytest.mark.soak]
"""What was to be written where nobody can see it is missed only after half a minute."""


@pytest.mark.parametrize(
    "route",
    [
        "rewake",
        "context",
        pytest.param("stdin", marks=SLOWLY),
        pytest.param("paste", marks=SLOWLY),
    ],
)
def test_a_daemon_that_dies_as_it_has_offered_a_message_leaves_one_that_arrives_once(
    ground: Ground, route: str
) -> None:
    points = ground.folder / "failpoints"
    points.mkdir()
    ground.env["WINDLASS_FAILPOINTS"] = str(points)
    point = points / f"mail.{route}.offered"
    held = [bash("touch begun"), bash("until test -e go; do sleep 0.1; done")]
    work = [*held, bash("true"), {"pause": 0.2}, bash("true")] if route == "context" else []
    flags = ["--print"] if route == "stdin" else []
    workspace = ground.new("fox", *work, {"text": "I rest.\n\nWAITING"}, flags=flags)
    if route == "context":
        until((workspace / "begun").exists)
    else:
        ground.wait("fox", states="waiting")
    if route in ("context", "paste"):
        _end_waiting_hooks(ground)
    point.touch()
    ground.warm = True  # the next daemon need not import everything first
    (sent,) = ground.ask("send", agent="fox", text="hello", key="once")["messages"]
    (workspace / "go").touch()
    until(lambda: not point.exists(), what="the end of the daemon")
    until(lambda: _receipt(ground, sent["id"]) == "read", within=90, what="the receipt")
    path = Path(ground.ask("info", agent="fox")["transcript"])
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    texts = [text for line in lines for text in shown_by(line)]
    assert [number for text in texts for number in MARK.findall(text)] == [sent["id"]]


@pytest.mark.soak
@pytest.mark.parametrize("flags", [[], ["--print"]], ids=["live", "headless"])
def test_a_session_that_stands_still_for_long_hears_a_message_once(flags: list[str]) -> None:
    """Silence for longer than a delivery may take is no proof while its process is stopped.

    In a box: outside of one a holder lets its program go on at once.
    """
    with grounded() as ground:
        _stands_still(ground, flags)


def _stands_still(ground: Ground, flags: list[str]) -> None:
    ground.new("fox", {"text": "I rest.\n\nWAITING"}, flags=flags)
    ground.wait("fox", states="waiting")
    fox = psutil.Process(int(ground.ask("info", agent="fox")["pid"]))
    fox.suspend()
    (sent,) = ground.ask("send", agent="fox", text="hello", key="once")["messages"]
    until(lambda: float(_message(ground, sent["id"])["age"]) > 40, within=60, what="40 s")
    assert _receipt(ground, sent["id"]) == "queued"
    fox.resume()
    until(lambda: _receipt(ground, sent["id"]) == "read", what="the receipt")
    ground.wait("fox", states="waiting")
    path = Path(ground.ask("info", agent="fox")["transcript"])
    assert path.read_text().count(f"[message {sent['id']}]") == 1


def _message(ground: Ground, number: str) -> Any:
    return ground.ask("message", message=number)


def _receipt(ground: Ground, number: str) -> str:
    return str(_message(ground, number)["state"])


def _end_waiting_hooks(ground: Ground) -> None:
    """As if the CLI had none."""
    for process in ground.processes():
        with suppress(psutil.NoSuchProcess):  # hooks and tools come and go
            if any(part.endswith("/rewake.py") for part in process.cmdline()):
                process.kill()
