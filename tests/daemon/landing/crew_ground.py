"""A crew on a repository with a gate and a queue: all services, jobs done by the test itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.daemon.gate.gate_ground import CODE, GATE
from tests.support.workshop import Workshop, git

from windlass.core.crew import Agent
from windlass.core.jobs import DueEffect, Heard
from windlass.engine.embedded import EmbeddedEngine
from windlass.store.store import Event


class CrewGround:
    """Agents whose work lands; the test is what runs in their sessions."""

    def __init__(self, workshop: Workshop) -> None:
        self.workshop = workshop
        self.root = workshop.repo
        self.write(self.root, {**CODE, ".windlass/config.toml": GATE})
        git(self.root, "add", "-A", "-f")
        git(self.root, "commit", "-q", "-m", "code")
        self._work: list[Any] = []
        self._due: list[DueEffect] = []
        self.drive()
        workshop.context.store.listen(self._heed)

    def drive(self) -> None:
        """Has a daemon take over every job, in the place of one that may have died."""
        self._work.clear()
        self._due.clear()
        services, clock = self.workshop.services, self.workshop.context.clock
        self.engine = EmbeddedEngine(
            services.jobs, clock, begin=self._begin, perform=self._due.append
        )
        self.engine.open()

    def _begin(self, what: Any) -> bool:
        self._work.append(what)
        return True

    def _heed(self, events: list[Event]) -> None:
        self.engine.heed([Heard(event.kind, event.repo, event.subject) for event in events])

    def settle(self) -> None:
        """Does what is to be done until nothing is left."""
        while self._work or self._due:
            self.do_next()

    def do_next(self) -> None:
        """Does the next thing that is to be done."""
        if self._work:
            self._work.pop(0)()
        else:
            self.workshop.services.intents.perform_recorded(self._due.pop(0).key)

    def write(self, place: Path, files: dict[str, str]) -> None:
        """Writes files."""
        for name, text in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)

    def worker(self, name: str, **more: Any) -> Agent:
        """An agent that is there, without a box."""
        asked = {"goal": f"do {name}", "name": name, "driver": "standin", "isolation": "hooks"}
        return self.workshop.agent(self.workshop.ask("spawn", **{**asked, **more})["uid"])

    def commit(self, agent: Agent, files: dict[str, str]) -> str:
        """Has an agent commit files."""
        place = Path(agent.workspace)
        self.write(place, files)
        git(place, "add", "-A")
        git(place, "commit", "-q", "-m", "work")
        return git(place, "rev-parse", "HEAD").strip()

    def complete(self, agent: Agent) -> None:
        """Has an agent end its turn and say that it is done."""
        session = self.workshop.session(self.workshop.agent(agent.uid))
        session.hook("SessionStart", source="startup")
        session.hook("UserPromptSubmit", prompt="go on")
        self.workshop.state(agent)
        session.hook("PreToolUse", tool_name="Bash", tool_input={"command": "true"})
        session.hook("PostToolUse", tool_name="Bash", tool_input={"command": "true"})
        session.hook("Stop", last_assistant_message="Done.\nI HAVE COMPLETED THE GOAL")
        self.workshop.state(agent)

    def main(self) -> str:
        """Where main is."""
        return git(self.root, "rev-parse", "main").strip()

    def change(self, name: str) -> dict[str, Any]:
        """One change as it is shown."""
        return dict(self.workshop.ask("change", change=name))

    def lives(self, agent: Agent) -> bool:
        """Whether an agent has not ended."""
        return self.workshop.agent(agent.uid).ended_at is None
