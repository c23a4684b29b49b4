"""`wl trash empty`: what was kept of ended agents is deleted for good.

Its entries are shown by `views.trash_archive` and brought back by `restore`.
"""

from __future__ import annotations

from windlass.api.verbs import Caller
from windlass.api.wire.trash import EmptyReply, TrashRequest
from windlass.core.events import TrashEmptied
from windlass.daemon.kernel import lookup, repos
from windlass.daemon.kernel.context import Context
from windlass.git import trash


def empty(context: Context, caller: Caller, request: TrashRequest) -> EmptyReply:
    """Deletes trash entries for good."""
    scope = lookup.scope(context, caller, request)
    git = repos.git(scope.require_repo())
    if wanted := request.get("entries"):
        chosen = [trash.find(git, name) for name in wanted]
    else:
        chosen = trash.entries(git)
    older = request.get("older_than")
    if older is not None:
        limit = context.clock.now() - older
        chosen = [entry for entry in chosen if entry.time < limit]
    trash.empty(git, chosen)
    gone = [entry.id for entry in chosen]
    repo = scope.require_repo().id
    context.store.write(lambda w: w.emit(TrashEmptied(entries=gone), repo=repo))
    return {"emptied": gone}
