"""A board that is worked off: all services, and the test is what runs in the sessions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.daemon.landing.crew_ground import CrewGround
from tests.support.contexts import Turned
from tests.support.workshop import Workshop

from windlass.core.crew import Agent
from windlass.core.usage import Usage
from windlass.daemon.kernel import set_aside
from windlass.daemon.spend import costs
from windlass.store import jobs, mailbox, rows, spending
from windlass.store.store import Writing

BOARD = """# Board

Some words before.

## TASKS

- [ ] **[API-1]** Add more
  - Description: Write more.py
  - Priority: HIGH
  - Dependencies: none
- [ ] **[API-2]** Add most
  - Priority: LOW
  - Dependencies: API-1
"""


class RunGround(CrewGround):
    """One worker unless a test wants more."""

    def __init__(self, workshop: Workshop, board: str = BOARD) -> None:
        self._before: dict[str, Callable[[], object]] = {}
        super().__init__(workshop)
        (workshop.context.folders.home / "config.toml").write_text('isolation = "hooks"\n')
        self.board_file = self.root / ".windlass" / "kanban.md"
        self.board_file.write_text(board)

    def run(self, **more: Any) -> dict[str, Any]:
        """Has the board worked off, as far as that goes without a word of any agent."""
        asked = {"driver": "standin", "workers": 1, **more}
        begun = self.workshop.ask("run", **asked)
        self.settle()
        return dict(begun)

    def pipeline(self, steps: list[dict[str, Any]], **more: Any) -> str:
        """A pipeline of the repository's own, by its file."""
        path = self.root / ".windlass" / "pipeline.json"
        path.write_text(json.dumps({"name": "own", "steps": steps, **more}))
        return str(path)

    def agent(self, name: str) -> Agent:
        """A live agent by its name."""
        live = self.workshop.context.store.read(rows.agents)
        return next(agent for agent in live if agent.id == name)

    def speak(self, name: str, said: str) -> None:
        """Has an agent's turn end with these words; what follows from that is done."""
        agent = self.agent(name)
        session = self.workshop.session(agent)
        session.hook("SessionStart", source="startup")
        session.hook("UserPromptSubmit", prompt="go on")
        session.hook("PreToolUse", tool_name="Bash", tool_input={"command": "true"})
        session.hook("PostToolUse", tool_name="Bash", tool_input={"command": "true"})
        session.hook("Stop", last_assistant_message=said)
        self.workshop.state(agent)
        self.settle()

    def fail(self, name: str, error: str) -> None:
        """Has an agent's turn fail because of its model, and does what follows."""
        agent = self.agent(name)
        session = self.workshop.session(agent)
        session.hook("SessionStart", source="startup")
        session.hook("UserPromptSubmit", prompt="go on")
        session.hook("StopFailure", error=error, last_assistant_message="API Error")
        self.workshop.state(agent)
        self.settle()

    def judge(self, name: str) -> None:
        """Judges an agent's spending, as after each count; what follows is done."""
        agent = self.agent(name)
        store, budgets = self.workshop.context.store, self.workshop.services.budgets
        known = {"metered": True}
        store.write(lambda w: spending.put_mark(w, agent.uid, agent.session, costs.MARK, known))
        budgets.judge(agent, store.read(lambda c: rows.session(c, agent.uid, agent.session)))
        self.settle()

    def spend(self, name: str, usd: float, *, owed: bool = True) -> None:
        """Has the present session of an agent have cost so much, as if that had been counted."""
        agent = self.agent(name)

        def add(writing: Writing) -> None:
            spending.add(
                writing,
                agent.uid,
                agent.session,
                day="2026-11-19",
                model="claude-opus-4-8",
                source="transcript",
                used=Usage(input_tokens=1),
                cost=usd,
                notional=not owed,
            )

        self.workshop.context.store.write(add)

    def task(self, name: str) -> dict[str, Any]:
        """The newest run of a task, as it is shown."""
        shown = self.workshop.ask("runs")["tasks"]
        return dict(next(task for task in shown if task["task"] == name))

    def markers(self) -> dict[str, str]:
        """What stands in the boxes of the board."""
        lines = self.board_file.read_text().splitlines()
        return {line.split("[")[2].split("]")[0]: line[3] for line in lines if line[:3] == "- ["}

    def started_with(self, name: str) -> dict[str, str]:
        """The environment of an agent's session."""
        return self.workshop.session(self.agent(name)).launch.env

    def later(self, seconds: float) -> None:
        """Lets so much time pass, and does what follows."""
        clock = self.workshop.context.clock
        assert isinstance(clock, Turned)
        clock.time += seconds
        self.engine.wake_due()
        self.settle()

    def before(self, what: str, act: Callable[[], object]) -> None:
        """Has something happen once, before the next effect of a kind is done."""
        self._before[what] = act

    def die_in(self, what: str) -> None:
        """Has three daemons die in the next effect of a kind."""

        def act() -> None:
            key, tries, context = self._due[0].key, set_aside.MOST_TRIES, self.workshop.context
            context.store.write(lambda w: rows.change_intent(w, key, tries=tries))
            self.workshop.restart()
            self.drive()

        self.before(what, act)

    def do_next(self) -> None:
        """Does the next thing that is to be done."""
        if not self._work and (act := self._before.pop(self._due[0].what, None)) is not None:
            act()
        super().do_next()

    def asked(self, name: str) -> list[str]:
        """What became of each message to an agent, oldest first."""
        uid, store = self.agent(name).uid, self.workshop.context.store
        return [message.state for message in store.read(lambda c: mailbox.inbox(c, recipient=uid))]

    def files(self, name: str) -> list[str]:
        """The files of a task's run, without the moments in their names."""
        folder = self.workshop.context.folders.run(self.task(name)["run"])
        return sorted(
            f"{path.parent.name.rpartition('.')[0]}/{path.name}" for path in folder.glob("*/*")
        )

    def open_jobs(self, kind: str) -> int:
        """How many jobs of a kind are open."""
        found = self.workshop.context.store.read(lambda c: jobs.listed(c, status="open"))
        return sum(job.kind == kind for job in found)

    def workspace(self, name: str) -> Path:
        """Where an agent works."""
        return Path(self.agent(name).workspace)
