"""What a person is told who interrupts a command whose request is out already.

The daemon goes on with what it has begun, whoever waits for it; what still waited for its turn it
drops. What only looks goes on for nobody, and is not spoken of.
"""

from __future__ import annotations

_ON_ITS_WAY = "`wl log` shows it"
_TAKEN_BACK = {
    "ack": "`wl inbox` shows what is left",
    "allow": _ON_ITS_WAY,
    "answer": _ON_ITS_WAY,
    "ask": _ON_ITS_WAY,
    "config.add": "`wl config remove` takes it back",
    "config.remove": "`wl config add` or `set` takes it back",
    "config.set": "`wl config set` or `remove` takes it back",
    "drivers.trust": "`wl drivers` shows it",
    "end": "`wl undo` takes it back",
    "gc": "what is gone by then is gone; `wl gc --dry-run` shows the rest",
    "hooks.install": "`wl hooks uninstall` takes it back",
    "hooks.uninstall": "`wl hooks install` takes it back",
    "init": "`wl repo remove` takes it back",
    "interrupt": _ON_ITS_WAY,
    "merge": "`wl undo` brings the agent back, and `git revert` takes back the merge",
    "note": _ON_ITS_WAY,
    "notify": _ON_ITS_WAY,
    "pause": "`wl resume` takes it back",
    "reassign": "`wl undo` takes it back",
    "repair": "`wl doctor` says what is left",
    "repo.add": "`wl repo remove` takes it back",
    "repo.remove": "`wl repo add` takes it back",
    "resume": "`wl pause` takes it back",
    "retry": "`wl doctor` says what became of it",
    "send": _ON_ITS_WAY,
    "spawn": "`wl list` shows the agent, and `wl kill` takes it back",
    "trash.empty": "nothing takes it back; `wl trash` shows what is left",
    "trash.restore": "`wl list` shows the agent, and `wl kill` takes it back",
    "trust.accept": "`wl trust --revoke` takes it back",
    "trust.revoke": "`wl trust` takes it back",
    "undo": "`wl list` shows who is back, and `wl kill` ends them again",
}
"""The verbs that change something, with what takes that back."""


def told(verb: str) -> str | None:
    """What becomes of a request that was let go; None where nothing does."""
    back = _TAKEN_BACK.get(verb)
    if back is None:
        return None
    return f"interrupted; what was asked for goes on if it was begun: {back}"
