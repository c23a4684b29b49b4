"""What a person is told who interrupts a command whose request is out already.

The daemon goes on with what it has begun, whoever waits for it; what still waited for its turn it
drops. What only looks goes on for nobody, and is not spoken of.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from windlass.core.printable import printable_line

_ON_ITS_WAY = "`wl log{of}` shows it"
_TAKEN_BACK = {
    "ack": "`wl inbox` shows what is left",
    "allow": _ON_ITS_WAY,
    "answer": _ON_ITS_WAY,
    "approve": "`wl block{of}` takes it back, until it has landed",
    "ask": _ON_ITS_WAY,
    "block": "`wl approve{of}` takes it back",
    "change.retry": "`wl block{of}` takes it back, until it has landed",
    "change.wait": "`wl queue --all` shows what becomes of it",
    "change.undo": "`wl queue --all` shows what becomes of it",
    "config.add": "`wl config remove` takes it back",
    "config.remove": "`wl config add` or `set` takes it back",
    "config.set": "`wl config set` or `remove` takes it back",
    "drop": "`wl merge` of its branch proposes it anew",
    "drivers.trust": "`wl drivers` shows it",
    "end": "`wl undo` takes it back",
    "gate.run": "`wl gate run` with the same commit shows what comes of it",
    "gate.wait": "`wl gate run` with the same commit shows what comes of it",
    "gc": "what is gone by then is gone; `wl gc --dry-run` shows the rest",
    "hooks.install": "`wl hooks uninstall` takes it back",
    "hooks.uninstall": "`wl hooks install` takes it back",
    "login.forget": "`wl doctor` says whether one is kept",
    "login.keep": "`wl doctor` says whether one is kept",
    "init": "`wl repo remove` takes it back",
    "init.prove": "`wl gate` shows what comes of it",
    "interrupt": _ON_ITS_WAY,
    "merge": "`wl undo` brings the agent back, and `wl undo CHANGE` takes back what landed",
    "note": _ON_ITS_WAY,
    "notify": _ON_ITS_WAY,
    "pause": "`wl resume{of}` takes it back",
    "plan": "`wl plan{of} --agent` follows it, and `wl plan{of} --stop` ends it",
    "plan.stop": "`wl plan{of} --agent` has it planned anew",
    "plan.wait": "`wl plan{of} --agent` follows it, and `wl plan{of} --stop` ends it",
    "reassign": "`wl undo` takes it back",
    "refresh": "`wl status{of}` shows where it is",
    "run": "`wl run` follows it",
    "run.pause": "`wl resume run` and `wl pause run` take each other back",
    "task.drop": "`wl retry{of}` takes it up again",
    "task.retry": "`wl drop{of}` gives it up again",
    "runs.wait": "`wl run` follows it again",
    "repair": "`wl doctor` says what is left",
    "repo.add": "`wl repo remove` takes it back",
    "repo.remove": "`wl repo add` takes it back",
    "resume": "`wl pause{of}` takes it back",
    "retry": "`wl doctor` says what became of it",
    "send": _ON_ITS_WAY,
    "spawn": "`wl list` shows the agent, and `wl kill{of}` takes it back",
    "submit": "`wl queue --all` shows what becomes of it",
    "trash.empty": "nothing takes it back; `wl trash` shows what is left",
    "trash.restore": "`wl list` shows the agent, and `wl kill{of}` takes it back",
    "trust.accept": "`wl trust --revoke` takes it back",
    "trust.revoke": "`wl trust` takes it back",
    "uninstall": "`wl uninstall` goes on with it",
    "undo": "`wl list` shows who is back, and `wl kill` ends them again",
}
"""The verbs that change something, with what takes that back; `{of}` is whom, where it is known."""


def told(verb: str, request: Mapping[str, Any] = MappingProxyType({})) -> str | None:
    """What becomes of a request that was let go; None where nothing does."""
    back = _TAKEN_BACK.get(verb)
    if back is None:
        return None
    asked = (request.get(key) for key in ("name", "agent", "change", "task"))
    name = next((said for said in asked if said), None)
    of = f" {printable_line(name)}" if isinstance(name, str) else ""
    return f"interrupted; what was asked for goes on if it was begun: {back.format(of=of)}"
