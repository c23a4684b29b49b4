"""A repository without a gate, and a daemon's services that set it up, driven by the test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.workshop import Workshop, git

from windlass.core.jobs import DueEffect, Heard
from windlass.daemon.kernel.context import Context
from windlass.engine.embedded import EmbeddedEngine
from windlass.store.store import Event

CODE = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "test_calc.py": (
        "import unittest\nimport calc\n\n\nclass Adds(unittest.TestCase):\n"
        "    def test_adds(self):\n        self.assertEqual(calc.add(1, 2), 3)\n"
    ),
}
CONFIG = ".windlass/config.toml"


class InitGround(Workshop):
    """A workshop whose jobs are done in the test's own thread."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        git(self.repo, "config", "user.name", "Ann")
        git(self.repo, "config", "user.email", "ann@example.org")
        self._work: list[Any] = []
        self._due: list[DueEffect] = []
        self.runs = 0
        engine = EmbeddedEngine(
            self.services.jobs, context.clock, begin=self._begin, perform=self._due.append
        )

        def heed(events: list[Event]) -> None:
            engine.heed([Heard(event.kind, event.repo, event.subject) for event in events])

        context.store.listen(heed)
        engine.open()

    def _begin(self, what: Any) -> bool:
        self._work.append(what)
        return True

    def commit(self, files: dict[str, str]) -> str:
        """Commits these files."""
        for name, text in files.items():
            self.write(name, text)
        git(self.repo, "add", "-A", "-f")
        git(self.repo, "commit", "-q", "-m", "more")
        return self.head()

    def write(self, name: str, text: str) -> Path:
        """Writes a file of the checkout."""
        path = self.repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def head(self) -> str:
        """The commit that is checked out."""
        return git(self.repo, "rev-parse", "HEAD").strip()

    def look(self, **asked: Any) -> dict[str, Any]:
        """What is proposed."""
        return dict(self.ask("init.look", **asked))

    def tried(self, **asked: Any) -> dict[str, Any]:
        """How the proposals fare."""
        return self.ended(self.ask("init.prove", **asked)["job"])

    def accepted(self, **asked: Any) -> dict[str, Any]:
        """What was written of them."""
        return dict(self.ask("init", accept=True, **asked))

    def ended(self, job: str) -> dict[str, Any]:
        """Has a run done, and tells how it ended."""
        while self._work or self._due:
            if self._work:
                self._work.pop(0)()
            else:
                self.runs += 1
                self.services.intents.perform_recorded(self._due.pop(0).key)
        return dict(self.services.proofs.told(job))  # type: ignore[arg-type]
