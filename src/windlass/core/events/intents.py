"""Events of what Windlass sets out to do: begun, done, failed, set aside, halted, tried again."""

from __future__ import annotations

from typing import Any

from windlass.core.events.catalogue import EventData


class IntentOpen(EventData, kind="intent.open"):
    """Windlass set out to do something; `what` is the operation."""

    intent: str
    what: str


class IntentDone(EventData, kind="intent.done"):
    """Something that Windlass set out to do is done."""

    intent: str
    what: str
    error: dict[str, Any] | None


class IntentFailed(EventData, kind="intent.failed"):
    """Something that Windlass set out to do failed; what could be taken back was."""

    intent: str
    what: str
    error: dict[str, Any] | None


class IntentSetAside(EventData, kind="intent.set_aside"):
    """The daemon died in something so often that it is tried no more; it is left as it is."""

    intent: str
    what: str
    tries: int
    error: dict[str, Any] | None


class IntentHalted(EventData, kind="intent.halted"):
    """The daemon died so often in what moves a branch that nothing moves it before you decide."""

    intent: str
    what: str
    branch: str
    tries: int
    error: dict[str, Any] | None


class IntentRetried(EventData, kind="intent.retried"):
    """The person had something tried once more that was set aside or halted, or taken `back`."""

    intent: str
    what: str
    back: bool


class IntentUndoFailed(EventData, kind="intent.undo_failed"):
    """A step of something that failed could not be taken back."""

    intent: str
    step: str
    error: str
