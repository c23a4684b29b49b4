"""The gate: what it is, its runs, and their verdicts."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

import msgspec

from windlass.api.wire.request import AnyRequest, Word

Outcome = Literal["passed", "failed", "could-not-run", "ran-nothing"]


class GateRequest(AnyRequest):
    """Asks for the gate of a repository, and how its target fares."""


class GateRunRequest(AnyRequest):
    """Has a commit proven, the target's tip where none is named."""

    rev: NotRequired[Word]
    check: NotRequired[Word]
    fresh: NotRequired[bool]
    """Runs checks again whose green verdict is known."""
    setup_network: NotRequired[bool]
    """Lets the setup of a tree with inputs of its own reach what the target's does."""


class GateWaitRequest(AnyRequest):
    """Waits until a run is over, or so many seconds."""

    job: Word
    seconds: NotRequired[Annotated[float, msgspec.Meta(ge=0)]]


class CheckView(TypedDict):
    """One check, and how it ended; `outcome` is null where it was not run."""

    name: str
    run: str
    outcome: Outcome | None
    why: str
    code: int | None
    seconds: float | None
    tests: int | None
    skipped: int | None
    failed: list[str]
    log: str
    cached: bool


class GateView(TypedDict):
    """The gate that counts, and the verdict of the target's tip."""

    target: str
    tip: str
    tree: str
    box: str
    setup: str
    outcome: Outcome | None
    checks: list[CheckView]
    waiting: list[str]
    """Keys of the repository's file that are not in force."""
    job: str | None
    """The run that is proving the target's tip."""


class GateRunReply(TypedDict):
    """A run: over, with its outcome, or under way as a job."""

    tree: str
    layer: str
    box: str
    outcome: Outcome | None
    cached: bool
    marks: list[str]
    checks: list[CheckView]
    job: str | None
    doing: list[str]
    """What is being done while it is not over: `setup`, or the checks that have not ended."""
    network: bool
    """Whether its checks reached the network."""
    tried: list[CheckView]
    """How they ended the other way, where a run was tried without the network and with it."""
