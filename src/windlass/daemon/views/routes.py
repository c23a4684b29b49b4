"""The verbs that only look: agents, logs, screens, trash, archives, repositories."""

from __future__ import annotations

from functools import partial

from windlass.api.verbs import Refusal, Verb, Wait
from windlass.api.wire import views as wire
from windlass.api.wire.request import AgentRequest, AnyRequest
from windlass.api.wire.trash import (
    ArchiveRequest,
    ArchiveView,
    TrashRequest,
    TrashShowReply,
    TrashView,
)
from windlass.daemon.kernel.context import Context
from windlass.daemon.views import roles
from windlass.daemon.views.agents import Views
from windlass.daemon.views.trash_archive import TrashArchive

_KEPT = Refusal("agents do not look into trash and archive")
"""What others left behind is none of an agent's business."""


def routes(context: Context, views: Views) -> dict[str, Verb | Wait]:
    """Verb by verb."""
    kept = TrashArchive(context)
    return {
        "agents": Verb(wire.ListRequest, list[wire.AgentView], views.agents, callers="both"),
        "archives": Verb(ArchiveRequest, list[ArchiveView], kept.archives, refusal=_KEPT),
        "attachment": Verb(AgentRequest, wire.AttachmentReply, views.attachment, callers="both"),
        "diff": Verb(wire.DiffRequest, wire.DiffReply, views.diff, callers="both"),
        "info": Verb(AgentRequest, wire.InfoReply, views.info, callers="both"),
        "log": Verb(wire.LogRequest, list[wire.EventView], views.log, callers="both"),
        "look": Verb(wire.LookRequest, wire.LookReply, views.look, callers="both"),
        "place": Verb(wire.PlaceRequest, wire.PlaceReply, views.place, callers="both"),
        "prompt": Verb(AgentRequest, wire.PromptReply, views.prompt, callers="both"),
        "repos": Verb(AnyRequest, list[wire.RepoView], kept.repos, refusal=_KEPT),
        "roles": Verb(
            AnyRequest, list[wire.RoleView], partial(roles.listed, context), callers="both"
        ),
        "status": Verb(AgentRequest, wire.StatusReply, views.status, callers="both"),
        "trash": Verb(TrashRequest, list[TrashView], kept.trash, refusal=_KEPT),
        "trash.show": Verb(TrashRequest, TrashShowReply, kept.trash_entry, refusal=_KEPT),
        "why": Verb(wire.WhyRequest, wire.WhyReply, views.why, callers="both"),
    }
