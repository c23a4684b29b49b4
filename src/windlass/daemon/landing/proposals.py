"""The effect `landing.propose`: what an agent that says it is done has is proposed by itself.

Only of agents that have a change that is not over: a draft, one that came back, one that waits.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import sqlalchemy as sa

from windlass.core.crew import Agent
from windlass.core.ids import RepoId, Uid
from windlass.core.landing import job as landing_job
from windlass.core.landing.changes import ENDED, Change
from windlass.daemon.gate import gates
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.landing import pins
from windlass.daemon.landing.submissions import Proposed, Submissions
from windlass.store import changes as rows
from windlass.store import rows as agent_rows
from windlass.store.store import Writing


class Proposals:
    """Proposes what agents have that land by themselves."""

    def __init__(self, context: Context, submissions: Submissions) -> None:
        self._context = context
        self._submissions = submissions

    def operation(self) -> Operation:
        """One step: proposed twice, the same head is one revision."""
        return Operation(
            landing_job.PROPOSE, (Step("propose", self._propose),), lambda _: [], _proposed
        )

    def _propose(self, work: RunningIntent) -> None:
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        known, author = self._context.store.read(partial(_waiting, uid=Uid(work.data["uid"])))
        if known is None or author is None or author.branch is None or author.run:
            return  # of a run's agent the run says when it has done what it was to do
        gate = gates.landing(gates.read(self._context, repo, branch=known.target))
        proposed = Proposed(author.branch, author, known)
        change, _ = self._submissions.draft(gate, proposed, by=author)
        if known.state != "draft" and change.head == known.head:
            return  # it came back, and nothing was mended: to try it again would end the same
        kept = {"task": known.task, "ends": known.ends, "unattended": known.unattended}
        change = msgspec.structs.replace(change, **kept)

        def put(writing: Writing) -> None:
            self._submissions.begin_queue(writing, repo.id, gate.target.branch)
            self._submissions.put(writing, change)

        self._context.store.write(put)
        pins.pin(self._context, repo)


def _waiting(connection: sa.Connection, uid: Uid) -> tuple[Change | None, Agent | None]:
    change = rows.of_author(connection, uid)
    author = agent_rows.agent(connection, uid)
    if author is None or author.ended_at is not None:
        return None, None
    return (None if change is None or change.state in ENDED else change), author


def _proposed(work: RunningIntent) -> dict[str, Any]:
    return {"uid": work.data["uid"]}
