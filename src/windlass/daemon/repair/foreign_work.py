"""Work in trees that another tool made in a repository of ours: kept in the trash, as an agent's.

`wl import` asks for it. The trees stay as they are; asked again, what is kept already is kept once.
"""

from __future__ import annotations

import os
import re
import uuid
from pathlib import Path

import msgspec

from windlass.api.verbs import Caller
from windlass.api.wire.repair import ForeignWorkRequest, KeptWork
from windlass.core.config import role_settings
from windlass.core.crew import Agent
from windlass.core.errors import Denied, NotFound, UserError, WindlassError
from windlass.core.ids import AgentId, agent_id
from windlass.core.roles import USUAL
from windlass.core.states import State
from windlass.daemon.agents import ending_settings
from windlass.daemon.kernel import repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.policy import grants
from windlass.git import repository, salvage, trash, workspace_state
from windlass.store.rows import Repo

HOW = "import"
_ODD = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST = 48
_WORKSPACE = "workspace"
"""What such a tree is called in a folder of its worker."""


class ForeignWork:
    """Keeps what lies in such trees."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def keep(self, _caller: Caller, request: ForeignWorkRequest) -> list[KeptWork]:
        """Salvages each tree, named after its folder; says what could not be kept."""
        repo = repos.require(self._context, request.get("cwd", ""))
        return [self._kept(repo, path) for path in request.get("paths", [])]

    def _kept(self, repo: Repo, path: str) -> KeptWork:
        try:
            if not Path(path).is_absolute():
                raise UserError(f"{path} is no absolute path", "name the whole of it")
            if not Path(path).is_dir():
                raise NotFound(f"there is no folder {path}")
            place = self._place(repo, path)
            return {
                "path": path,
                "entry": self._salvage(repo, _name(Path(path)), place),
                "problem": "",
            }
        except WindlassError as error:
            return {"path": path, "entry": None, "problem": error.message}

    def _place(self, repo: Repo, path: str) -> str:
        """Where a path leads, which must be this repository's: nothing else comes into its refs."""
        git, place = repos.git(repo), os.path.realpath(path)
        root, own = os.path.realpath(git.root), os.path.realpath(git.git_dir)
        trees = {os.path.realpath(tree) for tree in workspace_state.admins(git).values()}
        inside = place.startswith(root + os.sep) and place != own
        if (inside and not place.startswith(own + os.sep)) or place in trees:
            return place
        raise Denied(f"{path} is {place}, which is no work tree of {repo.root} and not in it")

    def _salvage(self, repo: Repo, name: AgentId, path: str) -> str:
        git, now = repos.git(repo), self._context.clock.now()
        usable = settings.usable(self._context.folders.home, repo.root)
        earlier = [entry.commit for entry in trash.entries(git) if entry.agent == name]
        stamp = ending_settings.stamp(now)
        agent = self._agent(repo, name, path)
        caps = usable.config.trash
        done = salvage.salvage(
            git,
            path=path,
            agent=name,
            stamp=stamp,
            again=earlier,
            meta={"how": HOW, "row": msgspec.to_builtins(agent)},
            ignored_cap=caps.ignored_mb << 20,
            ignored_files_cap=caps.ignored_files,
        )
        return done.ref.removeprefix("refs/windlass/trash/").replace("/", "-")

    def _agent(self, repo: Repo, name: AgentId, path: str) -> Agent:
        """Whose work it would be here, so that it can be brought back."""
        context, now = self._context, self._context.clock.now()
        config = settings.usable(context.folders.home, repo.root).config
        tip = repository.require_commit(repos.git(repo))
        return Agent(
            uid=context.new_uid(),
            repo=repo.id,
            id=name,
            role=USUAL,
            parent=None,
            goal=f"(work of another tool, found in {path})",
            driver=role_settings(config, USUAL).driver or config.driver,
            model=None,
            mode="live",
            branch=f"agent/{name}",
            workspace=path,
            base=tip,
            base_from="HEAD",
            policy=grants.configured_policy(config, USUAL, "hooks"),
            script=None,
            slot=0,
            conversation=str(uuid.uuid4()),
            session=0,
            state=State.STOPPED,
            state_at=now,
            created_at=now,
            ended_at=now,
            ended_by=HOW,
        )


def _name(path: Path) -> AgentId:
    name = path.parent.name if path.name == _WORKSPACE else path.name
    plain = _ODD.sub("-", name).strip("-")[:_LONGEST]
    return agent_id(plain)
