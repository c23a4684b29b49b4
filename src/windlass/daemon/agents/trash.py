"""`wl trash empty`: what was kept of ended agents is deleted for good.

Its entries are shown by `views.trash_archive` and brought back by `restore`.
"""

from __future__ import annotations

from windlass.api.verbs import Caller
from windlass.api.wire.trash import EmptyReply, TrashRequest
from windlass.core import ids
from windlass.core.events import TrashEmptied
from windlass.daemon.kernel import lookup, repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.git import trash


class EmptyTrash:
    """The operation `empty-trash`, and the request that begins it.

    Which entries are meant is recorded: asked a second time, "all" would be others.
    """

    def __init__(self, context: Context) -> None:
        self._context = context

    def operation(self) -> Operation:
        """One step: a ref that is gone is gone, however often it is deleted."""
        return Operation("empty-trash", (Step("delete", self._delete),), lambda _: [], _emptied)

    def begin(self, caller: Caller, request: TrashRequest) -> IntentDraft:
        """Finds the trash entries to delete."""
        repo = lookup.scope(self._context, caller, request).require_repo()
        git = repos.git(repo)
        if wanted := request.get("entries"):
            chosen = [trash.find(git, name) for name in wanted]
            for name, entry in zip(wanted, chosen, strict=True):
                if name != entry.agent:
                    ids.require_long(name, entry.id)
        else:
            chosen = trash.entries(git)
        older = request.get("older_than")
        if older is not None:
            limit = self._context.clock.now() - older
            chosen = [entry for entry in chosen if entry.time < limit]
        data = {
            "entries": [entry.id for entry in chosen],
            "commits": {entry.ref: entry.commit for entry in chosen},
        }
        return IntentDraft(repo.id, None, lambda _: data)

    def _delete(self, work: RunningIntent) -> None:
        repo = repos.by_id(self._context, work.intent.repo)
        trash.empty(repos.git(repo), work.data["commits"])
        gone = TrashEmptied(entries=work.data["entries"])
        work.with_next_record(lambda w: w.emit(gone, repo=repo.id))


def _emptied(work: RunningIntent) -> EmptyReply:
    return {"emptied": work.data["entries"]}
