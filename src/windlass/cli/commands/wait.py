"""Waits until agents reach a state; ends 1 if the time runs out first."""

from __future__ import annotations

import queue
import threading
import time
from argparse import ArgumentParser
from typing import Any

from windlass.api import calls
from windlass.cli.call import Call
from windlass.core import ages
from windlass.core.errors import Conflict, UserError

EXAMPLES = (
    "wl wait api",
    "wl wait api ui --for complete,waiting --timeout 10m",
)
_STATES = (
    "creating", "running", "asking", "waiting", "complete", "compacting", "rate_limited",
    "paused", "stopped", "unknown", "ended",
)  # fmt: skip


def arguments(parser: ArgumentParser) -> None:
    """Takes agents, states and a limit."""
    parser.add_argument("agents", nargs="+", metavar="AGENT")
    parser.add_argument(
        "--for", dest="wanted", default="complete,stopped",
        help="states to wait for, comma separated (complete,stopped); an ended agent counts too",
    )  # fmt: skip
    parser.add_argument("--timeout", metavar="TIME", help="30, 30s, 5m, 2h; without it, for ever")


def run(call: Call) -> int:
    """Waits, woken by events and never by the clock."""
    wanted = {name.strip() for name in call.args.wanted.split(",") if name.strip()}
    if unknown := wanted - set(_STATES):
        raise UserError(
            f"{', '.join(sorted(unknown))} is no state", f"states are {', '.join(_STATES)}"
        )
    limit = ages.seconds(call.args.timeout) if call.args.timeout else None
    end = None if limit is None else time.monotonic() + limit
    last = call.ask("log", last=1)
    events = _events(last[0]["id"] if last else 0)
    reached: dict[str, dict[str, Any]] = {}
    missing = call.full_ids(call.args.agents)
    while True:
        missing = [name for name in missing if not _reached(call, name, wanted, reached)]
        if not missing:
            break
        try:
            news = events.get(timeout=None if end is None else max(0.0, end - time.monotonic()))
        except queue.Empty:
            states = ", ".join(f"{name} is {_state(call, name)['state']}" for name in missing)
            raise Conflict(
                f"waited {call.args.timeout}: {states}", f"wl why {missing[0]}"
            ) from None
        if isinstance(news, BaseException):
            raise news
    for name, seen in reached.items():
        if seen["state"] != "ended":
            call.ask("why", agent=name, home=True)
    call.data(list(reached.values()))
    for name, seen in reached.items():
        call.tell(f"{name} is {seen['state']}")
    return 0


def _events(after: int) -> queue.SimpleQueue[Any]:
    """Follows the log on a thread, so that waiting for it can end; its failure comes as news."""
    events: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def follow() -> None:
        try:
            for event in calls.follow(after):
                if event["kind"] in ("agent.state", "agent.ended"):
                    events.put(event)
        except BaseException as error:  # noqa: BLE001 - raised again by who waits
            events.put(error)

    threading.Thread(target=follow, daemon=True).start()
    return events


def _reached(call: Call, name: str, wanted: set[str], reached: dict[str, dict[str, Any]]) -> bool:
    seen = _state(call, name)
    if seen["state"] not in wanted | {"ended"}:
        return False
    reached[seen["id"]] = seen
    return True


def _state(call: Call, name: str) -> dict[str, Any]:
    why: dict[str, Any] = call.ask("why", agent=name)
    if why["id"] != name:  # a full id is a prefix too: it has ended, and that is another agent
        return {"id": name, "state": "ended"}
    return why
