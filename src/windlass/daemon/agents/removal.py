"""How an agent's workspace goes: out of everybody's reach, kept, and deleted as it was kept.

An editor of the person's, or a shell, may write to it until it is gone. So it is moved to a place
of ours first, where only those reach it who work in it already. If there are any, each file is
deleted only as it was kept, and what they write later is kept as well.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from windlass.core.crew import Agent
from windlass.core.errors import GitError
from windlass.core.events import AgentSalvaged
from windlass.core.ids import Uid
from windlass.core.printable import printable_line
from windlass.daemon.agents import ending_settings
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.launch import boxes, homecomings, setup_files
from windlass.git import removal, repository, salvage, workspaces
from windlass.git.removal import Look
from windlass.git.repository import Repository
from windlass.store.rows import Repo

_ROUNDS = 10
"""How often something is kept that was written late, until it is left where it is."""
Kept = Mapping[str, Any]
"""Where a salvage is, and how much it holds."""


class Removals:
    """Takes away workspaces; remembers between keeping and deleting who could still write."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._seen: dict[Uid, Look | None] = context.memory.per_agent()
        """What was there before it was kept; None where nobody could write to it any more."""

    def keep(self, work: RunningIntent, agent: Agent, repo: Repo, *, stamp: str, how: str) -> Kept:
        """Salvages an agent's work, out of everybody's reach; if that fails, it is back again."""
        self._move_aside(agent, repo, stamp)
        try:
            self._look(agent, stamp)
            return self._salvage(work, agent, repo, aside=stamp, stamp=stamp, how=how)
        except Exception:
            self._move_back(agent, repo, stamp)
            raise

    def remove(self, work: RunningIntent, agent: Agent, repo: Repo, *, stamp: str) -> None:
        """Deletes the workspace and the branch of an agent whose work was kept.

        Keeps what was written after that. Where there is no end to it, the rest stays where it is,
        and that is noted.
        """
        git, place, branch = repos.git(repo), self._aside(agent, stamp), agent.branch or ""
        for _ in range(_ROUNDS):
            is_kept = workspaces.is_kept(git, branch, _commits(work, agent, git))
            if agent.uid not in self._seen or not is_kept:
                # It was kept by an earlier daemon, or somebody has written since.
                self._keep_late(work, agent, repo, stamp=stamp)
                continue
            seen = self._seen.pop(agent.uid)
            if seen is not None:
                removal.clear(place, seen)
            if seen is None or not os.path.lexists(place):
                self._erase(agent, repo, stamp)
            self._move_aside(agent, repo, stamp)  # where somebody has made it again
            if not os.path.lexists(place):
                with contextlib.suppress(OSError):  # another agent is being ended, too
                    self._context.folders.ending(agent.repo).rmdir()
                return
        self._leave(work, agent, repo, stamp=stamp)

    def _erase(self, agent: Agent, repo: Repo, stamp: str) -> None:
        """Deletes everything of a workspace; where git refuses that, it is back again."""
        place, branch = self._aside(agent, stamp), agent.branch or ""
        try:
            workspaces.remove(repos.git(repo), path=place, branch=branch, agent=agent.id)
        except GitError:
            self._move_back(agent, repo, stamp)
            raise

    def is_aside(self, agent: Agent, stamp: str) -> bool:
        """Whether an agent's workspace was moved out of reach."""
        return os.path.lexists(self._aside(agent, stamp))

    def _leave(self, work: RunningIntent, agent: Agent, repo: Repo, *, stamp: str) -> None:
        """Leaves what somebody still writes to where it is, once all before that is kept."""
        git, place, branch = repos.git(repo), self._aside(agent, stamp), agent.branch or ""
        if not workspaces.is_kept(git, branch, _commits(work, agent, git)):
            self._move_back(agent, repo, stamp)
            raise GitError(
                f"{printable_line(branch)} keeps moving while {agent.id} is being ended",
                "stop whatever commits there, then try again",
            )
        workspaces.forget(git, path=place, branch=branch, agent=agent.id)
        users = ", ".join(self._context.commands.users(Path(place))) or "something"
        note = f"{agent.id}: {users} still writes to {place}, so that stays until nobody does"
        work.amend(lambda data: {"notes": [*data.get("notes", []), note]})

    def _keep_late(self, work: RunningIntent, agent: Agent, repo: Repo, *, stamp: str) -> None:
        """Keeps what has been written since the work was kept, if there is anything."""
        known = _commits(work, agent, repos.git(repo))
        self._look(agent, stamp)
        if not known:
            return  # there was nothing to keep before, so nobody has written
        now = ending_settings.stamp(self._context.clock.now())
        kept = self._salvage(
            work, agent, repo, aside=stamp, stamp=now, how=work.data.get("how", ""), after=known
        )
        if kept["ref"] not in [known["ref"] for known in _kept(work, agent)]:
            late = work.data.get("late", {}).get(agent.uid, [])
            work.keep_entry("late", agent.uid, [*late, kept])

    def _look(self, agent: Agent, stamp: str) -> None:
        """Sees who can still write, and in that case what is there."""
        place = self._aside(agent, stamp)
        used = self._context.commands.users(Path(place))
        self._seen[agent.uid] = removal.look(place) if used else None

    def _salvage(
        self,
        work: RunningIntent,
        agent: Agent,
        repo: Repo,
        *,
        aside: str,
        stamp: str,
        how: str,
        after: Sequence[str] = (),
    ) -> Kept:
        configured = ending_settings.kept(work, repo)
        trash, place = configured.trash, self._aside(agent, aside)
        kept = salvage.salvage(
            repos.git(repo),
            path=place,
            known_as=agent.workspace,
            after=after,
            branch=agent.branch or "",
            agent=agent.id,
            stamp=stamp,
            meta={"how": how, "row": msgspec.to_builtins(agent)},
            ignored_cap=trash.ignored_mb << 20,
            ignored_files_cap=trash.ignored_files,
            allowed=homecomings.at_an_end(configured.box),
            box=boxes.keeping(self._context, agent, place),
            provided=setup_files.provided(self._context, agent),
        )
        summary: dict[str, Any] = msgspec.to_builtins(kept.summary)
        if kept.commit not in after:
            event = AgentSalvaged(ref=kept.ref, **summary)
            work.with_next_record(lambda w: w.emit(event, repo=repo.id, agent=agent.uid))
        name = f"{agent.id}-{stamp}"
        return {"id": name, "ref": kept.ref, "commit": kept.commit, "summary": summary}

    def _aside(self, agent: Agent, stamp: str) -> str:
        return str(self._context.folders.ending(agent.repo) / f"{stamp}-{agent.id}")

    def _move_aside(self, agent: Agent, repo: Repo, stamp: str) -> None:
        workspaces.move(repos.git(repo), path=agent.workspace, to=self._aside(agent, stamp))

    def _move_back(self, agent: Agent, repo: Repo, stamp: str) -> None:
        workspaces.move(repos.git(repo), path=self._aside(agent, stamp), to=agent.workspace)


def _kept(work: RunningIntent, agent: Agent) -> list[Kept]:
    """What was kept of an agent so far."""
    first = work.data.get("trash", {}).get(agent.uid)
    return [*([first] if first else []), *work.data.get("late", {}).get(agent.uid, [])]


def _commits(work: RunningIntent, agent: Agent, git: Repository) -> list[str]:
    """The commits of what was kept of an agent so far."""
    kept = _kept(work, agent)
    # What an older release kept has a ref alone.
    oids = (one.get("commit") or repository.read_ref(git, one["ref"]) for one in kept)
    return [oid for oid in oids if oid is not None]
