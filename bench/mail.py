"""How soon a message is in the conversation of an idle Claude Code, from the request that sends it.

The real program, in a terminal and boxed as `wl new` starts it; only its model is scripted.
"""

from __future__ import annotations

import time

import psutil
from bench.table import Row
from tests.support.ground import Ground, grounded, until
from tests.support.scene import scene

RUNS = 20
_SETTLED = 0.3
"""Seconds after which a session that has begun to wait does nothing else any more."""


def measure() -> list[Row]:
    """Each message is sent when the session is idle and its hook waits; a turn is not measured."""
    with grounded() as ground, scene(ground, "claude") as on:
        on.new("idle", {"text": "WAITING"})
        (sockets,) = ground.runtime.glob(
            f"windlass/*/{ground.ask('info', agent='idle')['uid'][:8]}"
        )
        times, waited_before = [], set[int]()
        for number in range(RUNS):
            waited_before = _rests(ground, str(sockets / "api"), waited_before)
            times.append(_once(ground, f"message {number}"))
    note = "Claude Code, idle, by its waiting hook"
    return [Row("message, send to delivered", times, 300, note)]


def _once(ground: Ground, text: str) -> float:
    began = time.perf_counter()
    (sent,) = ground.ask("send", agent="idle", text=text)["messages"]
    (found,) = ground.ask("receipts", messages=[sent["id"]], timeout=30)
    took = (time.perf_counter() - began) * 1000
    if (found["state"], found["route"]) not in (("delivered", "rewake"), ("read", "rewake")):
        raise AssertionError(found)
    return took


def _rests(ground: Ground, socket: str, before: set[int]) -> set[int]:
    """Waits until a hook waits that did not before; returns the processes of those that do."""
    ground.wait("idle", states="waiting")
    until(lambda: bool(_waiting(socket) - before), what="a waiting hook")
    time.sleep(_SETTLED)
    return _waiting(socket)


def _waiting(socket: str) -> set[int]:
    found = psutil.process_iter(["cmdline"])
    argvs = ((one.pid, one.info["cmdline"] or []) for one in found)
    return {pid for pid, argv in argvs if socket in argv and argv[-3].endswith("rewake.py")}
