"""What waits for the person: set aside or halted because no daemon survived it, or orphaned."""

from __future__ import annotations

import os
from typing import Any

from windlass.cli.call import Call
from windlass.core.printable import printable_line


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


def attached(intents: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """What each agent is attached to, by its repository and its name."""
    return {(intent["repo"], name): intent for intent in intents for name in intent["agents"]}


def said(intent: dict[str, Any]) -> str:
    """What is left, in a few words; the whole of it is `wl doctor`'s."""
    into = f" into {intent['branch']}" if intent["branch"] else ""
    return printable_line(f"{intent['kind']}{into} is {intent['status']}")


def handle(intent: dict[str, Any]) -> str:
    """What `wl retry` finds it by."""
    return str((intent["agents"] or [intent["id"]])[0])
