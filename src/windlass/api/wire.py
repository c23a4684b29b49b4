"""The types that cross the wire: one request and one reply per verb, as plain dictionaries.

Typed dictionaries, because the command line reads them with nothing but the standard library's
JSON, while the daemon checks requests against them with msgspec.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class AnyRequest(TypedDict):
    """Part of every request: from which folder it is asked."""

    cwd: NotRequired[str]
    key: NotRequired[str]
    """Made by the client; the same request sent again under the same key happens once."""


class AgentRequest(AnyRequest):
    """Asks about one agent; without `agent` the caller itself."""

    agent: NotRequired[str]


class PlaceRequest(AgentRequest):
    """Asks where an agent works, for a command with or without a terminal."""

    terminal: NotRequired[bool]


class ResumeRequest(AgentRequest):
    """Goes on with an agent, with other limits where they are given."""

    max_usd: NotRequired[float | None]
    max_seconds: NotRequired[float | None]


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


class RepoView(TypedDict):
    """A repository as listings show it."""

    id: str
    root: str
    agents: int
    added_at: float


class EventView(TypedDict):
    """One event of the log."""

    id: int
    at: float
    kind: str
    repo: str | None
    agent: str | None
    data: dict[str, Any]


class SpawnRequest(AnyRequest):
    """Starts an agent."""

    goal: str
    name: NotRequired[str | None]
    role: NotRequired[Literal["manager", "worker"] | None]
    parent: NotRequired[str | None]
    model: NotRequired[str | None]
    driver: NotRequired[str | None]
    script: NotRequired[str | None]
    script_text: NotRequired[str | None]
    """What stands in it, from who is in a box: it can only give away what it can read."""
    worktree: NotRequired[bool]
    mode: NotRequired[Literal["live", "headless"]]
    allow: NotRequired[list[str]]
    deny: NotRequired[list[str]]
    yolo: NotRequired[bool]
    isolation: NotRequired[Literal["auto", "required", "box", "hooks"] | None]
    network: NotRequired[Literal["host", "proxy", "none"] | None]
    fork: NotRequired[str | None]
    max_turns: NotRequired[int | None]
    max_usd: NotRequired[float | None]
    max_seconds: NotRequired[float | None]


class InitRequest(AnyRequest):
    """Sets up a repository; `accept` writes the allow lines that are proposed."""

    accept: NotRequired[bool]


class ListRequest(AnyRequest):
    """Lists agents."""

    manager: NotRequired[str | None]
    all_repos: NotRequired[bool]
    ended: NotRequired[bool]


class WhyRequest(AnyRequest):
    """Asks for an agent's state; `history` for every state that it has been in.

    With `home` the answer comes when what the agent has committed is on its branch.
    """

    agent: NotRequired[str | None]
    history: NotRequired[bool]
    home: NotRequired[bool]


class DriversRequest(AnyRequest):
    """Lists the drivers; `driver` is the one that the caller's environment names."""

    driver: NotRequired[str | None]


class DriverRequest(AnyRequest):
    """Names a driver."""

    driver: str


class EndRequest(AnyRequest):
    """Ends agents; `tree` takes everything below them too; no agents with `tree` means all."""

    agents: list[str]
    tree: NotRequired[bool]
    force: NotRequired[bool]


class MergeRequest(AgentRequest):
    """Merges an agent's branch and ends the agent."""

    into: NotRequired[str | None]


class SendRequest(AnyRequest):
    """Says something to an agent, to several (with commas), or to who is meant by a word."""

    agent: str
    text: str
    urgent: NotRequired[bool]
    wake: NotRequired[bool]
    reply_to: NotRequired[str | None]
    topic: NotRequired[str | None]
    expires: NotRequired[float | None]


class AnswerRequest(AnyRequest):
    """Answers a question, named by its id or by who asks."""

    question: str
    text: str
    wake: NotRequired[bool]


class QuestionsRequest(AnyRequest):
    """Lists questions; `all` also those that were answered."""

    all: NotRequired[bool]


class InboxRequest(AgentRequest):
    """Lists the messages to an agent or the person, or with `sent` from it."""

    all: NotRequired[bool]
    sent: NotRequired[bool]
    last: NotRequired[int | None]
    peek: NotRequired[bool]
    """Who only completes a word shows nobody anything: no receipt says that it was seen."""


