"""The effect `landing.tell`: the person hears of what failed beside the queue, which goes on.

What an agent has is not proposed, the author of what landed is not ended, or nobody knows what
becomes of the changes of one that has ended. The row of the change says it too.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from windlass.core.ids import RepoId, Uid
from windlass.core.jobs import effect_key, owner
from windlass.core.landing import job as landing_job
from windlass.core.landing.changes import UNFINISHED, Change, ChangeId
from windlass.core.printable import printable_line
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.mail import notices
from windlass.store import changes as rows
from windlass.store import rows as agent_rows
from windlass.store.store import Writing


class Failures:
    """Says what failed."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def operation(self) -> Operation:
        """One step, which tells in the transaction that records it."""
        step = Step("tell", self._tell)
        return Operation(landing_job.TELL, (step,), lambda _: [], lambda _: {})

    def _tell(self, work: RunningIntent) -> None:
        job = owner(work.intent.id)
        if job is None:
            raise AssertionError(work.intent.id)
        key = effect_key(job, work.data["number"])
        intent = self._context.store.read(lambda connection: agent_rows.intent(connection, key))
        failed = intent.data if intent is not None else {}
        repo, what = RepoId(work.intent.repo), work.data["what"]
        why = printable_line(work.data["why"])

        def change(writing: Writing) -> None:
            found, text = _TOLD[what](writing.connection, repo, failed)
            if not text:
                return
            if found is not None:
                rows.note(writing, found, why=f"{text.partition(': ')[2] or text}: {why}")
            notices.post(writing, repo, "windlass", "waiting", f"{text}: {why}", by_hand=True)

        work.with_next_record(change)


def _proposal(
    connection: sa.Connection, _: RepoId, failed: dict[str, Any]
) -> tuple[Change | None, str]:
    author = agent_rows.agent(connection, Uid(failed.get("uid", "")))
    if author is None:
        return None, ""
    change = rows.of_author(connection, author.uid)
    text = f"{author.id} says that it is done: what it has could not be proposed"
    return (change if change is not None and change.state in UNFINISHED else None), text


def _retirement(
    connection: sa.Connection, repo: RepoId, failed: dict[str, Any]
) -> tuple[Change | None, str]:
    change = rows.find(connection, repo, ChangeId(failed["change"])) if failed else None
    if change is None:
        return None, ""
    names = ", ".join(failed["agents"].values())
    left = f"{names} could not be ended" if names else "its branch could not be deleted"
    return change, f"{change.id} has landed: {left}"


def _orphan(
    connection: sa.Connection, _: RepoId, failed: dict[str, Any]
) -> tuple[Change | None, str]:
    author = agent_rows.agent(connection, Uid(failed.get("uid", "")))
    name = author.id if author is not None else "an agent"
    return None, f"nobody knows what becomes of the changes of {name} (wl queue --all)"


def _stop(
    _connection: sa.Connection, _: RepoId, failed: dict[str, Any]
) -> tuple[Change | None, str]:
    names = ", ".join(stopped["change"] for stopped in failed.get("stopped", ()))
    return None, f"{names} cannot go back yet, and it is tried again"


_TOLD = {
    landing_job.STOP: _stop,
    landing_job.PROPOSE: _proposal,
    landing_job.RETIRE: _retirement,
    landing_job.ORPHAN: _orphan,
}
