"""The effect `landing.orphan`: what becomes of the changes of an agent that has ended.

A draft is dropped, because nobody will propose it, and is a draft again where its author comes
back. What was proposed stays: it lands by the head that was proposed. The person is told.
"""

from __future__ import annotations

from windlass.core.crew import Agent
from windlass.core.ids import Uid
from windlass.core.landing import job as landing_job
from windlass.core.landing.changes import Change
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.landing import moves
from windlass.store import changes as rows
from windlass.store import rows as agent_rows
from windlass.store.store import Writing


class Orphans:
    """Settles the changes of agents that have ended or are back."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def operation(self) -> Operation:
        """One step, which goes by where the agent is now."""
        return Operation(
            landing_job.ORPHAN,
            (Step("settle", self._settle),),
            lambda _: [],
            lambda work: {"uid": work.data["uid"]},
        )

    def _settle(self, work: RunningIntent) -> None:
        if work.data.get("settled"):
            return
        uid, target = Uid(work.data["uid"]), work.data["target"]

        def change(writing: Writing) -> None:
            author = agent_rows.agent(writing.connection, uid)
            if author is not None:
                known = rows.of_agent(writing.connection, uid)
                for found in known:
                    if found.target == target:
                        _settle(writing, found, author)
            work.keep_in(writing, settled=True)

        self._context.store.write(change)


def _settle(writing: Writing, change: Change, author: Agent) -> None:
    if author.ended_at is None:
        if moves.hears(change, "author.restored"):
            why = f"{author.id} is at work on it"
            moves.move(writing, change, "author.restored", why=why, orphaned=False)
    elif change.state == "draft":
        why = f"{author.id} ended before it proposed this"
        moves.leave(writing, change, "author.ended", why=why, orphaned=True)
    elif moves.hears(change, "author.ended"):
        moves.move(writing, change, "author.ended")
