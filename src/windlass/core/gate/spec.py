"""What a gate consists of, and what a verdict and a layer of dependencies are known by.

Pure. Where it is configured, and which of that counts, is the daemon's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from windlass.core.config import CheckSettings, GateSettings
from windlass.core.errors import ConfigError

Tests = Literal["some", "none"]
NO_LAYER = ""
"""The layer of a gate without a setup."""
_SHORT = 16


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One command of a gate. With `tests` at `none` it need not have tested anything: a linter."""

    name: str
    run: str
    timeout: float | None = None
    tests: Tests = "some"
    junit: str = ""


class GateSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A whole gate: its checks, and what they need."""

    checks: tuple[Check, ...] = ()
    setup: str = ""
    setup_network: bool = True
    setup_domains: tuple[str, ...] = ()
    deps: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    network: bool = False
    cache: tuple[str, ...] = ()
    box: bool = True


def spec(in_force: GateSettings, own: GateSettings) -> GateSpec:
    """Puts a gate together: what is in force of it, and the person's own checks in any case.

    A repository's file replaces the person's list of checks, but never takes one away. Two of one
    name are refused.
    """
    checks = [*_checks(in_force), *_checks(own)]
    distinct = list({(check.name, check.run): check for check in checks}.values())
    names = [check.name for check in distinct]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(
                f"two checks of the gate are called {name!r}", "give each a name of its own"
            )
    return GateSpec(
        checks=tuple(distinct),
        setup=in_force.setup,
        setup_network=in_force.setup_network,
        setup_domains=tuple(in_force.setup_domains),
        deps=tuple(in_force.deps),
        inputs=tuple(in_force.inputs),
        versions=tuple(in_force.versions),
        network=in_force.network,
        cache=tuple(in_force.cache),
        box=in_force.box,
    )


def _checks(settings: GateSettings) -> list[Check]:
    plain = [Check(name=command, run=command) for command in settings.commands]
    return [*plain, *(_check(check) for check in settings.check)]


def _check(settings: CheckSettings) -> Check:
    return Check(**msgspec.structs.asdict(settings))


def layer_key(
    gate: GateSpec, inputs: Mapping[str, str], *, versions: str, level: str, platform: str
) -> str:
    """What dependencies are known by: the same key, the same dependencies.

    `inputs` are the blobs of `gate.inputs`, by their paths.
    """
    if not gate.setup:
        return NO_LAYER
    parts = [gate.setup, gate.setup_network, gate.setup_domains, gate.deps]
    return digest([*parts, sorted(inputs.items()), versions, level, platform])


def own_layer_key(common: str, tree: str) -> str:
    """What the dependencies are known by that were made from a change: they are that tree's alone.

    A setup may do what any file of its tree says. Under the inputs alone they would be those of the
    next change with the same inputs, and of the target once such a change has landed.
    """
    return digest([common, tree])


def check_key(gate: GateSpec, check: Check) -> str:
    """What a check is known by in verdicts; how long it may take does not change them."""
    return digest([check.name, check.run, check.tests, check.junit, gate.network])


def digest(parts: Iterable[Any]) -> str:
    """A short name for data: the same data, the same name."""
    canonical = json.dumps(msgspec.to_builtins(list(parts)), separators=(",", ":"))
    return hashlib.sha256(canonical.encode("utf-8", "surrogateescape")).hexdigest()[:_SHORT]
