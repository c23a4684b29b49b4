"""What a person does now and then: configuration, repositories, drivers, doctor."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from windlass.api.wire.request import AnyRequest, Text, Word, Words
from windlass.core.box_spec import Network


class InitRequest(AnyRequest):
    """Sets up a repository; `accept` writes what is proposed."""

    accept: NotRequired[bool]
    commit: NotRequired[bool]
    """Whether what is written is committed; it is, unless this says otherwise."""
    private: NotRequired[bool]
    """Writes it to the person's own configuration for this repository, and nothing into that."""
    network: NotRequired[bool]
    """Whether the checks turned out to need the network."""
    review: NotRequired[Literal["none", "person"]]
    """Who looks at agents' work before it lands, where the person was asked."""
    mode: NotRequired[Literal["local", "push", "pr"]]
    """Where landings go, where the person was asked."""
    digest: NotRequired[Word]
    """Of the proposals that were shown; others are not written."""


class DriversRequest(AnyRequest):
    """Lists the drivers; `driver` is the one that the caller's environment names."""

    driver: NotRequired[Word | None]


class DriverRequest(AnyRequest):
    """Names a driver."""

    driver: str


class LoginRequest(AnyRequest):
    """Asks what a new agent of a driver and role logs in with in a box; `token` is one to keep."""

    driver: NotRequired[Word | None]
    role: NotRequired[Word | None]
    network: NotRequired[Network | None]
    token: NotRequired[Word]


class LoginView(TypedDict):
    """Whether a token is kept for a driver, since when, and whether it is all that a box lacks.

    `command` is what makes one, in the person's terminal; nothing for a driver that takes none.
    """

    driver: str
    kept_at: float | None
    lacks: bool
    command: list[str]


class LoginOffer(TypedDict):
    """Whether the person is to be asked for a token now, and what makes one."""

    offer: bool
    driver: str
    command: list[str]


class RepoRequest(AnyRequest):
    """Names a repository by path or id."""

    repo: NotRequired[str]


class ConfigRequest(AnyRequest):
    """Reads or changes configuration."""

    config_key: NotRequired[Word]
    value: NotRequired[Text]
    user: NotRequired[bool]


class ConfigView(TypedDict):
    """A key of the configuration: its value in force, and which file says so."""

    value: Any
    origin: str
    about: str


class ConfigProblem(TypedDict):
    """What is wrong in a file of the configuration, and what to do; no key: with all of it."""

    key: str
    message: str
    hint: str


class LineView(TypedDict):
    """A line of a repository's configuration that is not in force until the person accepts it."""

    key: str
    value: Any
    instead_of: Any
    """What is in force meanwhile."""
    digest: str
    in_boxes: bool
    """Whether agents in a box have it already."""
    personal: bool
    """Whether it counts in the person's own configuration alone, and cannot be accepted."""


class AcceptedView(TypedDict):
    """A line of a repository's configuration that the person accepted."""

    key: str
    value: Any
    at: float


class AcceptRequest(AnyRequest):
    """Accepts lines of a repository's configuration, as they were shown."""

    digests: Words


class RevokeRequest(AnyRequest):
    """Takes back what was accepted; without keys, all of it."""

    keys: NotRequired[Words]


class ProjectTrustReply(TypedDict):
    """What a repository's configuration asks for beyond what it may, and what was accepted."""

    root: str
    config: str
    waiting: list[LineView]
    accepted: list[AcceptedView]
    problems: list[str]


class ConfigReply(TypedDict):
    """The keys that were asked for, by name, and everything that is wrong and passed over."""

    settings: dict[str, ConfigView]
    problems: list[ConfigProblem]
    waiting: list[LineView]
    """What the repository's file asks for that is not in force, of the keys asked for."""


class WhoamiReply(TypedDict):
    """Who is asking, from where, and which daemon answers."""

    agent: str | None
    role: str
    repo: str | None
    pid: int
    version: str


class RepoReply(TypedDict):
    """A repository that was made known, or forgotten."""

    id: str
    root: str


class GateProposalView(TypedDict):
    """A gate that is proposed, by its keys."""

    setup: str
    deps: list[str]
    inputs: list[str]
    versions: list[str]
    check: list[dict[str, str]]


class InitFile(TypedDict):
    """A file as it would be; `patch` shows what changes in one that is there already."""

    path: str
    text: str
    patch: list[str]


class ProposalsView(TypedDict):
    """What is proposed for a repository, and what would be written."""

    gate: GateProposalView | None
    allow: list[str]
    toolchains: list[str]
    include: list[str]
    why: list[str]
    """How the gate was found, or why none was."""
    files: list[InitFile]


class InitLook(RepoReply):
    """What `init` would do."""

    proposals: ProposalsView
    digest: str
    target: str
    proves: bool
    """Whether there is a gate, or will be."""
    has_gate: bool
    may_add_network: bool
    asks_review: bool
    """Whether nobody has said yet who looks at agents' work before it lands."""
    asks_remote: str | None
    """The remote that landings may go to, where there is one and nobody has said if they do."""


class InitReply(RepoReply):
    """A repository that was set up, and what is proposed for it."""

    config: str
    made: bool
    toolchains: list[str]
    proposed: list[str]
    accepted: bool
    waiting: list[str]
    """The keys of its configuration that are not in force until the person accepts them."""
    written: list[str]
    commit: str | None
    uncommitted: str
    """Why what was written is not committed, where it should be."""
    push: str
    """What to type so that the commit counts, where landings go to a remote; else empty."""


class DriverView(TypedDict):
    """A driver, and what is wrong with it if anything is."""

    name: str
    version: str | None
    default: bool
    abilities: dict[str, bool]
    problem: str | None
    hint: str | None


class TrustReply(TypedDict):
    """Whether a driver's CLI trusted the folder of all workspaces already."""

    driver: str
    root: str
    already: bool


class ProbeView(TypedDict):
    """One thing that was tried, how it went, and what would help."""

    name: str
    works: bool
    detail: str
    fix: str


class LevelView(TypedDict):
    """What would confine a new agent of a driver, and why not more."""

    driver: str
    level: str
    why: str
    fix: str


class IsolationView(TypedDict):
    """What can confine agents on this machine."""

    available: str
    agents: list[LevelView]
    probes: list[ProbeView]


class DiskView(TypedDict):
    """What one kind of things takes of the disk; where not all was counted, at least that."""

    kind: str
    path: str
    bytes: int
    whole: bool


class DoctorReply(TypedDict):
    """What agents need, and whether it is there."""

    ok: bool
    needed: list[ProbeView]
    driver: str
    drivers: list[ProbeView]
    isolation: IsolationView
    login: LoginView | None
    """Of the driver that is taken here; None for an agent that asks, or where it is not known."""
    disk: list[DiskView]
    home: str
    sockets: str
    system: str
