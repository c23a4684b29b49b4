"""From a request to the intent that does it: under a key that is its caller's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from windlass.api.verbs import Caller
from windlass.daemon.kernel.intents import Begin, Intents

Asked = TypeVar("Asked", bound=Mapping[str, Any])


def performing(
    intents: Intents, kind: str, begin: Callable[[Caller, Asked], Begin]
) -> Callable[[Caller, Asked], Any]:
    """What answers a verb that is an operation: does it once per key, and returns its result."""
    return lambda caller, request: intents.perform(
        kind, own_key(caller, request), lambda: begin(caller, request)
    )


def own_key(caller: Caller, request: Mapping[str, Any]) -> str | None:
    """The key of a request, which is its caller's own: nobody meets another's intent under it."""
    key = request.get("key")
    return f"{caller.agent or 'person'}:{key}" if key else None
