"""The crew: what an agent is, how agents form a tree, and who may start whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from windlass.core.box_spec import LEVELS, NETWORKS, Level, Network
from windlass.core.errors import Conflict, Denied
from windlass.core.ids import AgentId, RepoId, RoleName, Uid, with_article
from windlass.core.session_launch import Mode
from windlass.core.states import State

ShellReading = Literal["guided", "strict"]


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """All that an agent may and may not use: its role's lists, what was asked for, its caller's."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    yolo: bool = False
    reading: ShellReading = "strict"
    """How shell lines are judged without a box: by where they reach, or by every command."""


class Limits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How much an agent may take before it is paused; None is no limit of its own."""

    turns: int | None = None
    usd: float | None = None
    seconds: float | None = None


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """One identity at work. It outlives its sessions; `ended_at` is set once, at its ending."""

    uid: Uid
    repo: RepoId
    id: AgentId
    role: RoleName
    spawns: bool = False
    """Whether it may start agents and be a parent: what its role said when it was started."""
    persistent: bool = False
    readonly: bool = False
    parent: Uid | None
    goal: str
    driver: str
    model: str | None
    mode: Mode
    branch: str | None
    workspace: str
    base: str
    base_from: str
    policy: Policy
    script: str | None
    options: dict[str, str] = {}
    """What its driver was configured with and it keeps for life."""
    isolation: Level = "hooks"
    network: Network = "host"
    fork_of: str | None = None
    """The transcript of the conversation that its own began with."""
    limits: Limits = Limits()
    slot: int
    archive: str | None = None
    """Where its folder went at its ending."""
    conversation: str
    session: int
    state: State
    state_at: float
    created_at: float
    ended_at: float | None = None
    ended_by: str | None = None
    task: str = ""
    """The task of the board that it works on."""
    run: str = ""
    """The run that leads it: that says what it does next, and speaks for it."""

    @property
    def owns_workspace(self) -> bool:
        """Whether the workspace is the agent's own, rather than the person's checkout."""
        return self.branch is not None


class Spawn(msgspec.Struct, frozen=True, kw_only=True):
    """Who wants to start what kind of agent below whom."""

    role: RoleName
    parent: Agent | None
    caller: Agent | None
    policy: Policy
    configured: Policy
    """What the role of the new agent has by configuration; nobody has to have been given that."""
    isolation: Level = "hooks"
    network: Network = "host"


DEFAULT_MAX_AGENTS = 10


def check_spawn(spawn: Spawn, *, live: Sequence[Agent], max_agents: int | None) -> None:
    """Refuses what the rules of the crew forbid.

    A limit that somebody configured holds for everyone; the built-in one only for agents, because
    it is there to stop a crew from running away, not a person from typing.
    """
    parent, caller = spawn.parent, spawn.caller
    if caller is not None and not caller.spawns:
        raise Denied(
            f"{caller.id} is {with_article(caller.role)}, and {caller.role}s do not start agents",
            "ask its manager, or start it with --manager next time",
        )
    if parent is not None and not parent.spawns:
        raise Denied(
            f"{parent.id} is {with_article(parent.role)} and cannot be a parent",
            "name a manager, or leave --parent out",
        )
    limit = max_agents
    if limit is None and caller is not None:
        limit = DEFAULT_MAX_AGENTS
    if limit is not None and len(live) >= limit:
        raise Denied(
            f"{len(live)} agents live already and max_agents is {limit}",
            "end some with `wl kill`, or raise it: wl config set max_agents N",
        )
    for agent in above(caller, parent):
        _check_confinement(spawn, agent)
    for agent in givers(caller, parent):
        _check_tools(spawn, agent)


def above(caller: Agent | None, parent: Agent | None) -> list[Agent]:
    """The agents that a new one is started by and below, each once."""
    return list({agent.uid: agent for agent in (caller, parent) if agent is not None}.values())


def givers(caller: Agent | None, parent: Agent | None) -> list[Agent]:
    """Those above a new agent that it has its rights from; a person may give it others."""
    return above(caller, parent) if caller is not None else []


def narrowest(wanted: Network, higher: Iterable[Agent]) -> Network:
    """The network that a new agent gets where nobody asked for one: no more than those above it."""
    boxed = [agent.network for agent in higher if agent.isolation == "box"]
    return min((wanted, *boxed), key=NETWORKS.index)


def granted(asked: Network, usual: Network, caller: Agent | None) -> Network:
    """The network that was asked for; an agent is given no more than is usual for its role."""
    if caller is not None and NETWORKS.index(asked) > NETWORKS.index(usual):
        raise Denied(
            f"{caller.id} cannot give network {asked}: here it is {usual}", "leave out --network"
        )
    return asked


def _check_tools(spawn: Spawn, giver: Agent) -> None:
    """Refuses tools that neither the role has by configuration nor the giver was given."""
    if giver.policy.yolo:
        return
    beyond = set(spawn.policy.allow) - set(spawn.configured.allow) - set(giver.policy.allow)
    if spawn.policy.yolo or beyond:
        raise Denied(
            f"{giver.id} cannot give what it was not given itself:"
            f" {', '.join(sorted(beyond)) or 'every tool'}",
            "leave out --yolo and the --allow-tools that it lacks",
        )


def _check_confinement(spawn: Spawn, caller: Agent) -> None:
    """Refuses an agent outside of its caller's box, or with a wider reach than that has."""
    if LEVELS.index(spawn.isolation) < LEVELS.index(caller.isolation):
        raise Denied(
            f"{caller.id} is boxed and cannot start an agent that is not",
            "leave out --isolation; if no box can be had here, ask the person",
        )
    boxed = caller.isolation == "box"
    if boxed and NETWORKS.index(spawn.network) > NETWORKS.index(caller.network):
        raise Denied(
            f"{caller.id} has network {caller.network} and cannot give {spawn.network}",
            "leave out --network",
        )


