"""Which keys a repository's own file may set at once, and what counts as narrower for each.

A repository comes from anywhere: what it says may narrow what is in force without a question, and
everything else waits for the person. This is the one table of that; a key that is not in it always
waits. Pure. `project_config` judges a whole file by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from windlass.core import config, config_roles
from windlass.core.box_spec import NETWORKS
from windlass.core.config import Config
from windlass.core.crew import DEFAULT_MAX_AGENTS
from windlass.core.roles import WIDER

_STRENGTH = {"hooks": 0, "auto": 1, "required": 2, "box": 2}


class Rule(NamedTuple):
    """How a value of a key is judged."""

    narrower: Callable[[Any, Any], bool]
    """Whether what is asked for is no more than what is in force, in this order."""
    added: bool = False
    """Whether the words of a list come on top of those in force, instead of in their place."""


def _stronger(asked: str, now: str) -> bool:
    return _STRENGTH[asked] >= _STRENGTH[now]


def _reaches_less(asked: str, now: str) -> bool:
    return NETWORKS.index(asked) <= NETWORKS.index(now)


def _below(asked: float, now: float | None) -> bool:
    """Where 0 and nothing are no limit."""
    return 0 < asked < math.inf and (not now or asked <= now)


def _lower(asked: float, now: float) -> bool:
    return asked <= now


def _higher(asked: float, now: float) -> bool:
    return now <= asked < math.inf


def _fewer_agents(asked: int, now: int | None) -> bool:
    return asked <= (DEFAULT_MAX_AGENTS if now is None else now)


def _part(asked: Sequence[str], now: Sequence[str]) -> bool:
    return set(asked) <= set(now)


def _reaches_fewer(asked: Sequence[str], now: Sequence[str]) -> bool:
    """Where none named is all."""
    return not now or (bool(asked) and set(asked) <= set(now))


def _takes(trait: str) -> Callable[[Any, Any], bool]:
    """Whether a trait takes from a role."""
    return lambda asked, _: asked is not WIDER[trait]


_OFF = Rule(lambda asked, _: asked is False)
_LIMIT = Rule(_below)
_LOWER = Rule(_lower)
_LATER = Rule(_higher)
_PART = Rule(_part)
_ADDED = Rule(lambda *_: True, added=True)
_ISOLATION = Rule(_stronger)
_NETWORK = Rule(_reaches_less)

RULES: dict[str, Rule] = {
    "max_agents": Rule(_fewer_agents),
    "isolation": _ISOLATION,
    "network": _NETWORK,
    "allow_agent_questions": _OFF,
    "pipeline": Rule(lambda *_: True),
    "notices": Rule(lambda asked, _: asked == "roots"),
    "status_file": _OFF,
    "workspace.timeout": _LIMIT,
    "roles.*.isolation": _ISOLATION,
    "roles.*.network": _NETWORK,
    **{f"roles.*.{trait}": Rule(_takes(trait)) for trait in WIDER},
    **{f"roles.*.{limit}": _LIMIT for limit in ("iterations", "turns", "timeout")},
    "permissions.*.allow": _PART,
    "permissions.*.deny": _ADDED,
    "box.domains": _PART,
    "box.toolchains": _PART,
    "box.env": _PART,
    "box.memory_mb": _LIMIT,
    "box.processes": _LIMIT,
    "box.open_files": _LIMIT,
    "box.file_mb": _LIMIT,
    "box.temp_mb": _LIMIT,
    "box.disk_mb": _LIMIT,
    "box.home_mb": _LIMIT,
    "box.store_mb": _LIMIT,
    "gate.setup_network": _OFF,
    "gate.setup_domains": Rule(_reaches_fewer),
    "gate.network": _OFF,
    "gate.box": Rule(lambda asked, _: asked is True),
    "policy.shell": Rule(lambda asked, _: asked == "strict"),
    "landing.protected": _ADDED,
    "landing.review": Rule(lambda asked, _: asked == "person"),
    "landing.max_attempts": _LIMIT,
    "landing.mode": Rule(lambda asked, _: asked == "local"),
    "budget.agent": _LIMIT,
    "budget.day": _LIMIT,
    "budget.repo": _LIMIT,
    "budget.run": _LIMIT,
    "budget.step": _LIMIT,
    "budget.window": _LIMIT,
    "mail.rate": _LOWER,
    "mail.inbox": _LOWER,
    "nudges.first": _LATER,
    "nudges.most": _LOWER,
    "nudges.uncommitted": _OFF,
    "status_node.enabled": _OFF,
    "status_node.update_interval": _LATER,
    "status_node.max_messages": _LOWER,
    "status_node.include_children_count": _OFF,
}
"""Every key that a repository may narrow at once; `*` is any role."""

_GATE = ("commands", "check", "setup", "deps", "inputs", "versions", "cache")
IN_BOXES = frozenset({"workspace.setup", "workspace.teardown", *(f"gate.{name}" for name in _GATE)})
"""Commands that count at once for agents in a box, where the person has none of their own.

They reach what the agent itself reaches, and no more; outside of a box they would be run as the
person."""


def rule(key: str) -> Rule | None:
    """How a value of a key is judged; None where it always waits."""
    table, _, rest = key.partition(".")
    if table in config_roles.TABLES:
        return RULES.get(f"{table}.*.{rest.rpartition('.')[2]}")
    return RULES.get(key)


def in_force(key: str, now: Config) -> Any:
    """What a key means now."""
    return _meant(key, config.value(now, key), now)


def narrows(key: str, asked: Any, now: Config) -> bool:
    """Whether a value leaves a key as it is in force, or narrows it."""
    if asked in (config.value(now, key), in_force(key, now)):
        return True
    judged = rule(key)
    if judged is None or key in config.PERSONAL:
        return False
    return judged.narrower(_meant(key, asked, now), in_force(key, now))


def _meant(key: str, value: Any, now: Config) -> Any:
    """What a value means; what is unset, or left empty for a role, is said elsewhere."""
    if key == "box.home_mb" and value is None:
        return config.home_mb(now)
    if value or not config_roles.inherits(key):
        return value
    places = config_roles.fallbacks(key)[1:]
    return next((said for place in places if (said := config.value(now, place))), value)
