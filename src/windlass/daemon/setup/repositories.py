"""`wl repo`: which repositories Windlass knows.

Forgetting one is an intent: asked for twice under one key, what was forgotten the first time is
told, and not that it is gone already. Who adds a known one is told the same as the first time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from windlass.api.verbs import Caller
from windlass.api.wire.request import AnyRequest
from windlass.api.wire.setup import RepoReply, RepoRequest
from windlass.api.wire.views import RepoView
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.store import rows
from windlass.store.store import Writing

FORGET = "forget-repo"


class Repositories:
    """Makes repositories known, lists and forgets them."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def operations(self) -> tuple[Operation, ...]:
        """Forgetting is done as soon as it is recorded."""
        return (Operation(FORGET, (), lambda _: [], _forgotten),)

    def add(self, _caller: Caller, request: RepoRequest) -> RepoReply:
        """Makes a repository known, by its path."""
        path = str(Path(request.get("cwd", "/")) / request.get("repo", "."))
        repo = repos.add(self._context, path)
        return {"id": repo.id, "root": repo.root}

    def known(self, _caller: Caller, _request: AnyRequest) -> list[RepoView]:
        """The known repositories."""
        live = self._context.store.read(rows.agents)
        return [
            RepoView(
                id=repo.id,
                root=repo.root,
                agents=sum(agent.repo == repo.id for agent in live),
                added_at=repo.added_at,
            )
            for repo in self._context.store.read(rows.repos)
        ]

    def remove(self, _caller: Caller, request: RepoRequest) -> IntentDraft:
        """Forgets a repository, by its path or id; its files stay."""
        cwd = request.get("cwd", "/")
        repo = repos.find(self._context, request.get("repo", "."), cwd=cwd)

        def forget(writing: Writing) -> dict[str, Any]:
            repos.forget(writing, repo)
            return {"id": repo.id, "root": repo.root}

        return IntentDraft(repo.id, None, forget)


def _forgotten(work: RunningIntent) -> RepoReply:
    return {"id": work.data["id"], "root": work.data["root"]}
