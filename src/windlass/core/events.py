"""The catalogue of events: every kind that Windlass writes into its log, and the data of each.

A kind is a struct here; `Writing.emit` takes nothing else, and `docs/events.md` is made from it.
Where an event belongs (time, repository, agent) is beside its data and not told here. A field with
a default is left out of the data where it has that default; every other is always there. What the
log holds is read by people's programs: kinds and fields are added, never renamed.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Protocol, TypeVar, dataclass_transform, get_args

import msgspec
from msgspec import UNSET, UnsetType

from windlass.core import reasons, shapes
from windlass.core.ids import AgentId
from windlass.core.states import State

HOOK = "hook."
HookName = Literal[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "Notification",
    "PreCompact",
    "PostCompact",
    "SubagentStop",
    "Stop",
    "StopFailure",
    "SessionEnd",
]
"""The hooks that sessions are given. What else one claims to have heard is written as it says."""
HOOKS: tuple[HookName, ...] = get_args(HookName)
_LONGEST_KIND = 48


class _Catalogued(msgspec.StructMeta):
    """Makes the structs of events: made by keyword, and with the kind that each declares."""

    def __new__(
        cls, name: str, bases: tuple[type, ...], fields: dict[str, Any], *, kind: str, **config: Any
    ) -> Any:
        made: Any = super().__new__(cls, name, bases, fields, kw_only=True, **config)
        made.kind = kind
        return made


@dataclass_transform(kw_only_default=True, frozen_default=True)
class EventData(msgspec.Struct, metaclass=_Catalogued, kind="", frozen=True, omit_defaults=True):
    """What one event says, beyond when and where it happened."""

    kind: ClassVar[str]

    def written(self) -> tuple[str, dict[str, Any]]:
        """The kind and the data, as the log holds them."""
        return self.kind, msgspec.to_builtins(self)


class Logged(Protocol):
    """An event as the log has it."""

    @property
    def kind(self) -> str:
        """The name of its kind."""

    @property
    def data(self) -> dict[str, Any]:
        """What it carries."""


E = TypeVar("E", bound=EventData)


def read(kind: type[E], event: Logged) -> E:
    """The data of an event that is known to be of this kind."""
    data = event.data
    if issubclass(kind, Hook):
        data = {**data, "name": event.kind.removeprefix(HOOK)}
    return shapes.convert(data, kind)


class RepoAdded(EventData, kind="repo.added"):
    """A repository is known from now on."""

    root: str


class RepoMoved(EventData, kind="repo.moved"):
    """A known repository was found in another folder."""

    root: str
    was: str


class RepoRemoved(EventData, kind="repo.removed"):
    """A repository is known no more; its history is kept."""

    root: str


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
    """An agent's files took more room than it may have; it is paused."""

    id: AgentId
    why: str


class AgentReassigned(EventData, kind="agent.reassigned"):
    """An agent has another manager, or none."""

    id: AgentId
    why: str


class AgentReported(EventData, kind="agent.reported"):
    """The state that an agent came to is being told to whom it concerns."""

    state: State


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


class TrashEmptied(EventData, kind="trash.emptied"):
    """Salvaged work was deleted for good."""

    entries: list[str]


class Note(EventData, kind="note"):
    """Somebody wrote a line into an agent's log."""

    text: str
    by: str


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


class SessionStarted(EventData, kind="session.started"):
    """The program of a session runs."""

    session: int
    mode: str
    driver: str


class SessionAnew(EventData, kind="session.anew"):
    """A conversation that should be resumed was never written down, so it starts once more."""

    missing: str | None
    now: str


class SessionEnded(EventData, kind="session.ended"):
    """The program of a session is gone; without an exit code it left none."""

    session: int
    exit_code: int | None
    how: str


class TurnEnded(EventData, kind="turn.ended"):
    """A headless session printed the result of a turn; what it says is the agent CLI's own."""

    subtype: Any = None
    is_error: Any = None
    api_error_status: Any = None
    num_turns: Any = None
    total_cost_usd: Any = None
    duration_ms: Any = None
    result: str | None = None


class OutputGarbage(EventData, kind="output.garbage"):
    """A headless session printed a line that is not JSON."""

    line: str


