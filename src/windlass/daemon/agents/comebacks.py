"""One ended agent brought back by Windlass itself, because there is work for it again.

As `wl trash restore` does it, and only as what it was: under its own name, with its own branch.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from windlass.core.crew import Agent
from windlass.core.errors import Conflict, NotFound
from windlass.core.ids import Uid
from windlass.daemon.agents.restore import LostAgent, Restores
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import PATIENCE, Intents
from windlass.daemon.kernel.operations import IntentDraft
from windlass.git import trash
from windlass.git.repository import Repository
from windlass.git.trash import TrashEntry
from windlass.store import rows
from windlass.store.store import Writing


class Comebacks:
    """Begins the operation `restore` for agents that nobody named."""

    def __init__(self, context: Context, intents: Intents, restores: Restores) -> None:
        self._context = context
        self._intents = intents
        self._restores = restores

    def bring_back(self, uid: Uid, key: str) -> None:
        """Restores an ended agent, once under a key; refuses where it could not be itself."""
        self._intents.perform("restore", key, partial(self._begin, uid), patience=PATIENCE)

    def _begin(self, uid: Uid) -> IntentDraft:
        row = self._context.store.read(partial(rows.agent, uid=uid))
        if row is None:
            raise NotFound(f"no agent {uid}", "`wl trash list` has the work of those that ended")
        git = repos.git(repos.by_id(self._context, row.repo))
        entry = _entry_of(git, row) if row.branch is not None else None
        taken = repos.agent_branches(git)

        def prepare(writing: Writing) -> dict[str, Any]:
            plan = self._restores.reserve(writing, LostAgent(row, entry), taken, None)
            if plan["uid"] != uid:
                raise Conflict(
                    f"the name {row.id} is in use by now, or its branch or workspace is",
                    f"wl trash restore {entry.id if entry else row.id} --name NAME",
                )
            return {"agents": [plan]}

        return IntentDraft(row.repo, None, prepare)


def _entry_of(git: Repository, row: Agent) -> TrashEntry:
    """The newest salvage of this very agent, whoever else had its name."""
    for entry in trash.entries(git):
        of = entry.meta.get("row")
        if isinstance(of, dict) and of.get("uid") == row.uid:
            return entry
    raise NotFound(f"the trash has nothing of {row.id} any more", "`wl trash list` shows the rest")
