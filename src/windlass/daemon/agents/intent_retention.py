"""Finished intents are kept for a month; longer where `wl undo` could still reverse them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial

from windlass.core.errors import WindlassError
from windlass.core.ids import RepoId
from windlass.daemon.agents import undo
from windlass.daemon.agents.undo import UNDOABLE
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.git import trash
from windlass.git.trash import TrashEntry
from windlass.store import finished_intents, rows
from windlass.store.rows import Intent

log = logging.getLogger(__name__)

KEPT = 30 * 86_400.0
_AT_ONCE = 200
"""Rows removed in one transaction: others write as well."""


class IntentRetention:
    """Removes finished intents that are old and that nobody could undo any more."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def sweep(self) -> None:
        """Removes finished intents that are old, unless `wl undo` could still need them."""
        store = self._context.store
        before = self._context.clock.now() - KEPT
        old = partial(finished_intents.old, before=before, besides=UNDOABLE, limit=_AT_ONCE)
        while keys := store.read(old):
            store.write(partial(finished_intents.remove, keys=keys))
        reversible = store.read(
            partial(finished_intents.old_and_reversible, before=before, kinds=UNDOABLE)
        )
        over = self._over(reversible)
        for first in range(0, len(over), _AT_ONCE):
            part = over[first : first + _AT_ONCE]
            store.write(partial(finished_intents.remove, keys=part))

    def _over(self, keys: list[str]) -> list[str]:
        """Those of which there is nothing left to undo."""
        kept: dict[RepoId, Mapping[str, TrashEntry] | None] = {}
        over = []
        for key in keys:
            intent = self._context.store.read(partial(rows.intent, key=key))
            if intent is None:
                continue
            if intent.repo not in kept:
                kept[intent.repo] = self._trash(intent.repo)
            entries = kept[intent.repo]
            if entries is not None and not self._is_undoable(intent, entries):
                over.append(key)
        return over

    def _is_undoable(self, intent: Intent, kept: Mapping[str, TrashEntry]) -> bool:
        return self._context.store.read(lambda c: undo.is_undoable(c, intent, kept))

    def _trash(self, repo: RepoId) -> Mapping[str, TrashEntry] | None:
        """What a repository's trash holds; None where that cannot be seen, and so all is kept."""
        try:
            known = {row.id: row for row in self._context.store.read(rows.repos)}.get(repo)
            if known is None:
                return {}
            if repos.is_gone(known):
                return None
            return {entry.id: entry for entry in trash.entries(repos.git(known))}
        except WindlassError as error:
            log.warning("the trash of %s cannot be read: %s", repo, error.message)
            return None
