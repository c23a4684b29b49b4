"""The person of the demo: answers what is asked, and kills the daemon in the middle of the work."""

from __future__ import annotations

import os
import signal
from typing import Any

from windlass.api import calls, daemon_start
from windlass.cli import run_progress
from windlass.cli.call import Call
from windlass.core.errors import Internal

ANSWER = "nautical"
_BUG = "this is a bug: please report it"


class Person:
    """Sees what happens as `wl run` shows it, and does two things about it."""

    def __init__(self, call: Call) -> None:
        self._call = call
        last = call.ask("log", last=1)
        self._seen = last[0]["id"] if last else 0
        self.killed = 0
        """The daemon's process that was killed; 0 for as long as none was."""
        self.answered = 0
        self.came_back: list[str] = []
        """Why changes did not land at first."""

    def hear(self, call: Call, event: dict[str, Any]) -> None:
        """Shows one thing that happened, and does what it calls for."""
        run_progress.say(call, event)
        match event["kind"]:
            case "run.waits" if event["question"]:
                self._answer()
            case "run.submitted" if not self.killed:
                self._kill_daemon()
            case "change.stopped":
                if event["state"] == "held":
                    raise Internal(f"{event['change']} is held: {event['why']}", _BUG)
                self.came_back.append(event["why"])

    def _answer(self) -> None:
        for question in self._call.ask("questions"):
            say(self._call, f"you answer: wl answer {question['agent']} '{ANSWER}'")
            self._call.ask("answer", question=question["id"], text=ANSWER)
            self.answered += 1

    def _kill_daemon(self) -> None:
        """Kills it in the middle of the gate, as the machine itself might; the next one goes on."""
        for event in calls.follow(self._seen):
            if event["kind"] == "job.begun" and event["data"]["what"] == "gate":
                break
        self.killed = _daemon_pid()
        say(self._call, f"kill -9 on the daemon (process {self.killed}) while the gate runs")
        os.kill(self.killed, signal.SIGKILL)
        self._call.ask("whoami")
        say(self._call, f"another daemon (process {_daemon_pid()}) goes on where that one was")


def say(call: Call, text: str) -> None:
    """Says what the demo does itself."""
    call.tell(call.paint(f"-- {text}", "bold"))


def _daemon_pid() -> int:
    return int((daemon_start.running() or {})["pid"])
