"""What every request says."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class AnyRequest(TypedDict):
    """Part of every request: from which folder it is asked."""

    cwd: NotRequired[str]
    key: NotRequired[str]
    """Made by the client; the same request sent again under the same key happens once."""


class AgentRequest(AnyRequest):
    """Asks about one agent; without `agent` the caller itself."""

    agent: NotRequired[str]
