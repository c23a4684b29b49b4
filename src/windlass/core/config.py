"""Configuration: its keys, their defaults, and what each is for.

Pure. How files are checked and merged into one configuration is `config_layers`'.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import (
    Annotated,
    Any,
    Literal,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec

from windlass.core import config_roles, config_values
from windlass.core.box_spec import Isolation, Network
from windlass.core.config_roles import RoleSettings, Tools
from windlass.core.crew import ShellReading
from windlass.core.errors import ConfigError
from windlass.core.ids import RoleName
from windlass.core.roles import SHIPPED

Positive = Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]
Size = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]
Usd = Annotated[float, msgspec.Meta(ge=0, le=1_000_000_000)]


class WorkspaceSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What makes a fresh checkout usable: the project's own commands, and files to bring along."""

    setup: str = ""
    teardown: str = ""
    timeout: Seconds = 600.0
    include: list[str] = []


class BoxSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What boxes show and reach beyond the workspace, and how much they may take; 0: no limit."""

    domains: list[str] = []
    toolchains: list[str] = []
    env: list[str] = []
    memory_mb: Size = 8192
    processes: Size = 1024
    open_files: Size = 8192
    file_mb: Size = 4096
    temp_mb: Size = 2048
    disk_mb: Size = 20480
    home_mb: Size | None = None
    store_mb: Size = 256


class CheckSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One check of the gate: a command, and how it is known that it tested anything."""

    name: str
    run: str
    timeout: Seconds | None = None
    tests: Literal["some", "none"] = "some"
    junit: str = ""


class GateSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What decides whether a tree is good, and what that needs."""

    commands: list[str] = []
    check: list[CheckSettings] = []
    setup: str = ""
    setup_network: bool = True
    setup_domains: list[str] = []
    deps: list[str] = []
    inputs: list[str] = []
    versions: list[str] = []
    network: bool = False
    cache: list[str] = []
    box: bool = True


class PolicySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How calls of tools are judged where no box is the limit."""

    shell: ShellReading = "guided"


Mode = Literal["local", "push", "pr"]
"""Where landings go: to the branch here, to that of a remote, or into a pull request there."""
Method = Literal["merge", "squash"]
"""What a landing is on the target: a merge, or one commit with one parent."""


class RunSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a board is worked off."""

    sessions: Literal["headless", "live"] = "headless"


class LandingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What lands and where, and what only a person may let in."""

    target: str = ""
    protected: list[str] = []
    review: Literal["", "none", "person"] = ""
    max_attempts: Annotated[int, msgspec.Meta(ge=1)] = 3
    mode: Mode = "local"
    remote: str = "origin"
    method: Method = "merge"
    unsigned: bool = False
    unproven: str = ""


class TrashSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much of what git ignores is kept when work is salvaged."""

    ignored_mb: Annotated[int, msgspec.Meta(ge=0)] = 64
    ignored_files: Annotated[int, msgspec.Meta(ge=0)] = 10_000


class RetentionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many days things are kept that nobody needs any more; 0: for ever.

    What an intent that is not finished names, and what `wl undo` would take next, stays whatever
    is said here.
    """

    trash: Size = 30
    archive: Size = 90
    events: Size = 365
    intents: Size = 30
    messages: Size = 180
    notices: Size = 180
    screens_mb: Size = 8
    gate_logs: Size = 14
    layers_mb: Size = 20_480


Way = Literal["CLAUDE.md", "rules", "skills", "commands", "agents"]
"""What of a person's own Claude configuration can come into a box."""
WAYS: tuple[Way, ...] = get_args(Way)
FILE_WAYS: frozenset[Way] = frozenset({"CLAUDE.md"})
"""Those that are a file; all others are folders."""
_USUAL_WAYS: tuple[Way, ...] = ("CLAUDE.md", "skills", "commands", "agents")


class ClaudeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How Claude Code is configured and paid for in agents, and what of the person's it has."""

    config: Literal["inherit", "own"] = "inherit"
    token_file: str = ""
    api_key_file: str = ""
    bring: list[Way] = msgspec.field(default_factory=lambda: [*_USUAL_WAYS])
    mcp: list[str] = []


class BudgetSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many USD may be spent before agents are paused; 0 or None is no limit.

    And above which percentage of a subscription's usage window no agent is started.
    """

    agent: Usd = 10.0
    day: Usd = 50.0
    repo: Usd | None = None
    run: Usd | None = None
    step: Usd | None = None
    window: Annotated[int, msgspec.Meta(ge=0, le=100)] = 80


class MailSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much may be said: messages a minute of one sender, and messages that wait for one."""

    rate: Positive = 120
    inbox: Positive = 200


class NudgeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When an agent that is idle and not done is reminded; each time after twice as long.

    And whether one is told that calls its goal reached with uncommitted work.
    """

    first: Seconds = 120.0
    most: Size = 4
    uncommitted: bool = True


class NotifySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is run for each notice to the person."""

    command: str = ""


class StatusNodeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The crew's status in the instructions file of the person's own agent."""

    enabled: bool = False
    update_interval: Seconds = 10.0
    max_messages: Size = 50
    include_children_count: bool = True


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every key, with its default."""

    driver: str = "claude"
    model: str = ""
    pipeline: str = ""
    max_agents: Positive | None = None
    diff_tool: str = ""
    isolation: Isolation = "auto"
    network: Network = "host"
    allow_agent_questions: bool = True
    notices: Literal["roots", "all"] = "roots"
    status_file: bool = False
    workspace: WorkspaceSettings = WorkspaceSettings()
    roles: dict[RoleName, RoleSettings] = {}
    permissions: dict[RoleName, Tools] = {}
    box: BoxSettings = BoxSettings()
    policy: PolicySettings = PolicySettings()
    gate: GateSettings = GateSettings()
    run: RunSettings = RunSettings()
    landing: LandingSettings = LandingSettings()
    trash: TrashSettings = TrashSettings()
    retention: RetentionSettings = RetentionSettings()
    claude: ClaudeSettings = ClaudeSettings()
    budget: BudgetSettings = BudgetSettings()
    mail: MailSettings = MailSettings()
    nudges: NudgeSettings = NudgeSettings()
    notify: NotifySettings = NotifySettings()
    status_node: StatusNodeSettings = StatusNodeSettings()

    @property
    def protected(self) -> list[str]:
        """The project's own protected paths, and the pipeline that it names: it leads every run."""
        return [*self.landing.protected, *([self.pipeline] if self.pipeline else [])]


