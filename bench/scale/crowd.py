"""Two hundred agents on a small repository: to start them, to look at all of them, and to end all.

They are stand-ins that rest, so that what is measured is what they cost and not what they do.
"""

from __future__ import annotations

import json
import resource
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil
from bench.crew import command, spawn
from bench.table import Row, timed
from tests.support.ground import Ground, until

from windlass.hooks import event_record

AGENTS = 200
_AT_ONCE = 32
_SOFT_LIMIT = 256
_SECONDS = 10
_SPOKEN_TO = "agent0"


def measure(ground: Ground) -> list[Row]:
    """All of it, under a soft limit of open files as some systems set it."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_SOFT_LIMIT, limits[1]))
    try:
        ground.warm = False  # a daemon that others started has their limits
        daemon = psutil.Process(ground.daemon_pid() or _started(ground))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    before = daemon.num_fds()
    rows = [_together(ground)]
    rows.append(_rest(ground))
    note = f"its limit is {daemon.rlimit(psutil.RLIMIT_NOFILE)[0]}, and was {_SOFT_LIMIT}"
    rows.append(Row("open files by agent", [(daemon.num_fds() - before) / AGENTS], 3, note, ""))
    look = timed(command(ground, "status"), runs=5)
    rows.append(Row(f"wl status, {AGENTS} agents", look, 1_000))
    rows += [_calm(ground), *_flood(ground), *_nuke(ground)]
    return rows


def _started(ground: Ground) -> int:
    ground.wl("list").ok()
    pid = ground.daemon_pid()
    if pid is None:
        raise AssertionError("no daemon runs")
    return pid


def _together(ground: Ground) -> Row:
    """Agents started at once, by as many people."""
    spawn(ground, _SPOKEN_TO)
    began = time.perf_counter()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda n: spawn(ground, f"agent{n}"), range(1, 1 + _AT_ONCE)))
    rate = _AT_ONCE / (time.perf_counter() - began)
    # More is better, and a budget is what may not be exceeded: seconds for one.
    return Row(f"{_AT_ONCE} wl new at once, each", [1000 / rate], 50, f"{rate:.1f} a second")


def _rest(ground: Ground) -> Row:
    began = time.perf_counter()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: spawn(ground, f"agent{n}"), range(1 + _AT_ONCE, AGENTS)))
    each = (time.perf_counter() - began) * 1000 / (AGENTS - 1 - _AT_ONCE)
    return Row(f"wl new, up to {AGENTS}, each", [each], None)


class _Hooks(NamedTuple):
    """Where the hooks of an agent's session leave what they saw."""

    events: Path
    wake: Path

    def tell(self, tool: str, calls: int) -> None:
        """Leaves so many calls of a tool, as hooks do: a line and a poke each."""
        call = {"tool_name": tool, "tool_input": {"command": "ls"}, "tool_use_id": "t"}
        for _ in range(calls):
            for event in ("PreToolUse", "PostToolUse"):
                body = json.dumps({"hook_event_name": event, **call}).encode()
                with suppress(BlockingIOError):  # so many pokes wait already that one more is none
                    event_record.record(str(self.events), str(self.wake), body, len(body))


def _hooks(ground: Ground) -> list[_Hooks]:
    found = []
    for agent in ground.agents():
        (sockets,) = ground.runtime.glob(f"windlass/*/{agent['uid'][:8]}")
        folder = ground.state / "agents" / agent["uid"] / "sessions" / "1"
        found.append(_Hooks(folder / "events.jsonl", sockets / "wake"))
    return found


def _calm(ground: Ground) -> Row:
    """How long the daemon lets others wait while a hundred agents call a tool each second."""
    hooks = _hooks(ground)[:100]
    over = threading.Event()

    def work() -> None:
        while not over.wait(max(0.0, 1 - time.time() % 1)):
            for one in hooks:
                one.tell("Read", 1)
                if over.wait(1 / (len(hooks) + 10)):
                    return

    return Row(
        "answer while 100 agents work, 99 of 100",
        [_worst(_answers(ground, work, over))],
        50,
        f"a tool call a second each, {_SECONDS} s",
    )


def _answers(ground: Ground, work: Callable[[], None], over: threading.Event) -> list[float]:
    """Milliseconds of questions that need no more than the daemon's own loop, meanwhile."""
    busy = threading.Thread(target=work)
    busy.start()
    try:
        times = []
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end:
            times += timed(lambda: ground.ask("whoami"), runs=1)
            time.sleep(0.02)
        return times
    finally:
        over.set()
        busy.join()


def _worst(times: list[float]) -> float:
    return sorted(times)[len(times) * 99 // 100]


def _flood(ground: Ground) -> list[Row]:
    """How many tool calls a second are taken in, and what somebody who writes waits meanwhile."""
    hooks = _hooks(ground)[1:51]
    calls = 100
    before = _number_of_events(ground)
    ground.ask("pause", agent=_SPOKEN_TO)
    began = time.perf_counter()
    for _ in range(calls):
        for one in hooks:
            one.tell("Read", 1)
    told = 2 * calls * len(hooks)
    written: list[float] = []

    def is_read() -> bool:
        written.extend(
            timed(lambda: ground.ask("send", agent=_SPOKEN_TO, text="meanwhile"), runs=1)
        )
        return _number_of_events(ground) - before >= told

    until(is_read, within=300, what=f"{told} events")
    rate = told / (time.perf_counter() - began)
    return [
        Row("a tool event, taken in", [1000 / rate], 1, f"{rate:.0f} a second"),
        Row("wl send meanwhile, 95 of 100", [sorted(written)[len(written) * 95 // 100]], 50),
    ]


def _number_of_events(ground: Ground) -> int:
    (last,) = ground.ask("log", last=1)
    return int(last["id"])


def _nuke(ground: Ground) -> list[Row]:
    """Until no session runs, and until all have ended."""
    programs = [
        process for process in ground.processes() if "windlass.standin" in " ".join(_words(process))
    ]
    nuke = ground.start("nuke", "--force", "-q")
    began = time.perf_counter()
    until(lambda: not any(map(_runs, programs)), within=300, what="the end of all sessions")
    stopped = (time.perf_counter() - began) * 1000
    if nuke.wait(300):
        raise AssertionError(nuke.stderr and nuke.stderr.read())
    ended = (time.perf_counter() - began) * 1000
    note = f"{len(programs)} programs"
    return [
        Row(f"wl nuke, {AGENTS} agents, all stopped", [stopped], 3_000, note),
        Row(f"wl nuke, {AGENTS} agents, all ended", [ended], 20_000),
    ]


def _words(process: psutil.Process) -> list[str]:
    try:
        words: list[str] = process.cmdline()
    except psutil.Error:
        return []
    return words


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
