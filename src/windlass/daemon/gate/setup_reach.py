"""What a gate's setup may reach of the network, by whose tree it is made from.

The target's setup reaches what the gate says. What only a change wants was written by its author:
its setup reaches what that one reaches already, and the hosts that the gate names; for more a
person says so, for that one run.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import NamedTuple

from windlass.core.crew import Agent
from windlass.core.ids import Uid
from windlass.daemon.gate.gates import Gate
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.git import gate_trees
from windlass.store import rows


class Reach(NamedTuple):
    """The hosts that a setup reaches: none, these, or all where none is named."""

    network: bool
    domains: tuple[str, ...] = ()


NOTHING = Reach(network=False)


def of_target(gate: Gate) -> Reach:
    """What a setup reaches that is the target's own, or that a person has approved."""
    return Reach(network=True, domains=gate.spec.setup_domains) if gate.setup_network else NOTHING


def of_change(context: Context, gate: Gate, authors: Iterable[str]) -> Reach:
    """What a setup reaches that only a change of these agents wants: no more than each of them.

    One without authors is nobody's that we know, and reaches what the gate names.
    """
    if not gate.setup_network:
        return NOTHING
    agents = [context.store.read(partial(rows.agent, uid=Uid(uid))) for uid in authors]
    networks = {_network(agent) for agent in agents}
    if networks == {"host"}:
        return Reach(network=True)
    domains = gate.spec.setup_domains
    if networks and networks <= {"host", "proxy"}:
        domains = (*domains, *gate.config.box.domains)
    return Reach(network=True, domains=tuple(dict.fromkeys(domains))) if domains else NOTHING


def authors(context: Context, gate: Gate, tree: str) -> tuple[str, ...]:
    """The live agents on whose branches a tree is now."""
    live = context.store.read(lambda c: rows.agents(c, repo=gate.repo.id))
    branches = {f"refs/heads/{agent.branch}": agent for agent in live if agent.branch}
    trees = gate_trees.trees_at(repos.git(gate.repo), branches) if branches else {}
    return tuple(agent.uid for ref, agent in branches.items() if trees.get(ref) == tree)


def _network(agent: Agent | None) -> str:
    """What an agent reaches; nothing confines one without a box."""
    if agent is None:
        return "none"
    return agent.network if agent.isolation == "box" else "host"
