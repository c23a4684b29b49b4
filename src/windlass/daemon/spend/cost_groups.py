"""What was spent, in the groups that somebody asked for, each with its sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sa

from windlass.api.wire.spend import CostRow
from windlass.core.crew import Agent
from windlass.core.ids import RepoId, Uid
from windlass.store import rows
from windlass.store.rows import Session
from windlass.store.spending import Spent

_OF_SESSIONS = ("role", "step", "mode", "credential")
_NO_TASK, _NO_STEP, _NOT_KNOWN = "(no task)", "(no step)", "(not known)"


class Group(NamedTuple):
    """A group of spending; tasks are those of one repository."""

    name: str
    repo: str = ""


class Groups:
    """Finds the group of what an agent spent: by itself, its task, its session or the day."""

    def __init__(
        self, connection: sa.Connection, by: str, agents: Sequence[Agent], repo: RepoId | None
    ) -> None:
        self.by = by or "agent"
        self.agents = {agent.uid: agent for agent in agents}
        self._sessions: dict[tuple[Uid, int], Session] = {}
        if by in _OF_SESSIONS:
            found = rows.sessions_of_all(connection, repo=repo)
            self._sessions = {(session.agent, session.number): session for session in found}

    def of(self, spent: Spent) -> Group:
        """Its group; an agent, which may be called like another one, is known by its uid."""
        agent = self.agents[spent.agent]
        match self.by:
            case "day":
                return Group(spent.day)
            case "model":
                return Group(spent.model)
            case "task":
                return Group(agent.task, agent.repo) if agent.task else Group(_NO_TASK)
            case "agent":
                return Group(agent.uid)
            case _:
                return Group(self._of_session(spent, agent))

    def _of_session(self, spent: Spent, agent: Agent) -> str:
        """An agent of a run has another role in each step, and may run otherwise."""
        session = self._sessions[spent.agent, spent.session]
        part = session.part
        match self.by:
            case "role":
                return part.role if part is not None else agent.role
            case "step":
                return part.label if part is not None else _NO_STEP
            case "mode":
                return session.mode or _NOT_KNOWN
            case _:
                return session.credential or _NOT_KNOWN


def rows_of(groups: Groups, spent: Sequence[Spent]) -> list[CostRow]:
    """The groups with what each came to, the dearest first; days in their order."""
    found: dict[Group, list[Spent]] = {}
    if groups.by == "agent":  # who is at work is shown even before it has spent anything
        live = (agent for agent in groups.agents.values() if agent.ended_at is None)
        found = {Group(agent.uid): [] for agent in live}
    for row in spent:
        found.setdefault(groups.of(row), []).append(row)
    shown = [_row(groups, group, spending) for group, spending in found.items()]
    if groups.by == "day":
        return sorted(shown, key=lambda row: row["name"])
    return sorted(shown, key=lambda row: (-row["usd"] - row["notional_usd"], row["name"]))


def _row(groups: Groups, group: Group, spent: Sequence[Spent]) -> CostRow:
    if groups.by != "agent":
        row = summed(group.name, spent)
        return {**row, "repo": group.repo} if group.repo else row
    agent = groups.agents[Uid(group.name)]
    return {
        **summed(agent.id, spent),
        "uid": agent.uid,
        "repo": agent.repo,
        "role": agent.role,
        "ended": agent.ended_at is not None,
    }


def summed(name: str, spent: Sequence[Spent]) -> CostRow:
    """What all of them came to."""
    return {
        "name": name,
        "input_tokens": sum(row.input_tokens for row in spent),
        "output_tokens": sum(row.output_tokens for row in spent),
        "cache_creation_input_tokens": sum(row.cache_creation_input_tokens for row in spent),
        "cache_read_input_tokens": sum(row.cache_read_input_tokens for row in spent),
        "usd": round(sum((row.cost for row in spent if not row.notional), 0.0), 6),
        "notional_usd": round(sum((row.cost for row in spent if row.notional), 0.0), 6),
    }
