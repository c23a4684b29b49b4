"""What agents may do: explanations and denials."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from windlass.api.wire.request import AgentRequest, AnyRequest, File, Word


class ExplainToolRequest(AnyRequest):
    """Asks what would be decided about a call, given as a hook's input in JSON."""

    input: File
    agent: NotRequired[Word | None]
    role: NotRequired[Word | None]
    level: NotRequired[Literal["hooks", "box"] | None]


class DenialsRequest(AgentRequest):
    """Asks what an agent was denied, by one hook or by any."""

    hook: NotRequired[Word | None]


class ExplainToolReply(TypedDict):
    """What would be decided, why, and by which rule."""

    decision: str
    reason: str
    rule: str


class DenialView(TypedDict):
    """A call that an agent was denied, and the lines that would allow it."""

    at: float
    hook: str
    by: str
    tool: Any
    input: Any
    reason: str
    suggest: list[str]
    allow: list[str]
    """The patterns that would allow it to this agent alone."""
