"""A repository's own configuration, judged: what of it counts at once, and which lines wait.

Pure: reading the file, and remembering what the person accepted, is the daemon's. Which keys may be
narrowed at once is `config_rules`'.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from windlass.core import config, config_rules, config_values
from windlass.core.config import Config


class Line(NamedTuple):
    """A key of a repository's file that would widen what is in force without it."""

    key: str
    value: Any
    instead_of: Any
    """What is in force as long as it waits."""

    @property
    def digest(self) -> str:
        """What it is remembered by, once it is accepted: the key, its value, and what it replaces.

        Also the last: who tightens their own configuration later is asked again.
        """
        canonical = json.dumps(
            [self.key, self.value, self.instead_of], sort_keys=True, separators=(",", ":")
        )
        return hashlib.sha256(canonical.encode()).hexdigest()

    @property
    def counts_in_boxes(self) -> bool:
        """Whether agents in a box have it already, though it waits for all others."""
        return self.key in config_rules.IN_BOXES and not self.instead_of

    @property
    def personal(self) -> bool:
        """Whether no repository may ever say it, so that it cannot be accepted either."""
        return self.key in config.PERSONAL


class Judged(NamedTuple):
    """A repository's layer as it counts, and what of it does not."""

    layer: dict[str, Any]
    boxed: dict[str, Any]
    """The same for agents in a box."""
    waiting: list[Line]


def widening(layer: Mapping[str, Any], now: Config) -> list[Line]:
    """The lines of a valid layer that would widen a configuration, in the order of the file."""
    return [
        Line(key, value, msgspec.to_builtins(config_rules.in_force(key, now)))
        for key, value in _values(layer)
        if not config_rules.narrows(key, value, now)
    ]


def judge(
    layer: Mapping[str, Any], now: Config, lines: Sequence[Line], *, accepted: Collection[str]
) -> Judged:
    """Judges a valid layer by the lines of it that widen, and the digests of accepted ones."""
    waiting = [line for line in lines if line.personal or line.digest not in accepted]
    missing = {line.key for line in waiting}
    in_boxes = {line.key for line in waiting if line.counts_in_boxes}
    return Judged(
        _as_it_counts(layer, now, without=missing),
        _as_it_counts(layer, now, without=missing - in_boxes),
        waiting,
    )


def summary(waiting: Sequence[Line]) -> str:
    """Says in one line which keys wait; nothing where none does."""
    if not waiting:
        return ""
    keys = ", ".join(line.key for line in waiting)
    verb = "waits" if len(waiting) == 1 else "wait"
    return f"{keys} of the repository's .windlass/config.toml {verb} for you"


def _values(layer: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every key of a layer, with its value as the type of the key has it."""
    for key, item in config.flatten(layer).items():
        value = config_values.read(item, config.kind(key), strict=True)
        yield key, msgspec.to_builtins(value)


def _as_it_counts(
    layer: Mapping[str, Any], now: Config, *, without: Collection[str], prefix: str = ""
) -> dict[str, Any]:
    """A layer without some keys; tables stay, also empty ones: they may be those of a role."""
    kept: dict[str, Any] = {}
    for name, item in layer.items():
        key = f"{prefix}{name}"
        if isinstance(item, Mapping):
            kept[name] = _as_it_counts(item, now, without=without, prefix=f"{key}.")
        elif key not in without:
            kept[name] = _added(key, item, now)
    return kept


def _added(key: str, item: Any, now: Config) -> Any:
    rule = config_rules.rule(key)
    if rule is None or not rule.added:
        return item
    return list(dict.fromkeys([*config.value(now, key), *item]))