class Hook(EventData, kind="hook.*"):
    """A session fired a hook; what it says is the agent CLI's own, and cut where it is long."""

    name: str
    tool_name: Any = None
    tool_input: Any = None
    prompt: Any = None
    last_assistant_message: Any = None
    error: Any = None
    message: Any = None
    source: Any = None
    reason: Any = None
    notification_type: Any = None
    trigger: Any = None

    @staticmethod
    def kind_of(name: HookName) -> str:
        """The kind of the events of one hook."""
        return f"{HOOK}{name}"

    def written(self) -> tuple[str, dict[str, Any]]:
        """Its name is part of the kind, and not of the data."""
        told = msgspec.to_builtins(self)
        return f"{HOOK}{told.pop('name')}"[:_LONGEST_KIND], told


class PolicyDecision(EventData, kind="hook.PolicyDecision"):
    """A tool call was denied; `asked` is there instead of the call where that could not be read."""

    by: Any
    hook: Any
    reason: Any
    asked: Any = UNSET
    tool_name: Any = UNSET
    tool_input: Any = UNSET
    cwd: Any = UNSET


class HookGarbage(EventData, kind="hook.garbage"):
    """Lines in a session's file of hook events could not be read; the first of them is shown."""

    line: str
    lines: int


class MessageSent(EventData, kind="message.sent"):
    """A message was written; it waits to be delivered."""

    id: str
    to: str
    recipient: str
    text: str


class MessageRequeued(EventData, kind="message.requeued"):
    """A message that was on its way did not arrive, and waits again."""

    id: str
    why: str


class MessageReceived(EventData, kind="message.received"):
    """A message is where it was sent to."""

    id: str
    sender: str
    text: str
    route: str
    seconds: float


class MessageRead(EventData, kind="message.read"):
    """The recipient has gone on after it had a message."""

    id: str
    sender: str


class MessageAcked(EventData, kind="message.acked"):
    """A message was dealt with."""

    id: str
    by: str


class MessageCollapsed(EventData, kind="message.collapsed"):
    """A message became one with another that says the same or something newer."""

    id: str
    reason: str | None = None
    into: str | None = None


class MessageFailed(EventData, kind="message.failed"):
    """A message will never arrive."""

    id: str
    reason: str


class MessageExpired(EventData, kind="message.expired"):
    """A message is of no use any more."""

    id: str
    reason: str


class MessageRevived(EventData, kind="message.revived"):
    """A message that was given up when an agent ended counts again."""

    id: str


class MailStuck(EventData, kind="mail.stuck"):
    """The mail of an agent could not be seen to."""

    error: str


class NoticePosted(EventData, kind="notice.posted"):
    """There is a notice for the person's own agent; `state` is there if it tells of one."""

    number: int
    sender: str
    type: str
    text: str
    state: State | None = None
    by_hand: bool = False


class NotifyFailed(EventData, kind="notify.failed"):
    """The person's notify command failed on a notice, or the configuration could not be read."""

    notice: int | UnsetType = UNSET
    code: int | UnsetType | None = UNSET
    how: str
    tail: str | UnsetType = UNSET


class StatusNodeSkipped(EventData, kind="status_node.skipped"):
    """The status of the crew in the person's CLAUDE.md could not be renewed."""

    path: str
    why: str


class StatusFileSkipped(EventData, kind="status_file.skipped"):
    """The status of the crew in .windlass/STATUS.md could not be written."""

    path: str
    why: str


class BudgetWarning(EventData, kind="budget.warning"):
    """A budget is spent, and the agent goes on because a subscription pays."""

    budget: str
    sentence: str


class BudgetExceeded(EventData, kind="budget.exceeded"):
    """A budget is spent, and the agent is being paused."""

    budget: str
    sentence: str
    hint: str


class IntentOpen(EventData, kind="intent.open"):
    """Windlass set out to do something; `what` is the operation."""

    intent: str
    what: str


class IntentDone(EventData, kind="intent.done"):
    """Something that Windlass set out to do is done."""

    intent: str
    what: str
    error: dict[str, Any] | None


class IntentFailed(EventData, kind="intent.failed"):
    """Something that Windlass set out to do failed; what could be taken back was."""

    intent: str
    what: str
    error: dict[str, Any] | None


class IntentUndoFailed(EventData, kind="intent.undo_failed"):
    """A step of something that failed could not be taken back."""

    intent: str
    step: str
    error: str


KINDS: dict[str, type[EventData]] = {
    **{made.kind: made for made in EventData.__subclasses__() if made is not Hook},
    **{Hook.kind_of(name): Hook for name in HOOKS},
}
