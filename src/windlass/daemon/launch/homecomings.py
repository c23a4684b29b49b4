"""How much of a boxed agent's commits may come home: what has come so far, and what is left.

What comes is counted before it is kept, so that nobody who dies in between forgets it. What an
agent takes back is counted all the same: the repository and the mirror still have it.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from windlass.core import config
from windlass.core.config import BoxSettings
from windlass.core.crew import Agent
from windlass.daemon.kernel import repos, settings
from windlass.daemon.kernel.context import Context
from windlass.git.arrival import Allowed, Limit, TooLarge
from windlass.store import kept

_KEYS: dict[Limit, str] = {
    "added": "box.home_mb",
    "unfolded": "box.disk_mb",
    "blob": "box.file_mb",
}
"""The key of the configuration that sets each limit."""
_MEBIBYTE = 1 << 20
_NOTHING_NEW = 64
"""Bytes of the empty pack that git sends for a branch that went back to a commit that is here."""


class Allowance(NamedTuple):
    """What one agent may bring home: MiB by each limit, where 0 is none, and bytes that it has."""

    limits: dict[Limit, int]
    brought: int

    @property
    def allowed(self) -> Allowed:
        """What may come at once."""
        most = {name: limit * _MEBIBYTE for name, limit in self.limits.items() if limit}
        if "added" in most:
            most["added"] = max(_NOTHING_NEW, most["added"] - self.brought)
        return Allowed(**most)

    def explained(self, agent: Agent, error: TooLarge) -> TooLarge:
        """Says why something did not come, and what to do about it."""
        said = f"what {agent.id} committed does not come home: {error.message}"
        if error.limit not in _KEYS:
            return TooLarge(said, f"have it done otherwise: wl send {agent.id} '...'", error.limit)
        key, limit = _KEYS[error.limit], self.limits[error.limit]
        came = f", of which {-(-self.brought // _MEBIBYTE)} are used" * (error.limit == "added")
        hint = f"raise it: wl config set {key} {2 * limit}, then wl resume {agent.id}"
        return TooLarge(f"{said}; {key} is {limit}{came}", hint, error.limit)


def allowance(context: Context, agent: Agent) -> Allowance:
    """What an agent may bring home, as it is configured now."""
    brought = context.store.read(lambda c: kept.of(c, agent.uid)).brought
    return Allowance(limits(context, agent), brought)


def limits(context: Context, agent: Agent) -> dict[Limit, int]:
    """The limits that are configured for an agent."""
    root = repos.by_id(context, agent.repo).root
    known = settings.usable(context.folders.home, root).config
    return {"added": config.home_mb(known), **_of_disk(known.box)}


def _of_disk(box: BoxSettings) -> dict[Limit, int]:
    return {"unfolded": box.disk_mb, "blob": box.file_mb}


def at_an_end(box: BoxSettings) -> Allowed:
    """What may come home of an agent that ends: whatever its disk may have held."""
    return Allowance(_of_disk(box), 0).allowed


def count(context: Context, agent: Agent, tip: str, size: int) -> None:
    """Counts what is about to come home, unless that is more than may.

    It was measured as a pack; single objects may take more room.
    """
    known = allowance(context, agent)
    if size > known.allowed.added:
        error = TooLarge(f"it adds {-(-size // _MEBIBYTE)} MiB", "", "added")
        raise known.explained(agent, error)
    context.store.write(partial(kept.add_home, uid=agent.uid, tip=tip, size=size))
