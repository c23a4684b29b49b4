"""The verbs that do something to agents, live or ended."""

from __future__ import annotations

from functools import partial

from windlass.api.verbs import Refusal, Verb, Wait
from windlass.api.wire import agents as wire
from windlass.api.wire.request import AgentRequest, AnyRequest
from windlass.api.wire.trash import EmptyReply, TrashRequest
from windlass.daemon.agents import retry
from windlass.daemon.agents.allow import Allowances
from windlass.daemon.agents.endings import Endings
from windlass.daemon.agents.interrupt import Interrupts
from windlass.daemon.agents.merge import Merges
from windlass.daemon.agents.note import Notes
from windlass.daemon.agents.pause_resume import PauseResume
from windlass.daemon.agents.reassign import Reassignments
from windlass.daemon.agents.refresh import Refreshes
from windlass.daemon.agents.restore import Restores
from windlass.daemon.agents.spawn import Spawns
from windlass.daemon.agents.trash import EmptyTrash
from windlass.daemon.agents.undo import Undos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.requests import IntentVerb

_ALLOW = Refusal("agents allow nothing, to themselves or to others", "ask with `wl ask`")
_EMPTY = Refusal("agents do not empty the trash")
_RETRY = Refusal("agents do not decide what becomes of what no daemon survived")
_REFRESH = Refusal(
    "agents do not rebase agents", "merge what you need into your own branch: git merge"
)
_RESTORE = Refusal("agents do not restore from the trash")


def routes(
    context: Context,
    intents: Intents,
    *,
    spawns: Spawns,
    endings: Endings,
    merges: Merges,
    refreshes: Refreshes,
    restores: Restores,
    undos: Undos,
    pause_resume: PauseResume,
    reassignments: Reassignments,
    allowances: Allowances,
    interrupts: Interrupts,
    notes: Notes,
    empty_trash: EmptyTrash,
) -> dict[str, Verb | Wait]:
    """Returns what answers each verb, with its request, its reply and its callers."""
    does = partial(IntentVerb, intents)
    return {
        "allow": Verb(
            wire.AllowRequest,
            wire.AllowReply,
            does("allow", allowances.begin),
            refusal=_ALLOW,
            needs="store",
        ),
        "end": Verb(wire.EndRequest, wire.EndReply, does("end", endings.begin), callers="both"),
        "interrupt": Verb(
            AgentRequest,
            wire.InterruptReply,
            does("interrupt", interrupts.begin),
            callers="both",
        ),
        "merge": Verb(
            wire.MergeRequest, wire.MergeReply, does("merge", merges.begin), callers="both"
        ),
        "merge-check": Verb(
            wire.MergeRequest, wire.MergeCheckReply, merges.preview, callers="both"
        ),
        "note": Verb(
            wire.NoteRequest,
            wire.NoteReply,
            does("note", notes.begin),
            callers="both",
            needs="store",
        ),
        "pause": Verb(
            AgentRequest,
            wire.SessionReply,
            does("pause", partial(pause_resume.begin, "pause")),
            callers="both",
        ),
        "reassign": Verb(
            wire.ReassignRequest,
            wire.ReassignReply,
            does("reassign", reassignments.begin),
            callers="both",
            needs="store",
        ),
        "refresh": Verb(
            AgentRequest, wire.RefreshReply, does("refresh", refreshes.begin), refusal=_REFRESH
        ),
        "retry": Verb(
            wire.RetryRequest,
            wire.RetryReply,
            partial(retry.retry, context, intents),
            refusal=_RETRY,
        ),
        "resume": Verb(
            wire.ResumeRequest,
            wire.SessionReply,
            does("resume", partial(pause_resume.begin, "resume")),
            callers="both",
        ),
        "spawn": Verb(
            wire.SpawnRequest, wire.SpawnReply, does("spawn", spawns.begin), callers="both"
        ),
        "trash.empty": Verb(
            TrashRequest, EmptyReply, does("empty-trash", empty_trash.begin), refusal=_EMPTY
        ),
        "trash.restore": Verb(
            TrashRequest, wire.RestoreReply, does("restore", restores.begin), refusal=_RESTORE
        ),
        "undo": Verb(AnyRequest, wire.RestoreReply, partial(undos.undo, intents), callers="both"),
    }
