"""`wl notify`: a notice that an agent or the person writes. Who waits for it is in `listeners`."""

from __future__ import annotations

from functools import partial
from typing import Any

from windlass.api.verbs import Caller
from windlass.api.wire.mail import NoticeView, NotifyRequest
from windlass.core.errors import Conflict
from windlass.core.ids import RepoId
from windlass.core.mail import messages
from windlass.core.mail.notices import checked
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.mail import notices
from windlass.store import noticeboard
from windlass.store.store import Writing

_MOST = 500
"""So many notices may wait before nobody may add to them by hand."""


class Notifications:
    """Posts notices that were written by hand."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def operation(self) -> Operation:
        """A notice is posted when it is recorded."""
        return Operation("notify", (), lambda _: [], _reply)

    def begin(self, caller: Caller, request: NotifyRequest) -> IntentDraft:
        """Posts a notice of an agent, of the person, or of whom the person names."""
        scope = lookup.scope(self._context, caller, request)
        repo = scope.require_repo().id
        agent = scope.caller
        sender = agent.id if agent else request.get("sender") or "user"
        text = checked(sender=sender, text=request["text"])
        kind = request.get("type", "complete")

        def prepare(writing: Writing) -> dict[str, Any]:
            _refuse_too_many(writing, repo, sender, by_agent=agent is not None)
            notice = notices.post(
                writing, repo, sender, kind, text, agent=scope.caller_uid, by_hand=True
            )
            return {"number": notice.number, "line": notices.line(notice)}

        return IntentDraft(repo, scope.caller_uid, prepare)


def _refuse_too_many(writing: Writing, repo: RepoId, sender: str, *, by_agent: bool) -> None:
    """Refuses a sender where too many wait, unless next to none are its own.

    What agents left there is no reason to refuse the person.
    """
    count = partial(noticeboard.count_waiting, writing.connection, repo)
    own = count(sender=sender)
    if (count() if by_agent else own) >= _MOST and own >= messages.share(_MOST):
        raise Conflict(
            f"{_MOST} notices wait already, and nobody listens", "the person reads them: wl listen"
        )


def _reply(work: RunningIntent) -> NoticeView:
    return {"number": work.data["number"], "line": work.data["line"]}