class MessageRequest(AnyRequest):
    """Names a message."""

    message: str


class MessagesRequest(AnyRequest):
    """Names messages, or `all` that wait for the caller."""

    messages: NotRequired[list[str]]
    all: NotRequired[bool]


class ReceiptsRequest(AnyRequest):
    """Waits until messages are queued no more, or so many seconds."""

    messages: list[str]
    timeout: float


class MailRequest(AnyRequest):
    """A waiting hook asks for mail; `arm` is its name, by which it asks again."""

    session: int
    arm: str


class AskRequest(AnyRequest):
    """Asks whoever is above the calling agent."""

    text: str


class NotifyRequest(AnyRequest):
    """Posts a notice; an agent is its own sender, whatever `sender` says."""

    text: str
    type: NotRequired[Literal["complete", "waiting", "question"]]
    sender: NotRequired[str | None]


class ListenRequest(AnyRequest):
    """Waits for notices; `listener` tells a waiter from others, `pid` is only shown to them."""

    route: Literal["listen", "rewake"]
    listener: str
    timeout: NotRequired[float | None]
    pid: NotRequired[int | None]


class TakenRequest(AnyRequest):
    """Says that a waiter has what it was given."""

    numbers: list[int]
    listener: str
    route: Literal["listen", "rewake"]


class LookRequest(AgentRequest):
    """Shows an agent's screen; `lines` counts scrollback, None is all of it."""

    lines: NotRequired[int | None]
    colour: NotRequired[bool]


class DiffRequest(AgentRequest):
    """Shows what an agent changed."""

    stat: NotRequired[bool]
    colour: NotRequired[bool]
    folders: NotRequired[bool]


class LogRequest(AgentRequest):
    """Reads the log of an agent or of the repository."""

    after: NotRequired[int]
    last: NotRequired[int | None]


class NoteRequest(AgentRequest):
    """Writes a line into an agent's log."""

    text: str


class ReassignRequest(AnyRequest):
    """Gives an agent another parent, or none."""

    agent: str
    parent: str | None


class TrashRequest(AnyRequest):
    """Names trash entries."""

    entries: NotRequired[list[str]]
    older_than: NotRequired[float | None]
    name: NotRequired[str | None]


class ArchiveRequest(AnyRequest):
    """Names an archive."""

    archive: NotRequired[str | None]


class RepoRequest(AnyRequest):
    """Names a repository by path or id."""

    repo: NotRequired[str]


class CostsRequest(AnyRequest):
    """Asks what was spent, grouped, from a day on."""

    by: NotRequired[Literal["agent", "role", "task", "day", "model"] | None]
    since: NotRequired[str | None]
    all_repos: NotRequired[bool]


class ConfigRequest(AnyRequest):
    """Reads or changes configuration."""

    config_key: NotRequired[str]
    value: NotRequired[str]
    user: NotRequired[bool]


class ExplainToolRequest(AnyRequest):
    """Asks what would be decided about a call, given as a hook's input in JSON."""

    input: str
    agent: NotRequired[str | None]
    role: NotRequired[Literal["manager", "worker"] | None]
    level: NotRequired[Literal["hooks", "box"] | None]


class DenialsRequest(AgentRequest):
    """Asks what an agent was denied, by one hook or by any."""

    hook: NotRequired[str | None]


class HooksRequest(AnyRequest):
    """Installs, uninstalls or looks for the hooks of the person's own session.

    `config_folder` is where the caller's agent CLI has its settings.
    """

    where: NotRequired[Literal["project", "user"] | None]
    instructions: NotRequired[Literal["claude-md", "agents-md"] | None]
    config_folder: NotRequired[str]


class HookInput(TypedDict):
    """What an agent CLI tells a hook about a call of a tool. It is the agent's: trust no type."""

    hook_event_name: NotRequired[Any]
    session_id: NotRequired[Any]
    agent_id: NotRequired[Any]
    tool_name: NotRequired[Any]
    tool_use_id: NotRequired[Any]
    tool_input: NotRequired[Any]
    cwd: NotRequired[Any]
