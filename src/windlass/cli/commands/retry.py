"""Tries once more what was set aside or halted, because the daemon died in it again and again.

`wl doctor` lists it. With --back it is given up instead, and what can be taken back is: after a
merge no checkout is left half moved, and the branch stays where it is.
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from windlass.cli import unfinished
from windlass.cli.call import Call
from windlass.core.errors import NotFound, UserError

EXAMPLES = ("wl retry api", "wl retry api --back")


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent that it is about, or its id."""
    parser.add_argument("agent", help="whom it is about, or the id that wl doctor --json shows")
    parser.add_argument("--back", action="store_true", help="give it up: take back what can be")


def run(call: Call) -> int:
    """Tries it, or takes it back, and says what came of that."""
    intent = _meant(call, call.args.agent, unfinished.listed(call))
    done = call.ask("retry", intent=intent["id"], back=call.args.back)
    call.data(done)
    name = ", ".join(intent["agents"]) or intent["id"]
    how = "is given up, and what could be taken back was" if done["back"] else "is done"
    call.tell(f"{done['kind']} of {name} {how}")
    if done["back"] and (branch := intent.get("branch")):
        call.tell(f"{branch} stays where it is, merged or not: git log {branch}")
    return 0


def _meant(call: Call, wanted: str, intents: list[dict[str, Any]]) -> dict[str, Any]:
    exact = [intent for intent in intents if wanted in (intent["id"], *intent["agents"])]
    found = exact or [
        intent
        for intent in intents
        if any(name.startswith(wanted) for name in (intent["id"], *intent["agents"]))
    ]
    if not found:
        call.full_ids([wanted])  # says so where there is no such agent
        raise NotFound(
            f"nothing of {wanted} is set aside or halted", "`wl doctor` lists what is, if anything"
        )
    if len(found) > 1:
        ids = ", ".join(intent["id"] for intent in found)
        raise UserError(f"{wanted} may mean several", f"give the id of one: {ids}")
    return found[0]
