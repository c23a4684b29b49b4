"""The verbs that only look: agents, logs, screens, trash, archives, repositories."""

from __future__ import annotations

from windlass.api import wire
from windlass.api.server import Verb, Wait
from windlass.daemon.kernel.context import Context
from windlass.daemon.views.agents import Views
from windlass.daemon.views.trash_archive import TrashArchive


def routes(context: Context, views: Views) -> dict[str, Verb | Wait]:
    """Verb by verb."""
    kept = TrashArchive(context)
    return {
        "agents": Verb(wire.ListRequest, views.agents),
        "archives": Verb(wire.ArchiveRequest, kept.archives),
        "attachment": Verb(wire.AgentRequest, views.attachment),
        "diff": Verb(wire.DiffRequest, views.diff),
        "info": Verb(wire.AgentRequest, views.info),
        "log": Verb(wire.LogRequest, views.log),
        "look": Verb(wire.LookRequest, views.look),
        "place": Verb(wire.PlaceRequest, views.place),
        "prompt": Verb(wire.AgentRequest, views.prompt),
        "repos": Verb(wire.AnyRequest, kept.repos),
        "status": Verb(wire.AgentRequest, views.status),
        "trash": Verb(wire.TrashRequest, kept.trash),
        "trash.show": Verb(wire.TrashRequest, kept.trash_entry),
        "why": Verb(wire.WhyRequest, views.why),
    }
