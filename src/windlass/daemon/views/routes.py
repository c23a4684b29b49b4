"""The verbs that only look: agents, screens, work, the log, roles, trash, archives."""

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
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.views import roles, set_aside
from windlass.daemon.views.agents import AgentViews
from windlass.daemon.views.log import Log
from windlass.daemon.views.screens import Screens
from windlass.daemon.views.trash_archive import TrashArchive
from windlass.daemon.views.work import Work

_KEPT = Refusal("agents do not look into trash and archive")
"""What others left behind is none of an agent's business."""


def routes(context: Context, agents: AgentViews, fetcher: CommitFetcher) -> dict[str, Verb | Wait]:
    """Returns what answers each verb, with its request, its reply and its callers."""
    screens, work, kept = Screens(context), Work(context, fetcher), TrashArchive(context)
    return {
        "agents": Verb(
            wire.ListRequest,
            list[wire.AgentView],
            agents.agents,
            callers="both",
            needs="store",
        ),
        "archives": Verb(ArchiveRequest, list[ArchiveView], kept.archives, refusal=_KEPT),
        "attachment": Verb(AgentRequest, wire.AttachmentReply, screens.attachment, callers="both"),
        "diff": Verb(wire.DiffRequest, wire.DiffReply, work.diff, callers="both"),
        "info": Verb(AgentRequest, wire.InfoReply, agents.info, callers="both"),
        "log": Verb(
            wire.LogRequest,
            list[wire.EventView],
            Log(context).view,
            callers="both",
            needs="store",
        ),
        "look": Verb(wire.LookRequest, wire.LookReply, screens.look, callers="both"),
        "place": Verb(wire.PlaceRequest, wire.PlaceReply, work.place, callers="both"),
        "prompt": Verb(
            AgentRequest,
            wire.PromptReply,
            agents.prompt,
            callers="both",
            needs="store",
        ),
        "roles": Verb(
            AnyRequest,
            list[wire.RoleView],
            partial(roles.listed, context),
            callers="both",
        ),
        "set-aside": Verb(
            AnyRequest,
            list[wire.SetAsideView],
            partial(set_aside.listed, context),
            refusal=_KEPT,
            needs="store",
        ),
        "status": Verb(AgentRequest, wire.StatusReply, agents.status, callers="both"),
        "trash": Verb(TrashRequest, list[TrashView], kept.trash, refusal=_KEPT),
        "trash.show": Verb(TrashRequest, TrashShowReply, kept.trash_entry, refusal=_KEPT),
        "why": Verb(wire.WhyRequest, wire.WhyReply, agents.why, callers="both"),
    }
