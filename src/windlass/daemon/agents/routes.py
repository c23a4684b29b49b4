"""The verbs that do something to agents, live or ended."""

from __future__ import annotations

from functools import partial

from windlass.api import wire
from windlass.api.server import Verb, Wait
from windlass.daemon.agents import restore
from windlass.daemon.agents.endings import Endings
from windlass.daemon.agents.interrupt import Interrupts
from windlass.daemon.agents.merge import Merges
from windlass.daemon.agents.pause_resume import PauseResume
from windlass.daemon.agents.restore import Restores
from windlass.daemon.agents.spawn import Spawns
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.requests import performing


def routes(
    context: Context,
    intents: Intents,
    *,
    spawns: Spawns,
    endings: Endings,
    merges: Merges,
    restores: Restores,
    pause_resume: PauseResume,
    interrupts: Interrupts,
) -> dict[str, Verb | Wait]:
    """Verb by verb."""
    does = partial(performing, intents)
    return {
        "end": Verb(wire.EndRequest, does("end", endings.begin)),
        "interrupt": Verb(wire.AgentRequest, does("interrupt", interrupts.begin_interrupt)),
        "merge": Verb(wire.MergeRequest, does("merge", merges.begin)),
        "merge-check": Verb(wire.MergeRequest, merges.preview),
        "note": Verb(wire.NoteRequest, does("note", interrupts.begin_note)),
        "pause": Verb(wire.AgentRequest, does("pause", partial(pause_resume.begin, "pause"))),
        "reassign": Verb(wire.ReassignRequest, does("reassign", pause_resume.begin_reassign)),
        "resume": Verb(wire.ResumeRequest, does("resume", partial(pause_resume.begin, "resume"))),
        "spawn": Verb(wire.SpawnRequest, does("spawn", spawns.begin)),
        "trash.empty": Verb(wire.TrashRequest, partial(restore.empty, context)),
        "trash.restore": Verb(wire.TrashRequest, does("restore", restores.begin)),
        "undo": Verb(wire.AnyRequest, partial(restores.undo, intents)),
    }
