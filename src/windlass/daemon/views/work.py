"""Where agents work and what they changed: `wl diff`, and the place of `wl path` and `wl exec`."""

from __future__ import annotations

import base64
import shutil
import tempfile
from pathlib import Path

from windlass.api.verbs import Caller
from windlass.api.wire.views import DiffReply, DiffRequest, PlaceReply, PlaceRequest
from windlass.core.crew import Agent
from windlass.core.errors import Denied, NotFound
from windlass.daemon.kernel import lookup, repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import beside, boxes, session_request
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.git import changes, repository
from windlass.git.repository import Repository
from windlass.store import rows

_DOING = "look into"


class Work:
    """Shows the workspaces of agents, and what is different in them."""

    def __init__(self, context: Context, fetcher: CommitFetcher) -> None:
        self._context = context
        self._fetcher = fetcher

    def diff(self, caller: Caller, request: DiffRequest) -> DiffReply:
        """What an agent changed since its base, committed or not."""
        scope = lookup.scope(self._context, caller, request)
        agent = lookup.reachable_agent(self._context, scope, request.get("agent"), doing=_DOING)
        if request.get("folders") and scope.caller is not None:
            raise Denied("folders are made for a diff program of the person's", "use: wl diff")
        git = repos.git(repos.by_id(self._context, agent.repo))
        self._fetcher.try_to_fetch(agent)
        base = self._fork_point(git, agent)
        tip = repository.resolve(git, f"refs/heads/{agent.branch}") if agent.branch else None
        gone = not Path(agent.workspace).is_dir()
        box = boxes.reading(self._context, agent)
        if request.get("folders"):
            config = settings.usable(self._context.folders.home, git.root).config
            into = tempfile.mkdtemp(prefix=f"wl-diff-{agent.id}-")
            try:
                changes.materialise(
                    git, agent.workspace, base, into, otherwise=tip or base, box=box
                )
            except BaseException:
                shutil.rmtree(into, ignore_errors=True)
                raise
            tool = config.diff_tool
            return {"id": agent.id, "base": base, "gone": gone, "folder": into, "tool": tool}
        made = changes.diff(
            git,
            agent.workspace,
            base,
            stat=request.get("stat", False),
            color=False,  # nobody could tell git's colours from an agent's
            otherwise=tip or base,
            box=box,
        )
        shown = base64.b64encode(made).decode()
        return {"id": agent.id, "base": base, "gone": gone, "diff": shown}

    def _fork_point(self, git: Repository, agent: Agent) -> str:
        """Where the agent's branch left its parent's or the person's branch, as of now."""
        if agent.branch is None:
            return agent.base
        tip = repository.resolve(git, f"refs/heads/{agent.branch}")
        above = None
        if agent.parent is not None:
            uid = agent.parent
            above = self._context.store.read(lambda c: rows.agent(c, uid))
        onto = above.branch if above and above.branch else "HEAD"
        target = repository.resolve(git, onto)
        if tip is None or target is None:
            return agent.base
        fork = repository.merge_base(git, tip, target)
        if fork is None or not repository.is_ancestor(git, agent.base, fork):
            return agent.base
        return fork

    def place(self, caller: Caller, request: PlaceRequest) -> PlaceReply:
        """Where an agent works, and what a command run there should be told."""
        scope = lookup.scope(self._context, caller, request)
        agent = lookup.reachable_agent(self._context, scope, request.get("agent"), doing=_DOING)
        if not Path(agent.workspace).is_dir():
            raise NotFound(
                f"{agent.workspace}, {agent.id}'s workspace, is gone",
                f"`wl resume {agent.id}` makes it again from its branch",
            )
        # What were written there now, nobody would keep.
        lookup.refuse_ending(self._context, agent)
        known = session_request.beside_session(self._context, agent)
        terminal = request.get("terminal", False)
        box = boxes.prefix(self._context, agent, known, what="exec", terminal=terminal)
        # Without a box the command has the person's own environment, and what an agent is told.
        return {
            "id": agent.id,
            "path": agent.workspace,
            "env": known.extra_env,
            "mark": dict(beside.marked(self._context, agent, "exec")),
            "box": box,
        }
