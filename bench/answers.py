"""How soon the daemon answers those who wait for it: who sends a message, and policy hooks.

Policy hooks are the real program, for two agents at once: undisturbed, and while one of the two has
just left five hundred lines of events to be read.
"""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from bench.table import Row
from tests.support.ground import Ground, until

import windlass.hooks
from windlass.hooks import event_record

SENDS = 100
COUNTED = 10
LINES = 500
ROUNDS = 10
HOOKS_EACH = 4
_POLICY_HOOK = Path(windlass.hooks.__file__).parent / "policy.py"
_IDLE = {"text": "WAITING"}


def measure(ground: Ground) -> list[Row]:
    """Measures both; the agents are gone afterwards."""
    rows = [_sends(ground), *_decisions(ground)]
    ground.wl("kill", "--force", "addressee", "flooded", "beside").ok()
    return rows


def _sends(ground: Ground) -> Row:
    """From the request to send a message to an idle agent to the reply that it is kept."""
    ground.new("addressee", _IDLE)
    ground.wait("addressee", states="waiting")
    times = []
    for number in range(SENDS):
        began = time.perf_counter()
        (sent,) = ground.ask("send", agent="addressee", text=f"message {number}")["messages"]
        times.append((time.perf_counter() - began) * 1000)
        # Its delivery, which is measured elsewhere, is not to be in the way of the next one.
        ground.ask("receipts", messages=[sent["id"]], timeout=30)
        ground.wait("addressee", states="waiting")
    note = f"{SENDS} messages to an idle agent, {_commits_of_a_send(ground):.1f} commits each"
    return Row("wl send, acknowledged", times, 50, note)


def _commits_of_a_send(ground: Ground) -> float:
    """How often the store is written to until a send is acknowledged, with nobody to deliver to."""
    ground.wl("pause", "addressee").ok()
    log = ground.state / "windlass.db-wal"
    before = _commits(log)
    for number in range(COUNTED):
        ground.ask("send", agent="addressee", text=f"counted {number}")
    after = _commits(log)
    # A log that was begun anew meanwhile has fewer, and says nothing.
    return (after - before) / COUNTED if after > before else float("nan")


def _commits(log: Path) -> int:
    """The transactions in SQLite's write-ahead log: each ends in a page that tells the size."""
    data = log.read_bytes()
    size, _, *salt = struct.unpack(">4I", data[8:24])
    count = 0
    for start in range(32, len(data) - 23, 24 + size):
        _, pages, *own = struct.unpack(">4I", data[start : start + 16])
        if own != salt:
            break  # left over from before the log was begun anew
        count += pages > 0
    return count


class Decision(NamedTuple):
    """What a policy hook answered, and how soon, in milliseconds."""

    answer: bytes
    took: float


class Asking:
    """An idle agent, and the policy hook of its session."""

    def __init__(self, ground: Ground, name: str) -> None:
        workspace = ground.new(name, _IDLE)
        ground.wait(name, states="waiting")
        uid = ground.ask("info", agent=name)["uid"]
        folder = ground.state / "agents" / uid
        (sockets,) = ground.runtime.glob(f"windlass/*/{uid[:8]}")
        self.name = name
        self._events, self._wake = folder / "sessions/1/events.jsonl", sockets / "wake"
        given = (self._events, self._wake, sockets / "api", folder / "policy.json")
        self._argv = [sys.executable, "-I", "-S", _POLICY_HOOK, *given]
        self._call = {
            "cwd": str(workspace),
            "tool_name": "Read",
            "tool_input": {"file_path": str(workspace / "README")},
        }

    def decision(self) -> Decision:
        """Asks once, as an agent CLI does before it uses a tool."""
        call = json.dumps({"hook_event_name": "PreToolUse", **self._call}).encode()
        began = time.perf_counter()
        done = subprocess.run(self._argv, input=call, stdout=subprocess.PIPE, check=True)
        return Decision(done.stdout, (time.perf_counter() - began) * 1000)

    def flood(self, last: str) -> None:
        """Leaves many lines at once, as many calls of tools would; the last is of another tool."""
        calls = [self._call] * (LINES // 2 - 1) + [{**self._call, "tool_name": last}]
        told = [
            json.dumps({"hook_event_name": event, **call}).encode()
            for call in calls
            for event in ("PreToolUse", "PostToolUse")
        ]
        lines = [event_record.line(body, len(body)) for body in told]
        event_record.append(str(self._events), b"".join(lines))
        event_record.poke(str(self._wake))


def _decisions(ground: Ground) -> list[Row]:
    flooded, beside = Asking(ground, "flooded"), Asking(ground, "beside")
    asked = _answer_of_the_daemon(ground, flooded)
    # Turn by turn, because the machine is never quiet.
    quiet: list[Decision] = []
    its_own: list[Decision] = []
    anothers: list[Decision] = []
    for number in range(ROUNDS):
        own, another = _at_once(flooded, beside)
        quiet += own + another
        last = f"Last{number}"
        flooded.flood(last)
        own, another = _at_once(flooded, beside)
        its_own += own
        anothers += another
        _wait_until_read(ground, flooded, last)
    alone = [one for one in (*quiet, *its_own, *anothers) if one.answer != asked]
    note = f"{LINES} lines of events at once"
    return [
        Row("policy hooks, two at once", [one.took for one in quiet], 60),
        Row("... of an agent with a flood of events", [one.took for one in its_own], 100, note),
        Row("... of another agent meanwhile", [one.took for one in anothers], 100, note),
        Row("... that had to decide alone", [len(alone)], 0, "of all of these", "hooks"),
    ]


def _answer_of_the_daemon(ground: Ground, agent: Asking) -> bytes:
    """What hooks answer that have asked it; without it they answer something else."""
    ground.wl("daemon", "stop").ok()
    alone = agent.decision().answer
    ground.agents()  # starts it again
    asked = agent.decision().answer
    if alone == asked:
        raise AssertionError(f"nobody can tell who decided: {asked!r}")
    return asked


def _at_once(*agents: Asking) -> list[list[Decision]]:
    """Some decisions of each agent, one after the other, beside those of the others."""
    with ThreadPoolExecutor(len(agents)) as pool:
        return list(pool.map(lambda one: [one.decision() for _ in range(HOOKS_EACH)], agents))


def _wait_until_read(ground: Ground, agent: Asking, last: str) -> None:
    def is_read() -> bool:
        told = ground.ask("log", agent=agent.name, last=10 * HOOKS_EACH)
        return last in [event["data"].get("tool_name") for event in told]

    until(is_read, what=f"all {LINES} lines")
