"""Notices to post, and ways to read them, for the tests of notices."""

from __future__ import annotations

import json
from typing import Any

from tests.support.contexts import REPO

from windlass.api.verbs import Caller
from windlass.api.wire.mail import ListenReply, ListenRequest, NotifyRequest
from windlass.core import shapes
from windlass.core.ids import RepoId, Uid
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.mail import notices
from windlass.daemon.mail.listeners import Listeners
from windlass.daemon.mail.notify import Notifications

PERSON = Caller(None)
HELD = 0.3
"""Seconds that a reader has to take what it was given: a moment, for nobody here is slow."""


def post(context: Context, text: str, *, repo: RepoId = REPO, agent: Uid | None = None) -> int:
    """Posts a notice of fox; returns its number. With `agent` it is one that its state tells."""
    return context.store.write(
        lambda w: notices.post(w, repo, "fox", "complete", text, agent=agent)
    ).number


def notify(context: Context, caller: Caller, **more: Any) -> dict[str, Any]:
    """Does what `wl notify` does."""
    request = {"cwd": str(context.folders.home / "shop"), "text": "done", **more}
    notifications = Notifications(context)
    intents = Intents(context, (notifications.operation(),))
    asked = shapes.convert(request, NotifyRequest)
    return intents.perform("notify", more.get("key"), lambda: notifications.begin(caller, asked))


def asked(context: Context, listener: str = "a", **more: Any) -> ListenRequest:
    """What a listener in the shop asks."""
    cwd = str(context.folders.home / "shop")
    request = {"cwd": cwd, "route": "listen", "listener": listener, "timeout": 10.0, **more}
    return shapes.convert(request, ListenRequest)


def texts(answer: ListenReply) -> list[str]:
    """What a listener was told."""
    return [json.loads(one["line"])["msg"] for one in answer["notices"]]


def take(board: Listeners, answer: ListenReply) -> int:
    """Says that what was told has its reader; returns how many notices are gone by that."""
    numbers = [one["number"] for one in answer["notices"]]
    request = {"numbers": numbers, "listener": "a", "route": "listen"}
    return int(board.taken(PERSON, request)["taken"])  # type: ignore[arg-type]
