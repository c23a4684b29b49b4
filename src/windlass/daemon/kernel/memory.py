"""What services remember of agents and repositories while the daemon runs.

Every such table is made here, and so forgets whoever is gone: an agent when it has ended, and what
a thread that was late wrote down after that, within a minute. Nothing in them is needed to be
right, only to be quick: the store has the truth.
"""

from __future__ import annotations

from typing import Any

from windlass.core.events import AgentEnded
from windlass.core.ids import RepoId, Uid
from windlass.store import rows
from windlass.store.store import Event, Store


class Memory:
    """Makes tables by agent and by repository, and forgets who is gone in all of them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._agents: list[dict[Uid, Any]] = []
        self._repos: list[dict[RepoId, Any]] = []
        store.listen(self._committed)

    def per_agent(self) -> dict[Uid, Any]:
        """Makes a table of something by agent."""
        self._agents.append({})
        return self._agents[-1]

    def per_repo(self) -> dict[RepoId, Any]:
        """Makes a table of something by repository."""
        self._repos.append({})
        return self._repos[-1]

    def sweep(self) -> None:
        """Forgets every agent that does not live, and every repository that is not known."""
        # Looked at before the store is asked: who is new since then is not taken for gone.
        agents = {uid for table in self._agents for uid in list(table)}
        repos = {repo for table in self._repos for repo in list(table)}
        for uid in agents - {agent.uid for agent in self._store.read(rows.agents)}:
            self._forget(uid)
        for repo in repos - {known.id for known in self._store.read(rows.repos)}:
            for table in self._repos:
                table.pop(repo, None)

    def _committed(self, events: list[Event]) -> None:
        for event in events:
            if event.kind == AgentEnded.kind and event.agent is not None:
                self._forget(event.agent)

    def _forget(self, uid: Uid) -> None:
        for table in self._agents:
            table.pop(uid, None)
