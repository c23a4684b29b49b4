"""What a verb answers is what its route declares: checked wherever tests ask for data."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import msgspec

from windlass.core import shapes
from windlass.daemon.kernel.clock import SystemClock
from windlass.daemon.routes import routes
from windlass.daemon.services import Services

_NOBODY: Any = SimpleNamespace(
    memory=SimpleNamespace(per_agent=dict, per_repo=dict), clock=SystemClock()
)
ROUTES = routes(Services(_NOBODY, _NOBODY))
"""Every verb as it is declared; nothing is behind it that could answer."""


def as_declared(verb: str, reply: Any) -> Any:
    """The reply, if it has every key of its type, each of its type, and no other key."""
    plain = msgspec.to_builtins(reply)
    assert shapes.convert(plain, ROUTES[verb].reply) == plain, f"{verb} says more than it declares"
    return reply