ABOUT = {
    "driver": "the agent CLI that `wl new` starts",
    "model": "the model to ask for; empty means the CLI's own default",
    "pipeline": "the pipeline of tasks that name none: a name, or a file; empty means `fast`",
    "max_agents": "how many agents may live at once; unset: no limit for people, 10 for agents",
    "diff_tool": "program that `wl diff --tool` opens with two folders",
    "isolation": "`auto` (the best there is), `required` or `box` (a box or nothing), or `hooks`",
    "network": "what boxed agents reach: `host`, `proxy` (box.domains), `none` (the model alone)",
    "allow_agent_questions": "whether agents may ask the person (`wl ask`)",
    "notices": "whose news wake your own agent: of `roots`, or of `all` agents",
    "status_file": "whether `.windlass/STATUS.md` says how the crew is",
    "workspace.setup": "shell command that makes a fresh workspace usable",
    "workspace.teardown": "shell command run before a workspace is removed",
    "workspace.timeout": "seconds that setup and teardown may take",
    "workspace.include": "ignored files that workspaces get copies of, as patterns of .gitignore",
    **{key: said for name in SHIPPED for key, said in config_roles.about("roles", name).items()},
    **{
        key: said
        for name in SHIPPED
        for key, said in config_roles.about("permissions", name).items()
    },
    "box.domains": "host names that agents with network `proxy` reach; `*.` in front: all below",
    "box.toolchains": "more folders that boxes show, read-only",
    "box.env": "names of more variables that boxed agents get",
    "box.memory_mb": "MiB of memory that one agent may use",
    "box.processes": "how many processes one agent may have",
    "box.open_files": "how many files a process of an agent may have open",
    "box.file_mb": "MiB that one file of an agent may have",
    "box.temp_mb": "MiB of an agent's private /tmp, which is memory",
    "box.disk_mb": "MiB that an agent's workspace and home may grow to before it is paused",
    "box.home_mb": "MiB that its commits may add to your repository; unset: a tenth of disk_mb",
    "box.store_mb": "MiB of Windlass's own store that an agent may fill, with or without a box",
    "policy.shell": "how lines are judged without a box: `guided`, by reach, or `strict`, by lists",
    "gate.commands": "the commands that decide whether a tree is good; agents may always run them",
    "gate.check": "checks with a name each: `[[gate.check]]` with name, run, timeout, tests, junit",
    "gate.setup": "shell command that makes what checks need, once for each state of gate.inputs",
    "gate.setup_network": "whether gate.setup reaches the network",
    "gate.setup_domains": "the host names that it reaches then; none named: all",
    "gate.deps": "paths or patterns in the tree that gate.setup makes and checks need",
    "gate.inputs": "files that gate.setup depends on, such as lock files",
    "gate.versions": "commands whose output a verdict depends on, such as `python3 --version`",
    "gate.network": "whether checks reach the network",
    "gate.cache": "paths in the tree; runs see a copy of what the last landed tree's run left",
    "gate.box": "whether the gate runs in a box; false is yours to say, and verdicts tell it",
    "run.sessions": "how the steps of tasks run: `headless`, or `live`, to be watched and joined",
    "landing.target": "the branch that changes land on; unset: the remote's default, or yours",
    "landing.protected": "paths that only a person lets change, beside those that always are",
    "landing.review": (
        "who looks before agents' work lands: a `person`, or `none`; unset: a person, but for runs"
    ),
    "landing.max_attempts": "how often a change comes back to its agent before you are asked",
    "landing.mode": "`local` (no remote is asked), `push`, or `pr`: a pull request each",
    "landing.remote": "the remote whose branch changes land on, with mode `push` or `pr`",
    "landing.method": "`merge`, or `squash`: each landing is one commit with one parent",
    "landing.unsigned": "whether landings may go without your `commit.gpgsign`; yours alone",
    "landing.unproven": "why this lands without a gate, where it has none; unset: it does not",
    "claude.config": "`inherit` your own Claude configuration, or an `own` folder per agent",
    "claude.token_file": "file with a token of `claude setup-token`, for agents with an own folder",
    "claude.api_key_file": "file with an API key, for agents with an own folder",
    "claude.bring": "what of your Claude configuration boxed agents have, as copies; yours alone",
    "claude.mcp": "names of your MCP servers that boxed agents start in their box; yours alone",
    "trash.ignored_mb": "MiB of ignored files that salvage keeps",
    "trash.ignored_files": "how many ignored files salvage keeps",
    "retention.trash": "days that salvaged work stays in the trash; 0: for ever",
    "retention.archive": "days that archives of ended agents stay; 0: for ever",
    "retention.events": "days that events stay in the log; 0: for ever",
    "retention.intents": "days that finished intents stay, longer while `wl undo` reverses them",
    "retention.messages": "days that messages stay which nothing more happens to; 0: for ever",
    "retention.notices": "days that notices stay; 0: for ever",
    "retention.screens_mb": "MiB of what earlier sessions of a live agent printed; 0: all of it",
    "retention.gate_logs": "days that logs of gate runs stay; 0: for ever",
    "retention.layers_mb": "MiB of what gate setups made and caches hold; 0: all of it",
    "budget.agent": "USD that one agent may spend before it is paused; 0: no limit",
    "budget.day": "USD that all agents together may spend in a day; 0: no limit",
    "budget.repo": "USD that all agents of a repository may ever spend; unset: no limit",
    "budget.run": "USD that one try of a task may cost before it fails; unset: budget.agent alone",
    "budget.step": "USD that one visit of a step may cost before it is ended; unset: no limit",
    "budget.window": "percent of a usage window above which no agent is started; 0: no limit",
    "mail.rate": "messages that one sender may send in a minute",
    "mail.inbox": "messages that may wait for one agent",
    "nudges.first": "seconds after which an idle agent that is not done is reminded; then doubled",
    "nudges.most": "how often one is reminded before its manager or you are told; 0: never",
    "nudges.uncommitted": "whether an agent that is done is told what it has not committed",
    "notify.command": "shell command run for each notice, which it gets as JSON; yours alone",
    "status_node.enabled": "whether the crew's status is kept in CLAUDE.md, in its marked block",
    "status_node.update_interval": "seconds between two updates of the status node",
    "status_node.max_messages": "how many messages the status node shows, newest kept",
    "status_node.include_children_count": "whether the status node counts children",
}
"""Every key that can be set, with what it is for; of roles those that are shipped."""
_KEPT_OF_DISK = 10
PERSONAL = frozenset(
    {
        "notify.command",
        "claude.bring",
        "claude.mcp",
        "landing.unsigned",
        *(key for key in ABOUT if key.startswith("retention.")),
    },
)
"""What only a person's own file sets: a command is run on their machine, outside of any box, what
is theirs comes into no box for a repository's sake, none decides for how long it is kept, and who
signs what they commit says so themselves."""


