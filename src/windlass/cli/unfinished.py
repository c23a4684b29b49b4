"""What waits for the person: set aside or halted because no daemon survived it, or orphaned."""

from __future__ import annotations

import os
from typing import Any

from windlass.cli.call import Call


def listed(call: Call) -> list[dict[str, Any]]:
    """Everything of that kind, oldest first; agents are not told of it."""
    if os.environ.get("WINDLASS_SOCKET"):
        return []
    intents: list[dict[str, Any]] = call.ask("set-aside")
    return intents


def orphans(call: Call) -> list[dict[str, Any]]:
    """What lives and no agent accounts for; agents are not told of it."""
    if os.environ.get("WINDLASS_SOCKET"):
        return []
    found: list[dict[str, Any]] = call.ask("repair", dry_run=True)
    return found


def handle(intent: dict[str, Any]) -> str:
    """What `wl retry` finds it by."""
    return str((intent["agents"] or [intent["id"]])[0])
