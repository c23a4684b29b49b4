"""What Windlass itself says to agents, in the transaction of its caller."""

from __future__ import annotations

import msgspec

from windlass.core.crew import Agent
from windlass.core.ids import Uid
from windlass.core.jobs import JobId
from windlass.core.mail.messages import Message
from windlass.daemon.mail import receipts
from windlass.daemon.mail.receipts import OURSELVES, Party
from windlass.store.store import Writing


def say(writing: Writing, to: Agent, text: str, *, topic: str) -> Message:
    """Sends a message of our own; a newer one of its topic takes the place of one that waits.

    No limit of a sender holds for it: news that is refused would be lost.
    """
    party = Party(to.uid, to.id)
    draft = receipts.draft(to.repo, OURSELVES, party, text, kind="note", now=writing.now)
    return receipts.post(writing, msgspec.structs.replace(draft, topic=topic))


def ask_step(writing: Writing, agent: Agent, run: JobId, text: str) -> None:
    """Asks a run's agent for what its step has not given yet."""
    say(writing, agent, text, topic=_of_run(run))


def withdraw_of_run(writing: Writing, agent: Uid, run: JobId) -> None:
    """Takes back what its run asked an agent: it was meant for a session that is over."""
    receipts.withdraw(writing, agent, _of_run(run), "the session that it was for is over")


def _of_run(run: JobId) -> str:
    return f"run:{run}"