def check_parent(agent: Agent, parent: Agent, *, live: Iterable[Agent]) -> None:
    """Refuses a new parent that may have no agents, or that is below the agent itself."""
    if not parent.spawns:
        raise Denied(
            f"{parent.id} is {with_article(parent.role)} and cannot be a parent", "name a manager"
        )
    if LEVELS.index(agent.isolation) < LEVELS.index(parent.isolation):
        raise Denied(
            f"{parent.id} is boxed and {agent.id} is not: it would do what its manager may not",
            "name another manager",
        )
    if parent.isolation == "box" and NETWORKS.index(agent.network) > NETWORKS.index(parent.network):
        raise Denied(
            f"{parent.id} has network {parent.network} and {agent.id} {agent.network}: it would"
            " reach what its manager may not",
            "name another manager",
        )
    if parent.uid == agent.uid or parent.uid in {a.uid for a in below(agent, live)}:
        raise Conflict(
            f"{parent.id} is {agent.id} itself or below it; that would make a cycle",
            f"reassign {parent.id} first, or use --none",
        )


def below(agent: Agent, live: Iterable[Agent]) -> list[Agent]:
    """Lists everything below an agent, children before grandchildren."""
    known = list(live)
    descendants: dict[Uid, Agent] = {}
    queue = [agent.uid]
    while queue:
        parent = queue.pop(0)
        children = [a for a in known if a.parent == parent and a.uid not in descendants]
        descendants |= {a.uid: a for a in children if a.uid != agent.uid}
        queue += [a.uid for a in children if a.uid != agent.uid]
    return list(descendants.values())


def forest(agents: Sequence[Agent]) -> Iterator[tuple[int, Agent]]:
    """Walks agents as a tree, depth first; an agent whose parent is not listed is a root."""
    present = {a.uid for a in agents}
    in_order = sorted(agents, key=lambda a: (a.created_at, a.id))
    children: dict[Uid | None, list[Agent]] = {}
    for agent in in_order:
        parent = agent.parent if agent.parent in present else None
        children.setdefault(parent, []).append(agent)
    seen: set[Uid] = set()
    # The second time round finds nobody, unless something made a ring: that is shown, not hidden.
    for root in (*children.get(None, ()), *in_order):
        waiting = [(0, root)]
        while waiting:
            depth, agent = waiting.pop()
            if agent.uid in seen:
                continue
            seen.add(agent.uid)
            yield depth, agent
            waiting += [(depth + 1, child) for child in reversed(children.get(agent.uid, ()))]


def free_slot(live: Iterable[Agent]) -> int:
    """Finds the smallest slot that no live agent holds."""
    taken = {a.slot for a in live}
    return next(n for n in range(len(taken) + 1) if n not in taken)


PORTS_PER_SLOT = 20
FIRST_PORT = 20000


def port_base(slot: int) -> int:
    """The first of an agent's private block of ports, below the ephemeral range."""
    return FIRST_PORT + (slot % 600) * PORTS_PER_SLOT