def role_settings(config: Config, role: RoleName) -> RoleSettings:
    """What agents of a role are started with."""
    return config_roles.settings(config.roles, role)


def role_tools(config: Config, role: RoleName) -> Tools:
    """The tool patterns of a role."""
    return config_roles.tools(config.permissions, role)


def confinement(config: Config, role: RoleName) -> tuple[Isolation, Network]:
    """What a role's agents have where nothing else is asked for."""
    own = role_settings(config, role)
    return own.isolation or config.isolation, own.network or config.network


def home_mb(config: Config) -> int:
    """MiB that the commits of one agent may add to its repository; 0 is no limit.

    Of what an agent may have on its disk most is what it builds and downloads; what it commits is
    kept, by the person's repository and by the mirror.
    """
    box = config.box
    return -(-box.disk_mb // _KEPT_OF_DISK) if box.home_mb is None else box.home_mb


def about(key: str) -> str | None:
    """What a key is for; None for what is no key."""
    return ABOUT.get(key) or config_roles.about_key(key)


def require_key(key: str) -> str:
    """Returns a key that exists, or says which one may have been meant."""
    if about(key) is None:
        raise ConfigError(f"unknown key {key!r}", near(key))
    return key


def is_list(key: str) -> bool:
    """Whether a key holds a list, for `config add` and `config remove`."""
    return get_origin(kind(require_key(key))) is list


def value(config: Config, key: str) -> Any:
    """The value of a dotted key."""
    setting: Any = config
    parts = require_key(key).split(".")
    for depth, part in enumerate(parts, start=1):
        if isinstance(setting, dict):
            setting = setting.get(part) or kind(".".join(parts[:depth]))()
        else:
            setting = getattr(setting, part)
    return setting


def kind(key: str) -> Any:
    """The type of what a key, or a table of keys, holds."""
    owner: Any = Config
    for part in key.split("."):
        owner = get_args(owner)[1] if get_origin(owner) is dict else _types(owner)[part]
    return owner


@cache
def _types(table: Any) -> dict[str, Any]:
    """The types of a table's keys; finding them out takes longer than reading a whole file."""
    return get_type_hints(table, include_extras=True)


def parse(key: str, text: str) -> Any:
    """Reads a value typed on the command line as the type that its key has."""
    try:
        return config_values.read(text, kind(require_key(key)), strict=False)
    except ConfigError as error:
        raise ConfigError(f"{key}: {error.message}", about(key) or "") from None


def flatten(layer: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Turns nested tables into dotted keys."""
    flat: dict[str, Any] = {}
    for key, item in layer.items():
        if isinstance(item, Mapping):
            flat |= flatten(item, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = item
    return flat


def near(key: str) -> str:
    """What may have been meant; of a key of a role, one of the same role."""
    if said := config_roles.near(key):
        return said
    close: Sequence[str] = difflib.get_close_matches(key, ABOUT, n=1)
    return f"did you mean {close[0]!r}?" if close else "`wl config list` shows every key"
