"""What was begun and set aside or halted, because no daemon survived it."""

from __future__ import annotations

import sqlalchemy as sa

from windlass.api.verbs import Caller
from windlass.api.wire.request import AnyRequest
from windlass.api.wire.views import SetAsideView
from windlass.daemon.kernel import set_aside
from windlass.daemon.kernel.context import Context
from windlass.store import rows
from windlass.store.rows import Intent


def listed(context: Context, _caller: Caller, _request: AnyRequest) -> list[SetAsideView]:
    """Everything that is set aside or halted, of every repository."""
    return context.store.read(lambda c: [_view(c, intent) for intent in rows.set_aside(c)])


def _view(connection: sa.Connection, intent: Intent) -> SetAsideView:
    error = intent.error or {}
    return {
        "id": intent.id,
        "kind": intent.kind,
        "status": "halted" if intent.status == "halted" else "set aside",
        "repo": intent.repo,
        "branch": set_aside.branch_of(intent),
        "agents": set_aside.names_of(connection, set_aside.agents_of(intent)),
        "done": list(intent.done),
        "tries": intent.tries,
        "created_at": intent.created_at,
        "why": error.get("message", ""),
        "fix": error.get("hint", ""),
    }
