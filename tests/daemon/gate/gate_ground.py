"""A repository with a gate, and a daemon's part that proves its commits, driven by the test."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from tests.support.contexts import REPO

from windlass.api.verbs import Caller
from windlass.core.gate import job as gate_job
from windlass.core.ids import RepoId
from windlass.core.jobs import DueEffect, Heard, JobId
from windlass.daemon.gate.checks import Checks, Slots
from windlass.daemon.gate.proofs import Proofs
from windlass.daemon.jobs.ledger import Jobs
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.engine.embedded import EmbeddedEngine
from windlass.store import tables
from windlass.store.store import Event, Writing

PERSON = Caller(None)
UNITTEST = "python3 -m unittest -v"
GATE = f'[gate]\ncommands = ["{UNITTEST}"]\n'
CODE = {
    "calc.py": "def add(a, b):\n    return a + b\n",
    "test_calc.py": (
        "import unittest\nimport calc\n\n\nclass Adds(unittest.TestCase):\n"
        "    def test_adds(self):\n        self.assertEqual(calc.add(1, 2), 3)\n"
    ),
}
BROKEN = {"calc.py": "def add(a, b):\n    return a - b\n"}


class Killed(BaseException):
    """The daemon ends here."""


class GateGround:
    """One repository, one daemon after the other; everything is done in the test's own thread."""

    def __init__(self, context: Context, root: Path) -> None:
        self.context = context
        self.root = root
        self.work: list[Any] = []
        self.due: list[DueEffect] = []
        self.dies_at = ""
        self.is_dead = False
        self.told: list[str] = []
        self.start_daemon()

    def start_daemon(self) -> None:
        """Starts a daemon in the place of the one before, which hears of nothing any more."""
        self.work, self.due, self.dies_at, self.is_dead = [], [], "", False
        work, due = self.work, self.due
        intents = Intents(self.context)
        jobs = Jobs(self.context, intents)
        checks = Checks(self.context, Slots(1))
        self.proofs = Proofs(self.context, jobs, checks, tell=self._told)
        intents.add(self.proofs.operations())
        jobs.add((gate_job.KIND,))
        self.intents, self.jobs = intents, jobs

        def begin(what: Any) -> bool:
            work.append(what)
            return True

        engine = EmbeddedEngine(jobs, self.context.clock, begin=begin, perform=due.append)

        def heed(events: list[Event]) -> None:
            if engine is self.engine:
                engine.heed([Heard(event.kind, event.repo, event.subject) for event in events])

        self.engine = engine
        self.context.store.listen(heed)
        self.context.failpoints.reached = self._reached  # type: ignore[method-assign]
        engine.open()

    def _told(self, _: Writing, **said: Any) -> None:
        self.told.append(said["text"])

    def _reached(self, name: str) -> None:
        if name == self.dies_at:
            raise Killed(name)

    def settle(self) -> None:
        """Does what is to be done until nothing is left."""
        while self.work or self.due:
            if self.work:
                self.work.pop(0)()
            else:
                self.intents.perform_recorded(self.due.pop(0).key)

    def git(self, *args: str) -> str:
        """Runs git as a person would."""
        who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
        done = subprocess.run(
            ["git", *who, *args], cwd=self.root, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def commit(self, files: Mapping[str, str | None], *, branch: str = "main") -> str:
        """Commits these files on a branch, None for one that is to go; main stays checked out."""
        if branch != "main":
            self.git("checkout", "-q", "-B", branch, "main")
        for name, text in files.items():
            path = self.root / name
            if text is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "-A", "-f")
        self.git("commit", "-q", "--allow-empty", "-m", "more")
        made = self.git("rev-parse", "HEAD")
        self.git("checkout", "-q", "main")
        return made

    def begin(self, rev: str = "", **more: Any) -> dict[str, Any]:
        """Asks for a run, and does nothing yet."""
        asked: dict[str, Any] = {"cwd": str(self.root), **more}
        if rev:
            asked["rev"] = rev
        return dict(self.proofs.run(PERSON, asked))  # type: ignore[arg-type]

    def prove(self, rev: str = "", **more: Any) -> dict[str, Any]:
        """Asks for a run, has it done, and returns what came of it."""
        reply = self.begin(rev, **more)
        self.settle()
        return self.ended(reply["job"]) if reply["job"] else reply

    def ended(self, job: str) -> dict[str, Any]:
        """How a run ended."""
        return dict(self.proofs._ended(self.proofs._find(JobId(job))))  # noqa: SLF001

    def outcome(self, rev: str = "", **more: Any) -> str:
        """Proves a commit; what it came to."""
        return str(self.prove(rev, **more)["outcome"])

    @property
    def proofs_repo(self) -> RepoId:
        """The repository's id."""
        return REPO

    def verdicts(self) -> int:
        """How many verdicts there are."""
        count = sa.select(sa.func.count()).select_from(tables.verdicts)
        return int(self.context.store.read(lambda c: c.execute(count).scalar_one()))


def make(context: Context, root: Path, files: dict[str, str]) -> GateGround:
    """A repository of these files on main, known to the daemon."""
    return make_as(GateGround, context, root, files)


G = TypeVar("G", bound=GateGround)


def make_as(ground: type[G], context: Context, root: Path, files: dict[str, str]) -> G:
    """The same, with more that a test can ask of it."""
    root.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)

    def place(writing: Writing) -> None:
        values = {"root": str(root), "git_dir": str(root / ".git")}
        changed = sa.update(tables.repos).where(tables.repos.c.id == REPO).values(values)
        writing.connection.execute(changed)

    context.store.write(place)
    made = ground(context, root)
    made.commit(dict(files))
    return made
