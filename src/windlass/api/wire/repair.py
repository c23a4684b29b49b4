"""What lives and the store does not know: found, and mended."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from windlass.api.wire.request import AnyRequest, Words


class RepairRequest(AnyRequest):
    """Mends what is found; with `dry_run` it is only named."""

    dry_run: NotRequired[bool]


class OrphanView(TypedDict):
    """Something that no agent in the store accounts for, and what is done about it."""

    kind: Literal["workspace", "branch", "session", "folder", "repository", "mail"]
    subject: str
    evidence: str
    """By what it was found, and why it is or is not ours."""
    action: Literal["take in", "stop", "archive", "tell", "none"]
    """What mends it; `none` where nothing proves that it is ours."""
    done: bool


class ForeignWorkRequest(AnyRequest):
    """Work trees that another tool made."""

    paths: NotRequired[Words]


class KeptWork(TypedDict):
    """What became of one of them: its entry in the trash, or why there is none."""

    path: str
    entry: str | None
    problem: str
