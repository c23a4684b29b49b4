"""Events of agents' work: what is not committed, branches, workspaces, instructions."""

from __future__ import annotations

from windlass.core.events.catalogue import EventData
from windlass.core.ids import AgentId
from windlass.core.states import State


class WorkUncommitted(EventData, kind="work.uncommitted"):
    """An agent came to rest with work that is not committed."""

    state: State
    files: int
    names: list[str]


class NudgesOver(EventData, kind="nudges.over"):
    """An idle agent was reminded as often as it is, and is not reminded again."""

    reminders: int


class BranchMoved(EventData, kind="branch.moved"):
    """What an agent committed in its own clone was brought into the repository."""

    id: AgentId
    tip: str


class BranchStuck(EventData, kind="branch.stuck"):
    """What an agent committed in its own clone could not be brought into the repository."""

    id: AgentId
    error: str


class WorkspaceCommand(EventData, kind="workspace.command"):
    """The project's command for preparing or leaving a workspace was run."""

    what: str
    code: int | None
    timed_out: bool


class TeardownFailed(EventData, kind="teardown.failed"):
    """The project's command for leaving a workspace failed; the ending went on."""

    error: str


class PromptIncomplete(EventData, kind="prompt.incomplete"):
    """A part of an agent's instructions could not be read, and was left out."""

    id: AgentId
    why: str
