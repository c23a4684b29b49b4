"""Tells the person once of a repository that was moved or deleted while agents of it live.

Nothing is done about it: it may be on a disk that comes back. What the agents write stays in their
workspaces, and `wl kill` keeps those whole where there is no repository to keep them in.
"""

from __future__ import annotations

import logging

from windlass.core.crew import Agent
from windlass.core.events import RepoMissing
from windlass.core.ids import RepoId
from windlass.core.printable import few
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.mail import notices
from windlass.store import rows
from windlass.store.rows import Repo
from windlass.store.store import Writing

log = logging.getLogger(__name__)


class MissingRepositories:
    """Looks whether the repositories of live agents are where they were."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._told: dict[RepoId, bool] = context.memory.per_repo()

    def look(self) -> None:
        """Tells of each that is missing, and again if it comes back and is missing once more."""
        live = self._context.store.read(rows.agents)
        for repo in self._context.store.read(rows.repos):
            crew = [agent for agent in live if agent.repo == repo.id]
            if not crew or not repos.is_gone(repo):
                self._told.pop(repo.id, None)
            elif repo.id not in self._told:
                self._tell(repo, crew)
                self._told[repo.id] = True

    def _tell(self, repo: Repo, crew: list[Agent]) -> None:
        text = f"{repo.root} is not there any more: {consequences(crew)}"
        log.warning("%s", text)

        def change(writing: Writing) -> None:
            writing.emit(RepoMissing(root=repo.root), repo=repo.id)
            notices.post(writing, repo.id, "windlass", "waiting", text, by_hand=True)

        self._context.store.write(change)


def consequences(crew: list[Agent]) -> str:
    """What becomes of the agents of a repository that is missing, and what helps."""
    names = few([agent.id for agent in crew])
    return (
        f"the files of {names} stay in their workspaces, and nothing can be merged;"
        " put it back, or run `wl list` where it is now; `wl kill` keeps the files and says"
        " where"
    )
