"""Forges: where pull requests live. `at` knows which one a remote is on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windlass.core import forge as core
from windlass.core.ports import Forge
from windlass.forge.github import GitHub
from windlass.forge.local import Local


def at(addresses: Sequence[str], *, env: Mapping[str, str]) -> Forge:
    """The forge of a remote that is known by these addresses; `env` is the person's own."""
    where = core.home(addresses)
    local = Local(where)
    return local if where is None else GitHub(where, env=env, otherwise=local)


__all__ = ["at"]
