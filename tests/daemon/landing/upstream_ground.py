"""A landing ground whose repository has a remote: a bare one in a folder beside it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa
from tests.daemon.landing.landing_ground import LandingGround

from windlass.core.jobs import Job
from windlass.store import jobs as job_rows
from windlass.store import tables


class UpstreamGround(LandingGround):
    """Everything of `LandingGround`, landing on a remote."""

    def begin_remote(self, mode: str = "push") -> None:
        """Makes the remote from main, and has landings go there."""
        self.git("init", "-q", "--bare", "-b", "main", str(self.bare))
        self.git("remote", "add", "origin", str(self.bare))
        self.git("push", "-q", "origin", "main")
        self.configure("landing.mode", mode)

    @property
    def bare(self) -> Path:
        """Where the remote is."""
        return self.root.parent / "origin.git"

    def remote(self, *args: str) -> str:
        """Runs git in the remote."""
        done = subprocess.run(
            ["git", *args], cwd=self.bare, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def refuse(self, branch: str = "main", *, hook: str = "update") -> None:
        """Has the remote refuse pushes to a branch, as a protected one does."""
        path = self.bare / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            f'#!/bin/sh\n[ "$1" = refs/heads/{branch} ] || exit 0\n'
            "echo 'GH006: Protected branch update failed' >&2\nexit 1\n"
        )
        path.chmod(0o755)

    def commit_upstream(self, name: str, text: str = "theirs\n") -> str:
        """Somebody else pushes a commit to the remote's main."""
        other = self.root.parent / "other"
        if not other.exists():
            self.git("clone", "-q", str(self.bare), str(other))
        who = ("-c", "user.name=Bob", "-c", "user.email=bob@example.org", "-C", str(other))
        self.git(*who, "pull", "-q", "--ff-only")
        (other / name).write_text(text)
        self.git(*who, "add", "-A")
        self.git(*who, "commit", "-q", "-m", f"theirs: {name}")
        self.git(*who, "push", "-q", "origin", "main")
        return self.remote("rev-parse", "main")

    def rewrite_upstream(self) -> str:
        """Somebody else takes the last commit of the remote's main back, and pushes another."""
        parent = self.remote("rev-parse", "main^")
        self.remote("update-ref", "refs/heads/main", parent)
        other = self.root.parent / "other"
        subprocess.run(["git", "reset", "-q", "--hard", parent], cwd=other, check=True)
        return self.commit_upstream("rewritten.txt")

    def before(self, step: str, work: Callable[[], str]) -> list[str]:
        """Has something happen once, before a step; what came of it, then."""
        came: list[str] = []
        reached = self.context.failpoints.reached

        def then(name: str) -> None:
            if name == f"{step}.before" and not came:
                came.append(work())
            reached(name)

        self.context.failpoints.reached = then  # type: ignore[method-assign]
        return came

    def vanish_after_update(self, away: Path) -> None:
        """Has the remote be gone as soon as it has taken a push, before it can say so."""
        hook = self.bare / "hooks" / "reference-transaction"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(
            f"#!/bin/sh\n[ \"$1\" = committed ] || exit 0\nmv '{self.bare}' '{away}'\n"
            "kill -9 $PPID\n"
        )
        hook.chmod(0o755)

    def notices(self) -> list[str]:
        """What the person was told."""
        table = tables.notices
        query = sa.select(table.c.text).order_by(table.c.number)
        return list(self.context.store.read(lambda c: c.execute(query)).scalars())

    def wake_landing(self) -> bool:
        """Has the moment come that the queue waits for; False where it waits for none."""
        return self.wake("landing")

    def wake(self, kind: str) -> bool:
        """Has the moment come that a job of a kind waits for; False where none does."""
        waiting = [job for job in self.open_jobs(kind) if job.wake_at is not None]
        for job in waiting:
            self.jobs.wake(job.id)
        return bool(waiting)

    def open_jobs(self, kind: str) -> list[Job]:
        """The jobs of a kind that are not over."""
        known = self.context.store.read(lambda c: job_rows.listed(c, status="open"))
        return [job for job in known if job.kind == kind]
