"""From a request to the intent that does it: under a key that is its caller's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from windlass.api.verbs import Caller
from windlass.daemon.kernel.intents import PATIENCE, Intents
from windlass.daemon.kernel.operations import IntentDraft

Asked = TypeVar("Asked", bound=Mapping[str, Any])


class IntentVerb(Generic[Asked]):
    """Answers a verb that is an operation: does it once per key, and returns its result."""

    def __init__(
        self, intents: Intents, kind: str, begin: Callable[[Caller, Asked], IntentDraft]
    ) -> None:
        self.intents = intents
        self.kind = kind
        self.begin = begin

    def __call__(self, caller: Caller, request: Asked) -> Any:
        """Does what is asked, or returns what came of it when it was asked before."""
        key = own_key(caller, request)
        return self.intents.perform(
            self.kind, key, lambda: self.begin(caller, request), patience=PATIENCE
        )


def own_key(caller: Caller, request: Mapping[str, Any]) -> str | None:
    """The key of a request, which is its caller's own: nobody meets another's intent under it."""
    key = request.get("key")
    return f"{caller.agent or 'person'}:{key}" if key else None
