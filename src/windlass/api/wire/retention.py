"""What is older than it is kept: found, and removed."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from windlass.api.wire.request import AnyRequest

Kind = Literal[
    "trash",
    "archive",
    "events",
    "intents",
    "jobs",
    "messages",
    "notices",
    "screens",
    "packs",
    "workspaces",
    "gate_logs",
    "layers",
]


class GcRequest(AnyRequest):
    """Removes what is over; with `dry_run` it is only named."""

    dry_run: NotRequired[bool]


class SweptView(TypedDict):
    """What of one kind is over."""

    kind: Kind
    limit: int
    """Days, MiB of screens or layers, or packs of salvages in a repository; 0: kept for
    ever, or, of what is left of workspaces, until nobody has anything of it open."""
    removed: int
    bytes: int
    """About how much room that made, or would make."""
    names: list[str]
    """Which those were, where they have names."""
    kept: list[str]
    """What is older and stays all the same, with the reason."""


class GcReply(TypedDict):
    """What was removed, kind by kind."""

    dry_run: bool
    swept: list[SweptView]
    bytes: int
