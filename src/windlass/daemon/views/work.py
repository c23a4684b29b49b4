"""Where agents work and what they changed: `wl diff`, and the place of `wl path` and `wl exec`."""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path

from windlass.api.verbs import Caller
from windlass.api.wire.views import DiffReply, DiffRequest, PlaceReply, PlaceRequest
from windlass.core.crew import Agent
from windlass.core.errors import Denied, NotFound
from windlass.daemon.agents import merge_targets
from windlass.daemon.kernel import lookup, repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.lookup import Scope
from windlass.daemon.launch import beside, boxes, session_request, setup_files
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.git import changes, merges, repository, squashes, submodules, workspace_state
from windlass.git.erasure import erase
from windlass.git.repository import Repository

_DOING = "look into"


class Work:
    """Shows the workspaces of agents, and what is different in them."""

    def __init__(self, context: Context, fetcher: CommitFetcher) -> None:
        self._context = context
        self._fetcher = fetcher

    def diff(self, caller: Caller, request: DiffRequest) -> DiffReply:
        """What an agent committed since its base, and what it has not."""
        scope = lookup.scope(self._context, caller, request)
        agent = lookup.reachable_agent(self._context, scope, request.get("agent"), doing=_DOING)
        if request.get("folders") and scope.caller is not None:
            raise Denied("folders are made for a diff program of the person's", "use: wl diff")
        git = repos.git(repos.by_id(self._context, agent.repo))
        tip = self._tip_at_home(git, agent)
        base = self._fork_point(scope, agent, tip, request.get("cwd", ""))
        gone = not Path(agent.workspace).is_dir()
        about: DiffReply = {"id": agent.id, "base": base, "tip": tip, "gone": gone}
        box = boxes.reading(self._context, agent)
        if request.get("folders"):
            config = settings.usable(self._context.folders.home, git.root).config
            into = tempfile.mkdtemp(prefix=f"wl-diff-{agent.id}-")
            try:
                unread = changes.materialise(
                    git, agent.workspace, into, base=base, tip=tip, box=box
                )
            except BaseException:
                erase(into)
                raise
            return {**about, "folder": into, "tool": config.diff_tool, "unread": unread}
        stat = request.get("stat", False)
        made = changes.diff(git, agent.workspace, base=base, tip=tip, stat=stat, box=box)
        reply: DiffReply = {
            **about,
            "committed": base64.b64encode(made.committed).decode(),
            "uncommitted": base64.b64encode(made.uncommitted).decode(),
            "unread": made.unread,
        }
        if not gone and submodules.of_commit(git, tip):
            reply["nested"] = setup_files.work_status(self._context, agent).nested
        return reply

    def _tip_at_home(self, git: Repository, agent: Agent) -> str:
        """That tip, once it is here; fails where a merge would take another."""
        self._fetcher.try_to_fetch(agent)
        tip = self._tip(git, agent)
        if self._fetcher.missing(agent, tip) is None:
            return tip
        # The agent may have committed right after.
        self._fetcher.try_to_fetch(agent)
        tip = self._tip(git, agent)
        if missing := self._fetcher.missing(agent, tip):
            raise missing
        return tip

    def _tip(self, git: Repository, agent: Agent) -> str:
        """The commit that a merge would take; of an agent without a branch, the one it is at."""
        if agent.branch is not None:
            tip = repository.resolve(git, f"refs/heads/{agent.branch}")
        else:
            place = workspace_state.locate(git, agent.workspace)
            _, tip = workspace_state.head_of(git, place)
        return tip or agent.base

    def _fork_point(self, scope: Scope, agent: Agent, tip: str, cwd: str) -> str:
        """What a merge of a tip to where it usually goes would compare it with, as of now.

        Not where the agent began: its branch may have that from one who is gone, unseen by anybody.
        """
        if agent.branch is None:
            return agent.base
        repo = repos.by_id(self._context, agent.repo)
        git = squashes.seen(repos.git(repo))
        onto = merge_targets.usual_target(repo, agent, lookup.live(self._context, scope), cwd)
        target = repository.resolve(git, f"refs/heads/{onto}" if onto is not None else "HEAD")
        if target is None:
            return agent.base
        return merges.compared_with(git, tip=tip, target=target) or agent.base

    def place(self, caller: Caller, request: PlaceRequest) -> PlaceReply:
        """Where an agent works, and what a command run there should be told."""
        scope = lookup.scope(self._context, caller, request)
        agent = lookup.reachable_agent(self._context, scope, request.get("agent"), doing=_DOING)
        # What were written there now, nobody would keep.
        lookup.refuse_ending(self._context, agent)
        if not Path(agent.workspace).is_dir():
            raise NotFound(
                f"{agent.workspace}, {agent.id}'s workspace, is gone",
                f"`wl resume {agent.id}` makes it again from its branch",
            )
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
