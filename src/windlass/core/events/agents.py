"""Events of agents: how they begin, what they do, and how they end."""

from __future__ import annotations

from windlass.core import reasons
from windlass.core.events.catalogue import EventData
from windlass.core.ids import AgentId, Uid
from windlass.core.mail import stalls
from windlass.core.states import State


def agent_subject(uid: Uid) -> str:
    """What events of an agent are about, where they are about nothing else."""
    return f"agent:{uid}"


class AgentCreated(EventData, kind="agent.created"):
    """An agent was begun, and its workspace is being prepared."""

    id: AgentId
    role: str
    parent: AgentId | None
    goal: str
    base: str
    base_from: str
    isolation: str
    network: str


class AgentState(EventData, kind="agent.state"):
    """An agent's state changed, with the observation that decided it."""

    was: State
    now: State
    source: str
    evidence: str
    session: int | None = None
    reason: reasons.Kind | None = None


class AgentAllowed(EventData, kind="agent.allowed"):
    """A person allowed a running agent more than it was started with."""

    id: AgentId
    patterns: list[str]


class AgentConversation(EventData, kind="agent.conversation"):
    """The session of an agent goes on in another conversation, which is resumed from now on."""

    now: str


class AgentInterrupted(EventData, kind="agent.interrupted"):
    """An agent's turn was asked to stop."""


class AgentLimited(EventData, kind="agent.limited"):
    """An agent was given limits of its own."""

    id: AgentId
    turns: int | None = None
    usd: float | None = None
    seconds: float | None = None


class AgentOvergrown(EventData, kind="agent.overgrown"):
    """An agent took too much room, on its disk, in the repository or in the store; it is paused."""

    id: AgentId
    why: str


class AgentReassigned(EventData, kind="agent.reassigned"):
    """An agent has another manager, or none."""

    id: AgentId
    why: str


class AgentReported(EventData, kind="agent.reported"):
    """The state that an agent came to is being told to whom it concerns."""

    state: State


class AgentStalled(EventData, kind="agent.stalled"):
    """An agent cannot go on by itself, and its manager and the person were told so."""

    id: AgentId
    what: stalls.What
    why: str
    session: int


class AgentUnsound(EventData, kind="agent.unsound"):
    """A file in which an agent's session tells of itself is none that could be; it is paused."""

    id: AgentId
    file: str
    path: str
    why: str


class AgentUnreadable(EventData, kind="agent.unreadable"):
    """What an agent's session left behind could not be read."""

    error: str


class AgentMerged(EventData, kind="agent.merged"):
    """An agent's branch was merged."""

    id: AgentId
    into: str
    commit: str
    was: str
    verdict: str
    protected: list[str]


class AgentRefreshed(EventData, kind="agent.refreshed"):
    """An agent's branch was rebased onto what is proven of the target."""

    id: AgentId
    was: str
    commit: str
    onto: str


class AgentEnding(EventData, kind="agent.ending"):
    """Somebody set out to end an agent."""

    id: AgentId
    how: str
    by: str


class AgentSalvaged(EventData, kind="agent.salvaged"):
    """An agent's work was put into the trash before its workspace goes."""

    ref: str
    changed: int
    untracked: int
    ignored: int
    nested: int
    stashes: int
    commits: int
    size: int
    dropped: int


class AgentEnded(EventData, kind="agent.ended"):
    """An agent is gone; its work is merged or in the trash."""

    id: AgentId
    how: str
    by: str


class AgentRestored(EventData, kind="agent.restored"):
    """An agent that had ended is back, stopped."""

    id: AgentId
    entry: str


class AgentTakenIn(EventData, kind="agent.taken_in"):
    """An agent that the store did not know, or knew as it was long ago, is known as it is."""

    id: AgentId
    evidence: str


class AgentRefused(EventData, kind="agent.refused"):
    """An agent that the store does not know could not be taken in: it contradicts the store."""

    id: AgentId
    evidence: str
    why: str


class AgentGone(EventData, kind="agent.gone"):
    """An agent that an older store took for alive had ended since."""

    id: AgentId
    evidence: str


class TrashEmptied(EventData, kind="trash.emptied"):
    """Salvaged work was deleted for good."""

    entries: list[str]


class Note(EventData, kind="note"):
    """Somebody wrote a line into an agent's log."""

    text: str
    by: str
