"""What happens in the demo, printed as it happens, and the waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from windlass.api import calls
from windlass.cli import render
from windlass.cli.call import Call
from windlass.core.errors import Internal, Unavailable
from windlass.core.printable import printable_line

_PATIENCE = 90.0
_WIDEST = 100
_BEFORE = 20
"""Places of a line that stand before what it says."""
_COLOURS = {"passed": "green", "failed": "red"}


class Line(NamedTuple):
    """Who does what, in which colour."""

    who: str
    said: str
    colour: str = ""


class Progress:
    """Follows the log, whichever daemon keeps it, and prints what a stranger understands of it.

    `contents` says whose work is in a tree.
    """

    def __init__(self, call: Call, contents: Callable[[str], Sequence[str]]) -> None:
        self._call = call
        self._contents = contents
        self._states: dict[str, str] = {}
        """Where the change of each agent is."""
        self._owners: dict[str, str] = {}
        self._runs: set[str] = set()
        self._failure: BaseException | None = None
        self._changed = threading.Condition()
        last = call.ask("log", last=1)
        start = last[0]["id"] if last else 0
        threading.Thread(target=self._follow, args=(start,), daemon=True).start()

    def until_landed(self, agents: Sequence[str]) -> None:
        """Waits until the changes of all these have landed."""

        def landed() -> bool:
            if held := [agent for agent in agents if self._states.get(agent) == "held"]:
                raise Internal(f"the change of {held[0]} is held", "`wl queue --all` says why")
            return all(self._states.get(agent) == "landed" for agent in agents)

        self._until(landed, f"the changes of {', '.join(agents)} to land")

    def until_gate_runs(self) -> None:
        """Waits until the gate is at work."""
        self._until(lambda: bool(self._runs), "the gate to run")

    def _until(self, came: Callable[[], bool], what: str) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: self._failure or came(), _PATIENCE):
                raise Unavailable(f"waited {_PATIENCE:g} s for {what}", "see `wl log`")
            if self._failure:
                raise self._failure

    def _follow(self, after: int) -> None:
        try:
            for event in calls.follow(after):
                self.take(event)
        except BaseException as error:  # noqa: BLE001 - raised again by who waits
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def take(self, event: dict[str, Any]) -> None:
        """Prints it, and then tells those who wait for it."""
        with self._changed:
            line = self._line(event["kind"], event.get("agent") or "", event["data"])
            if line is not None:
                self._print(line, event["at"])
            self._changed.notify_all()

    def _print(self, line: Line, at: float) -> None:
        when = time.strftime("%H:%M:%S", time.localtime(at))
        width = min(render.columns() if self._call.terminal else _WIDEST, _WIDEST) - _BEFORE
        said = render.fit(printable_line(line.said), width)
        if line.colour:
            said = self._call.paint(said, line.colour)
        who = render.padded(printable_line(line.who), 7)
        self._call.tell(f"  {self._call.paint(when, 'dim')} {who} {said}")

    def _line(self, kind: str, agent: str, data: dict[str, Any]) -> Line | None:
        match kind:
            case "agent.created":
                return Line(agent, f"is started on a branch of its own: {data['goal']}")
            case "agent.reported" if data["state"] == "complete":
                return Line(agent, "says that it is done")
            case "message.received" if data["text"].startswith("Your change"):
                return Line(agent, "has a ticket by mail: what is wrong, and how to see it again")
            case "job.begun" if data["what"] == "gate":
                self._runs.add(data["job"])
                return Line("gate", f"tests {self._tree(data['about'])}")
            case "job.done" if data["what"] == "gate":
                return self._judged(data)
        return self._change(kind, data)

    def _judged(self, run: dict[str, Any]) -> Line:
        self._runs.discard(run["job"])
        outcome = run["result"]["outcome"]
        colour = _COLOURS.get(outcome, "")
        return Line("gate", f"{self._tree(run['about'])}: {colour or outcome}", colour)

    def _tree(self, tree: str) -> str:
        """What of whom is in a tree beyond what has landed."""
        new = [who for who in self._contents(tree) if self._states.get(who) != "landed"]
        if not new:
            return "main as it is"
        return f"main with {' and '.join(new)} merged"

    def _change(self, kind: str, data: dict[str, Any]) -> Line | None:
        match kind:
            case "change.queued":
                agent = self._owners[data["change"]] = data["branch"].rpartition("/")[2]
                again = " again" if agent in self._states else ""
                said = f"proposes its change {data['change']}{again}"
                self._states[agent] = "queued"
                return Line(agent, said)
            case "change.landed":
                agent = self._owners[data["change"]]
                self._states[agent] = "landed"
                return Line(agent, f"has landed: main is at {data['commit'][:8]}", "green")
            case "change.stopped":
                agent = self._owners[data["change"]]
                self._states[agent] = data["state"]
                return Line(agent, f"comes back: {data['why']}", "red")
        return None
