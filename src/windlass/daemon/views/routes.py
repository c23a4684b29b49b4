"""The verbs that only look: agents, logs, screens, trash, archives, repositories."""

from __future__ import annotations

from windlass.api import wire
from windlass.api.verbs import Refusal, Verb, Wait
from windlass.daemon.kernel.context import Context
from windlass.daemon.views.agents import Views
from windlass.daemon.views.trash_archive import TrashArchive

_KEPT = Refusal("agents do not look into trash and archive")
"""What others left behind is none of an agent's business."""


def routes(context: Context, views: Views) -> dict[str, Verb | Wait]:
    """Verb by verb."""
    kept = TrashArchive(context)
    return {
        "agents": Verb(wire.ListRequest, views.agents, callers="both"),
        "archives": Verb(wire.ArchiveRequest, kept.archives, refusal=_KEPT),
        "attachment": Verb(wire.AgentRequest, views.attachment, callers="both"),
        "diff": Verb(wire.DiffRequest, views.diff, callers="both"),
        "info": Verb(wire.AgentRequest, views.info, callers="both"),
        "log": Verb(wire.LogRequest, views.log, callers="both"),
        "look": Verb(wire.LookRequest, views.look, callers="both"),
        "place": Verb(wire.PlaceRequest, views.place, callers="both"),
        "prompt": Verb(wire.AgentRequest, views.prompt, callers="both"),
        "repos": Verb(wire.AnyRequest, kept.repos, refusal=_KEPT),
        "status": Verb(wire.AgentRequest, views.status, callers="both"),
        "trash": Verb(wire.TrashRequest, kept.trash, refusal=_KEPT),
        "trash.show": Verb(wire.TrashRequest, kept.trash_entry, refusal=_KEPT),
        "why": Verb(wire.WhyRequest, views.why, callers="both"),
    }
