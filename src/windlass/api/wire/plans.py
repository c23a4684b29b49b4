"""Plans of tasks, made by agents."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

import msgspec

from windlass.api.wire.request import AnyRequest, Whole, Word, Words
from windlass.api.wire.runs import TaskRunView


class PlanRequest(AnyRequest):
    """Has an agent plan a task; where one does already, this joins it."""

    task: Word
    driver: NotRequired[Word]
    live: NotRequired[bool]
    again: NotRequired[bool]
    """Also where the task has a plan: that one stays beside the new one."""
    overrides: NotRequired[Words]
    """The variables of the caller's environment that are about roles, as `NAME=value`."""


class PlanReply(TypedDict):
    """The run that plans a task, and whether it was there already."""

    task: str
    run: str
    joined: bool
    pays: str
    """What pays for its sessions: an API key, a token, a login; nothing of one that is joined."""


class PlanStopRequest(AnyRequest):
    """Has the planning of a task end without a plan."""

    task: Word


class PlanStopReply(TypedDict):
    """The planning that ends."""

    task: str
    run: str


class PlanWaitRequest(AnyRequest):
    """Asks how the planning of a task stands; as soon as more has happened than `after`."""

    task: Word
    run: Word
    """Which planning of it."""
    after: NotRequired[Whole]
    """The event up to which the caller knows what happened."""
    seconds: NotRequired[Annotated[float, msgspec.Meta(ge=0)]]


class PlanView(TypedDict):
    """Where the planning of a task stands, and what happened since the caller knew."""

    run: TaskRunView
    is_over: bool
    path: str
    """Where the plan lies, once it does."""
    text: str
    """What it says."""
    at: int
    """The event up to which this tells everything."""
    events: list[dict[str, Any]]
