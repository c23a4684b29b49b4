"""What an agent is doing, and how we know: states folded from observations.

An observation is what one source said at one time. The fold picks the strongest that is still
fresh, so every state comes with its source, its evidence and its age. Reading hooks, processes and
screens is done elsewhere; here is only what they mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec


class State(StrEnum):
    """The ten states of an agent."""

    CREATING = "creating"
    RUNNING = "running"
    ASKING = "asking"
    WAITING = "waiting"
    COMPLETE = "complete"
    COMPACTING = "compacting"
    RATE_LIMITED = "rate_limited"
    PAUSED = "paused"
    STOPPED = "stopped"
    UNKNOWN = "unknown"


class Source(StrEnum):
    """Who may say what an agent does, strongest first."""

    WINDLASS = "windlass"
    """What we did ourselves: created, paused."""
    HOOK = "hook"
    PROCESS = "process"


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """One source's word at one time, about one session of an agent."""

    source: Source
    value: State
    at: float
    evidence: str
    session: int


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The state, the observation that decided it, and those that lost."""

    state: State
    winner: Observation | None
    losers: tuple[Observation, ...] = ()


COMPLETE_PHRASE = "I HAVE COMPLETED THE GOAL"
WAITING_PHRASE = "WAITING"
FADES_AFTER = 15 * 60.0
"""A running agent that said nothing for so long is unknown, not running."""

_LASTING = frozenset({State.WAITING, State.COMPLETE, State.ASKING, State.PAUSED, State.STOPPED})


def fold(observations: Iterable[Observation], *, now: float) -> Verdict:
    """Decides the state from the latest observation of each source.

    Only the newest session counts. That we paused it settles it, then that its process is gone;
    else the hooks say, then what we did ourselves; a process that is merely alive comes last.
    """
    seen = list(observations)
    if not seen:
        return Verdict(state=State.UNKNOWN, winner=None)
    newest = max(o.session for o in seen)
    current = sorted((o for o in seen if o.session == newest), key=_strength)
    winner, *losers = current
    others = tuple(losers) + tuple(o for o in seen if o.session != newest)
    faded = winner.value not in _LASTING and now - winner.at > FADES_AFTER
    return Verdict(state=State.UNKNOWN if faded else winner.value, winner=winner, losers=others)


def _strength(seen: Observation) -> tuple[int, float, str]:
    if seen.value is State.PAUSED:
        rank = 0
    elif seen.source is Source.PROCESS:
        rank = 1 if seen.value is State.STOPPED else 4
    else:
        rank = 2 if seen.source is Source.HOOK else 3
    return rank, -seen.at, seen.value


def from_hook(event: Mapping[str, Any], *, at: float, session: int) -> Observation | None:
    """Reads a hook event as an observation; None where it says nothing about the state."""
    meaning = _meaning(event)
    if meaning is None:
        return None
    value, evidence = meaning
    return Observation(source=Source.HOOK, value=value, at=at, evidence=evidence, session=session)


def _meaning(event: Mapping[str, Any]) -> tuple[State, str] | None:
    name = event.get("hook_event_name")
    match name:
        case "SessionStart":
            started = event.get("source", "startup")
            if started == "resume":
                return State.WAITING, "idle: session resumed"
            return State.CREATING, f"session start ({started})"
        case "UserPromptSubmit":
            return State.RUNNING, "took a prompt"
        case "PreToolUse":
            return State.RUNNING, f"called {event.get('tool_name', 'a tool')}"
        case "PostToolUse" | "PostToolUseFailure":
            return State.RUNNING, f"{event.get('tool_name', 'a tool')} returned"
        case "PermissionRequest":
            return State.ASKING, f"asks permission for {event.get('tool_name', 'a tool')}"
        case "Notification" if event.get("notification_type") == "permission_prompt":
            return State.ASKING, str(event.get("message", "permission prompt"))
        case "PreCompact":
            return State.COMPACTING, f"compacting ({event.get('trigger', 'auto')})"
        case "StopFailure" if "rate_limit" in str(event.get("error", "")):
            return State.RATE_LIMITED, "turn ended by a rate limit"
        case "StopFailure":
            return State.WAITING, f"turn ended by an error: {event.get('error', 'unknown')}"
        case "Stop":
            return from_last_message(str(event.get("last_assistant_message") or ""))
        case _:
            return None


def from_last_message(text: str) -> tuple[State, str]:
    """Reads the last line of an agent's last message: done, waiting, or merely idle."""
    lines = [line.strip().strip("*_`#>").strip() for line in text.splitlines()]
    last = next((line for line in reversed(lines) if line), "")
    bare = last.rstrip(".!* ")
    if bare.endswith(COMPLETE_PHRASE):
        return State.COMPLETE, COMPLETE_PHRASE
    if bare == WAITING_PHRASE:
        return State.WAITING, WAITING_PHRASE
    return State.WAITING, "idle"
