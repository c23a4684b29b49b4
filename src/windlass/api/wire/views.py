"""What faces look at: agents, logs, screens, trash, archives, repositories."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from windlass.api.wire.request import AgentRequest, AnyRequest, Whole, Word


class ListRequest(AnyRequest):
    """Lists agents."""

    manager: NotRequired[Word | None]
    all_repos: NotRequired[bool]
    ended: NotRequired[bool]


class AgentView(TypedDict):
    """An agent as listings show it."""

    id: str
    uid: str
    repo: str
    role: str
    state: str
    state_age: float
    evidence: str
    source: str
    parent: str | None
    parent_uid: str | None
    children: int
    branch: str | None
    workspace: str
    driver: str
    model: str | None
    mode: str
    isolation: str
    network: str
    goal: str
    slot: int
    age: float
    created_at: float
    ended_at: float | None
    ended_by: str | None
    persistent: NotRequired[bool]
    readonly: NotRequired[bool]
    task: NotRequired[str]
    """The task of the board that it works on; its run says what it does next."""
    stuck: NotRequired[str]
    """Why its commits do not come home, and what to do."""
    denied: NotRequired[str]
    """Why what an agent seems to need was denied: it waits since, or it was denied repeatedly."""
    goes_on_at: NotRequired[float]
    """When an agent that a limit stopped is to go on by itself."""


class RoleView(TypedDict):
    """A role; `withheld` is what its file asks for in vain, `problem` why that cannot be read."""

    name: str
    about: str
    spawns: bool
    persistent: bool
    readonly: bool
    withheld: list[str]
    problem: str


class WhyRequest(AnyRequest):
    """Asks for an agent's state; `history` for every state that it has been in.

    With `home` the answer comes when what the agent has committed is on its branch.
    """

    agent: NotRequired[Word | None]
    history: NotRequired[bool]
    home: NotRequired[bool]


class LookRequest(AgentRequest):
    """Shows an agent's screen; `lines` counts scrollback, None is all of it."""

    lines: NotRequired[Whole | None]
    colour: NotRequired[bool]


class DiffRequest(AgentRequest):
    """Shows what an agent changed."""

    stat: NotRequired[bool]
    folders: NotRequired[bool]


class LogRequest(AgentRequest):
    """Reads the log of an agent, of a change or of the repository."""

    change: NotRequired[Word]
    plain: NotRequired[bool]
    """Without what tells how Windlass went about it."""
    after: NotRequired[Whole]
    last: NotRequired[Whole | None]


class EventView(TypedDict):
    """One event of the log."""

    id: int
    at: float
    kind: str
    repo: str | None
    agent: str | None
    subject: str | None
    """What it is about: `agent:` and its name, later a task, a change or a run as well."""
    data: dict[str, Any]


class PlaceRequest(AgentRequest):
    """Asks where an agent works, for a command with or without a terminal."""

    terminal: NotRequired[bool]


class RepoView(TypedDict):
    """A repository as listings show it."""

    id: str
    root: str
    agents: int
    added_at: float


class PolicyView(TypedDict):
    """What an agent may use, beyond what its role gives it."""

    allow: list[str]
    deny: list[str]
    yolo: bool
    reading: Literal["guided", "strict"]
    """How shell lines are judged without a box."""


class LimitsView(TypedDict):
    """How much an agent may take; what is not there has no limit."""

    turns: NotRequired[int]
    usd: NotRequired[float]
    seconds: NotRequired[float]


class SessionView(TypedDict):
    """One session of an agent."""

    agent: str
    number: int
    marker: str
    started_at: float | None
    ended_at: float | None
    exit_code: int | None
    events_offset: int


class InfoReply(AgentView):
    """Everything about one agent."""

    base: str
    base_from: str
    policy: PolicyView
    script: str | None
    conversation: str
    folder: str
    port_base: int
    tmux: str
    transcript: str | None
    pid: int | None
    limits: LimitsView
    sessions: list[SessionView]


class PromptReply(TypedDict):
    """What an agent was told about itself."""

    id: str
    prompt: str


class HeadView(TypedDict):
    """Where the person's checkout is, and the last commit that was proven."""

    branch: str | None
    commit: str | None
    green: str | None


class CommitView(TypedDict):
    """One commit of an agent."""

    oid: str
    subject: str
    at: int


class UncommittedView(TypedDict):
    """What no commit has, by paths in the workspace."""

    exists: bool
    branch: str | None
    head: str | None
    staged: list[str]
    unstaged: list[str]
    untracked: list[str]
    conflicted: list[str]
    nested: list[str]
    unread: list[str]
    """Tracked files with too many holes to be read."""
    setup: NotRequired[list[str]]
    operation: str | None
    clean: bool


class WorkView(AgentView):
    """An agent and its work, or why that cannot be seen."""

    commits: list[CommitView]
    branch_gone: bool
    """Whether the repository has its branch no more."""
    work: UncommittedView | None
    error: str | None


class SetAsideView(TypedDict):
    """What was begun and is finished by nobody: whom it is about, how far it is, and what helps."""

    id: str
    kind: str
    status: Literal["set aside", "halted"]
    """Where it is halted, nothing else moves its branch."""
    repo: str
    branch: str
    agents: list[str]
    done: list[str]
    tries: int
    created_at: float
    why: str
    fix: str


class StatusReply(TypedDict):
    """The work of one agent or of the crew."""

    repo: str | None
    head: HeadView | None
    agents: list[WorkView]


class ObservationView(TypedDict):
    """What one source says about an agent."""

    source: str
    value: str
    at: float
    evidence: str
    reason: str
    """The kind of what was seen, of which `evidence` is the sentence."""
    session: int
    age: float


class StateView(TypedDict):
    """A state that an agent was in from a moment on, and what said so."""

    at: float
    state: str
    source: str
    evidence: str
    session: int


class WhyReply(TypedDict):
    """An agent's state, the word that decided it, and those that did not.

    `refused` says what of its own reports was not believed.
    """

    id: str
    state: str
    ended_by: str | None
    winner: ObservationView | None
    losers: list[ObservationView]
    refused: list[str]
    stuck: NotRequired[str]
    """Why its commits do not come home, and what to do."""
    history: NotRequired[list[StateView]]


class LookReply(TypedDict):
    """A screen; of a headless session also the lines as they stand."""

    id: str
    live: bool
    mode: str
    screen: str
    raw: NotRequired[str]


class DiffReply(TypedDict):
    """Two diffs in base64, or the folder that holds both sides of each and the tool for them."""

    id: str
    base: str
    tip: str
    """The commit that a merge would take."""
    gone: bool
    """Whether the workspace is gone: what is shown then is in no folder, but committed."""
    committed: NotRequired[str]
    """From the base to the tip."""
    uncommitted: NotRequired[str]
    """From the tip to what the workspace has."""
    unread: NotRequired[list[str]]
    """Files of the workspace that are too large to be compared, too full of holes, or too many."""
    nested: NotRequired[list[str]]
    """Submodules and other repositories in the workspace with work of their own, not shown here."""
    folder: NotRequired[str]
    tool: NotRequired[str]


class PlaceReply(TypedDict):
    """Where an agent works, and what a command run there has before it and around it.

    Outside of a box it carries the `mark` by which an ending finds it; a box does so by itself.
    """

    id: str
    path: str
    env: dict[str, str]
    mark: dict[str, str]
    box: list[str]


class AttachmentReply(TypedDict):
    """The commands that attach a terminal, or open a window of the person's own tmux."""

    id: str
    attach: list[str]
    window: list[str]
