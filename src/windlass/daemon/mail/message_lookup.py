"""Which message a word means, and whose business it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import sqlalchemy as sa

from windlass.core.errors import Denied, NotFound
from windlass.core.ids import match
from windlass.core.mail.messages import Message
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.lookup import Scope
from windlass.store import mailbox


def find(context: Context, scope: Scope, wanted: str) -> Message:
    """By its whole id; else by how one begins that is the caller's."""
    return find_all(context, scope, [wanted])[0]


def find_all(context: Context, scope: Scope, words: Iterable[str]) -> list[Message]:
    """As `find`, for each of these words; those that are there twice are looked for once."""
    return _find(context, scope, words, what="message", hint="`wl inbox` shows them")


def find_question(context: Context, scope: Scope, wanted: str) -> Message:
    """By its whole id, whatever it is; else by how a question begins that is the caller's."""
    return _find(context, scope, [wanted], what="question", hint="`wl questions` shows them")[0]


def refuse_all_but_recipient(scope: Scope, message: Message) -> None:
    """Refuses an agent that a message is not to."""
    if scope.caller is not None and scope.caller.uid != message.recipient:
        raise _not_yours(message)


def refuse_strangers(scope: Scope, message: Message) -> None:
    """Refuses an agent that a message is neither to nor from."""
    if scope.caller is not None and scope.caller.uid not in (message.recipient, message.sender):
        raise _not_yours(message)


def _find(
    context: Context,
    scope: Scope,
    words: Iterable[str],
    *,
    what: Literal["message", "question"],
    hint: str,
) -> list[Message]:
    party = scope.caller.uid if scope.caller else None
    kind = "question" if what == "question" else None

    def read(connection: sa.Connection, wanted: str) -> Message:
        message = mailbox.find(connection, wanted)
        if message is None:
            known = mailbox.ids(connection, wanted, party=party, kind=kind)
            message = mailbox.find(connection, match(wanted, known, what=what, hint=hint))
        if message is None or (scope.caller is not None and message.repo != scope.caller.repo):
            raise NotFound(f"no {what} {wanted!r}", hint)
        return message

    return context.store.read(lambda c: [read(c, wanted) for wanted in dict.fromkeys(words)])


def _not_yours(message: Message) -> Denied:
    return Denied(f"{message.id} is not yours", "`wl inbox` shows what is")
