"""Mail that a store does not know which was lost or replaced by an older one.

Who sent something has its id in its conversation, and whoever got it has it there as a message. An
id that is only the former, and that the store does not know, may never have arrived. A conversation
is an agent's own word: all that follows from it is that this agent is told, once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import sqlalchemy as sa

from windlass.core import events
from windlass.core.crew import Agent
from windlass.core.errors import WindlassError
from windlass.core.events import MAIL_MISSING, MailMissing, StoreReplaced
from windlass.core.mail import messages
from windlass.daemon.kernel import untrusted_files
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import session_request
from windlass.daemon.mail import from_windlass
from windlass.store import mailbox, rows
from windlass.store.store import Writing

_ID = re.compile(r"(?<![\w-])msg-[0-9a-f]{10}(?![\w-])")
_READ = 8 << 20
"""Bytes of the end of a conversation in which ids are looked for."""
_MOST = 20
"""Ids that are told of one agent."""
_BACK = 100


class MissingMail(NamedTuple):
    """Messages that an agent's conversation speaks of, and nobody else knows."""

    agent: Agent
    ids: list[str]


def find(context: Context) -> list[MissingMail]:
    """What is missing in a store that was replaced; a store that was not has all of its mail."""
    if not context.store.read(lambda c: rows.events(c, kind=StoreReplaced.kind, last=1)):
        return []
    spoken: list[tuple[Agent, list[str]]] = []
    arrived: set[str] = set()
    for agent in context.store.read(rows.agents):
        for text in _conversation(context, agent):
            arrived.update(messages.mentioned(text))
            spoken.append((agent, list(dict.fromkeys(_ID.findall(text)))))
    known = context.store.read(lambda c: _told_of(c) | arrived)
    lost = [
        MissingMail(agent, context.store.read(partial(_unknown, ids=ids, known=known)))
        for agent, ids in spoken
    ]
    return [missing for missing in lost if missing.ids]


def tell(context: Context, missing: MissingMail) -> None:
    """Tells an agent which of its messages may be lost; they are not told of again."""
    listed = ", ".join(missing.ids)
    text = (
        f"The database of Windlass was restored, and does not know these messages that you speak"
        f" of: {listed}. Whoever they were for may not have them: if they still matter, say what"
        f" was in them again."
    )

    def change(writing: Writing) -> None:
        agent = missing.agent
        writing.emit(MailMissing(ids=missing.ids), repo=agent.repo, agent=agent.uid)
        from_windlass.say(writing, agent, text, topic=MAIL_MISSING)

    context.store.write(change)


def _unknown(connection: sa.Connection, *, ids: list[str], known: set[str]) -> list[str]:
    unsure = [one for one in ids if one not in known]
    return [one for one in unsure[-_BACK:] if mailbox.find(connection, one) is None][-_MOST:]


def _told_of(connection: sa.Connection) -> set[str]:
    told = rows.events(connection, subject=MAIL_MISSING, last=_BACK)
    return {one for event in told for one in events.read(MailMissing, event).ids}


def _conversation(context: Context, agent: Agent) -> Iterator[str]:
    """The end of an agent's conversation, if there is one that can be read."""
    try:
        path = session_request.transcript(context, agent)
        opened = untrusted_files.descriptor(path, below=context.folders.agent(agent.uid))
    except (WindlassError, OSError):
        return  # it has not begun yet, or is no file that is read of an agent's
    with os.fdopen(opened, "rb") as file:
        file.seek(max(0, os.fstat(opened).st_size - _READ))
        yield file.read(_READ).decode(errors="replace")
