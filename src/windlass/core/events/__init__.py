"""The catalogue of events: every kind that Windlass writes into its log, and the data of each.

A kind is a struct in one of the modules here, by what it is about; `Writing.emit` takes nothing
else, and `docs/events.md` is made from them. Where an event belongs (time, repository, agent) is
beside its data and not among the fields. A field with a default is left out of the data where it
has that default; every other is always there. What the log holds is read by people's programs:
kinds and fields are added, never renamed.
"""

from __future__ import annotations

from types import ModuleType

from windlass.core.events import (
    agents,
    hooks,
    intents,
    jobs,
    landing,
    mail,
    person,
    repositories,
    runs,
    sessions,
    spend,
    work,
)
from windlass.core.events.agents import (
    AgentAllowed,
    AgentConversation,
    AgentCreated,
    AgentEnded,
    AgentEnding,
    AgentGone,
    AgentInterrupted,
    AgentLimited,
    AgentMerged,
    AgentOvergrown,
    AgentReassigned,
    AgentRefreshed,
    AgentRefused,
    AgentReported,
    AgentRestored,
    AgentSalvaged,
    AgentStalled,
    AgentState,
    AgentTakenIn,
    AgentUnreadable,
    AgentUnsound,
    Note,
    TrashEmptied,
    agent_subject,
)
from windlass.core.events.catalogue import EventData, Logged, read
from windlass.core.events.hooks import (
    DECIDERS,
    HOOKS,
    Hook,
    HookGarbage,
    HookName,
    PolicyDecision,
)
from windlass.core.events.intents import (
    IntentDone,
    IntentFailed,
    IntentHalted,
    IntentOpen,
    IntentRetried,
    IntentSetAside,
    IntentUndoFailed,
)
from windlass.core.events.jobs import (
    JobBegun,
    JobCancelled,
    JobDone,
    JobEffect,
    JobSetAside,
    JobWoken,
)
from windlass.core.events.landing import ChangeApproved, ChangeLanded, ChangeQueued, ChangeStopped
from windlass.core.events.mail import (
    MAIL_MISSING,
    MailMissing,
    MailStuck,
    MessageAcked,
    MessageCollapsed,
    MessageExpired,
    MessageFailed,
    MessageRead,
    MessageReceived,
    MessageRequeued,
    MessageRevived,
    MessageSent,
    QuestionRefused,
    message_subject,
)
from windlass.core.events.person import (
    NoticePosted,
    NotifyFailed,
    StatusFileSkipped,
    StatusNodeSkipped,
    notice_subject,
)
from windlass.core.events.repositories import (
    ClockStepped,
    ConfigAccepted,
    ConfigRevoked,
    GitEnded,
    RepoAdded,
    RepoMissing,
    RepoMoved,
    RepoRemoved,
    StoreReplaced,
)
from windlass.core.events.runs import (
    BoardHeld,
    PlanBegun,
    PlanEnded,
    RunBegun,
    RunEnded,
    RunSubmitted,
    RunWaits,
    ScheduleAsked,
    SchedulePaused,
    StepBegun,
    StepEnded,
    StepIterated,
    TaskEdited,
    TaskPostponed,
    TaskUnmarked,
)
from windlass.core.events.sessions import (
    LineSkipped,
    OutputGarbage,
    SessionAnew,
    SessionEnded,
    SessionStarted,
    TurnEnded,
    TurnOver,
)
from windlass.core.events.spend import (
    USAGE_REFUSED,
    USAGE_WINDOW,
    BackendDown,
    BackendState,
    BackendUp,
    BudgetExceeded,
    BudgetWarning,
    UsageReckoned,
    UsageRefused,
    UsageWindowSeen,
)
from windlass.core.events.work import (
    BranchMoved,
    BranchStuck,
    NudgesOver,
    PromptIncomplete,
    TeardownFailed,
    WorkspaceCommand,
    WorkUncommitted,
)

