"""Finished intents that are over: those that `wl undo` could still reverse are not."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

import sqlalchemy as sa

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

_AT_ONCE = 200
"""Rows removed in one transaction: others write as well."""


class OldIntents(NamedTuple):
    """Intents that are over, and about how many bytes they take."""

    keys: list[str]
    size: int


class IntentRetention:
    """Finds and removes finished intents that are old and that nobody could undo any more."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def parts(self, *, before: float) -> Iterator[OldIntents]:
        """Finds those that ended before a moment, part by part.

        What an intent that is not finished undoes stays: if that is taken back, it can be undone
        again.
        """
        store = self._context.store
        kept = store.read(_being_undone)
        old = partial(finished_intents.old, before=before, besides=UNDOABLE, kept=kept)
        yield from self._in_parts(store.read(old))
        kinds = partial(finished_intents.old_and_reversible, before=before, kinds=UNDOABLE)
        yield from self._in_parts(self._over(store.read(kinds)))

    def remove(self, part: OldIntents) -> None:
        """Removes a part, as far as it is still finished."""
        self._context.store.write(partial(finished_intents.remove, keys=part.keys))

    def _in_parts(self, keys: list[str]) -> Iterator[OldIntents]:
        for first in range(0, len(keys), _AT_ONCE):
            part = keys[first : first + _AT_ONCE]
            size = self._context.store.read(partial(finished_intents.size, keys=part))
            yield OldIntents(part, size)

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


def _being_undone(connection: sa.Connection) -> list[str]:
    """The finished intents that others undo just now."""
    unfinished = (*rows.open_intents(connection), *rows.set_aside(connection))
    return [str(intent.data["undoes"]) for intent in unfinished if "undoes" in intent.data]
