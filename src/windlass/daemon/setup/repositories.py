"""`wl init` and `wl repo`: which repositories Windlass knows."""

from __future__ import annotations

from pathlib import Path

from windlass.api.verbs import Caller
from windlass.api.wire.request import AnyRequest
from windlass.api.wire.setup import InitReply, InitRequest, RepoReply, RepoRequest
from windlass.api.wire.views import RepoView
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.setup import init
from windlass.store import rows


class Repositories:
    """Makes repositories known, lists and forgets them."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def init(self, _caller: Caller, request: InitRequest) -> InitReply:
        """Makes the repository of the caller's folder known, and gives it a configuration."""
        accept = request.get("accept", False)
        return init.init(self._context, request.get("cwd", ""), accept=accept)

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

    def remove(self, _caller: Caller, request: RepoRequest) -> RepoReply:
        """Forgets a repository, by its path or id; its files stay."""
        cwd = request.get("cwd", "/")
        repo = repos.find(self._context, request.get("repo", "."), cwd=cwd)
        repos.forget(self._context, repo)
        return {"id": repo.id, "root": repo.root}