__all__ = [
    "DECIDERS",
    "HOOKS",
    "KINDS",
    "MAIL_MISSING",
    "USAGE_REFUSED",
    "USAGE_WINDOW",
    "AgentAllowed",
    "AgentConversation",
    "AgentCreated",
    "AgentEnded",
    "AgentEnding",
    "AgentGone",
    "AgentInterrupted",
    "AgentLimited",
    "AgentMerged",
    "AgentOvergrown",
    "AgentReassigned",
    "AgentRefreshed",
    "AgentRefused",
    "AgentReported",
    "AgentRestored",
    "AgentSalvaged",
    "AgentStalled",
    "AgentState",
    "AgentTakenIn",
    "AgentUnreadable",
    "AgentUnsound",
    "BackendDown",
    "BackendState",
    "BackendUp",
    "BoardHeld",
    "BranchMoved",
    "BranchStuck",
    "BudgetExceeded",
    "BudgetWarning",
    "ChangeApproved",
    "ChangeLanded",
    "ChangeQueued",
    "ChangeStopped",
    "ClockStepped",
    "ConfigAccepted",
    "ConfigRevoked",
    "EventData",
    "GitEnded",
    "Hook",
    "HookGarbage",
    "HookName",
    "IntentDone",
    "IntentFailed",
    "IntentHalted",
    "IntentOpen",
    "IntentRetried",
    "IntentSetAside",
    "IntentUndoFailed",
    "JobBegun",
    "JobCancelled",
    "JobDone",
    "JobEffect",
    "JobSetAside",
    "JobWoken",
    "LineSkipped",
    "Logged",
    "MailMissing",
    "MailStuck",
    "MessageAcked",
    "MessageCollapsed",
    "MessageExpired",
    "MessageFailed",
    "MessageRead",
    "MessageReceived",
    "MessageRequeued",
    "MessageRevived",
    "MessageSent",
    "Note",
    "NoticePosted",
    "NotifyFailed",
    "NudgesOver",
    "OutputGarbage",
    "PlanBegun",
    "PlanEnded",
    "PolicyDecision",
    "PromptIncomplete",
    "QuestionRefused",
    "RepoAdded",
    "RepoMissing",
    "RepoMoved",
    "RepoRemoved",
    "RunBegun",
    "RunEnded",
    "RunSubmitted",
    "RunWaits",
    "ScheduleAsked",
    "SchedulePaused",
    "SessionAnew",
    "SessionEnded",
    "SessionStarted",
    "StatusFileSkipped",
    "StatusNodeSkipped",
    "StepBegun",
    "StepEnded",
    "StepIterated",
    "StoreReplaced",
    "TaskEdited",
    "TaskPostponed",
    "TaskUnmarked",
    "TeardownFailed",
    "TrashEmptied",
    "TurnEnded",
    "TurnOver",
    "UsageReckoned",
    "UsageRefused",
    "UsageWindowSeen",
    "WorkUncommitted",
    "WorkspaceCommand",
    "agent_subject",
    "message_subject",
    "notice_subject",
    "read",
]

_SUBJECTS = (
    repositories,
    agents,
    work,
    runs,
    sessions,
    hooks,
    mail,
    person,
    spend,
    landing,
    intents,
    jobs,
)
"""The modules of kinds, in the order in which the reference shows them."""


def _structs(module: ModuleType) -> list[type[EventData]]:
    return [
        item
        for item in vars(module).values()
        if isinstance(item, type)
        and issubclass(item, EventData)
        and item.kind
        and item.__module__ == module.__name__
    ]


KINDS: dict[str, type[EventData]] = {
    **{
        struct.kind: struct
        for module in _SUBJECTS
        for struct in _structs(module)
        if struct is not Hook
    },
    **{Hook.kind_of(name): Hook for name in HOOKS},
}
"""Every kind of the catalogue, with its struct."""
