"""What a session of a run has changed and must not: kept like any work, then taken back."""

from __future__ import annotations

import msgspec

from windlass.core.crew import Agent
from windlass.core.errors import Conflict
from windlass.core.events import AgentSalvaged
from windlass.daemon.agents import ending_settings
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.launch import boxes, homecomings, setup_files
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.runs import own_git
from windlass.git import repository, salvage


def tip(context: Context, fetcher: CommitFetcher, agent: Agent) -> str:
    """Where an agent's branch is."""
    fetcher.fetch(agent)
    git = repos.git(repos.by_id(context, agent.repo))
    return repository.read_ref(git, f"refs/heads/{agent.branch}") or agent.base


def take_back(
    work: RunningIntent, fetcher: CommitFetcher, agent: Agent, before: str, *, how: str
) -> None:
    """Has tree and branch be as they were; what came since goes to the trash first."""
    context = work.context
    left = setup_files.work_status(context, agent)
    dirty = (*left.staged, *left.unstaged, *left.untracked, *left.conflicted, *left.nested)
    is_there = left.branch == agent.branch and not left.operation
    if is_there and not dirty and tip(context, fetcher, agent) == before:
        return
    _keep(work, agent, how)
    own_git.reset(work, agent, before, kept=left.setup)
    if (now := tip(context, fetcher, agent)) != before:
        raise Conflict(
            f"the branch of {agent.id} is at {now[:12]}, and was at {before[:12]} before that step",
            f"its work is in the trash; look: wl diff {agent.id}",
        )


def _keep(work: RunningIntent, agent: Agent, how: str) -> None:
    context = work.context
    repo = repos.by_id(context, agent.repo)
    configured = ending_settings.kept(work, repo)
    if "stamp" not in work.data:
        work.keep(stamp=ending_settings.stamp(context.clock.now()))
    kept = salvage.salvage(
        repos.git(repo),
        path=agent.workspace,
        known_as=agent.workspace,
        branch=agent.branch or "",
        agent=agent.id,
        stamp=work.data["stamp"],
        meta={"how": how, "row": msgspec.to_builtins(agent)},
        ignored_cap=configured.trash.ignored_mb << 20,
        ignored_files_cap=configured.trash.ignored_files,
        allowed=homecomings.at_an_end(configured.box),
        box=boxes.keeping(context, agent, agent.workspace),
        provided=setup_files.provided(context, agent),
    )
    event = AgentSalvaged(ref=kept.ref, **msgspec.to_builtins(kept.summary))
    work.with_next_record(lambda w: w.emit(event, repo=repo.id, agent=agent.uid))
