"""What a verb of the API is: its request and its reply, who may call it, and what answers it.

A door is closed unless its route opens it: without a word about callers only the person may.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple

from windlass.core.errors import Denied
from windlass.core.ids import Uid

Callers = Literal["person", "agent", "both"]
Needs = Literal["programs", "store"]
"""What answering takes: a git or a tmux that is waited for, or the interpreter and the store."""
LARGEST = 1 << 20
"""The bytes of most requests, at most: the longest message is a tenth of it."""
LARGEST_CALL = 2 << 20
"""The bytes of what an agent CLI tells a hook, at most: of a larger call the hook decides alone."""


class Caller(NamedTuple):
    """Who is asking: an agent, or the person."""

    agent: Uid | None

    @property
    def kind(self) -> Literal["person", "agent"]:
        """Whether the caller is the person or an agent."""
        return "person" if self.agent is None else "agent"

    def require_agent(self) -> Uid:
        """The calling agent, for what answers a verb that only agents may call."""
        if self.agent is None:
            raise AssertionError("the person calls what only agents may")
        return self.agent


class Refusal(NamedTuple):
    """What somebody is told who may not call a verb."""

    message: str = "agents do not do this"
    hint: str = "ask the person"


class Verb(NamedTuple):
    """One verb, answered on a worker thread."""

    request: Any
    reply: Any
    answer: Callable[[Caller, Any], Any]
    callers: Callers = "person"
    refusal: Refusal = Refusal()
    largest: int = LARGEST
    needs: Needs = "programs"


class Wait(NamedTuple):
    """A verb that may take hours: awaited on the event loop, cancelled when its client hangs up."""

    request: Any
    reply: Any
    answer: Callable[[Caller, Any], Awaitable[Any]]
    callers: Callers = "person"
    refusal: Refusal = Refusal()
    largest: int = LARGEST


def refuse_stranger(verb: Verb | Wait, caller: Caller) -> None:
    """Refuses whoever is not among the callers that a verb declares."""
    if verb.callers not in ("both", caller.kind):
        raise Denied(verb.refusal.message, verb.refusal.hint)
