"""The loop of a visit: who has its next session, the agent or somebody who looks at its work. Pure.

Each iteration is a session in a conversation of its own. Between two of them what was done is
summed up, and every so often a supervisor looks at it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import msgspec

from windlass.core.pipeline.step_roles import StepRole
from windlass.core.roles import LOOP_SUPERVISOR
from windlass.core.runs import last_words
from windlass.core.runs.part import Duty

Answer: TypeAlias = Literal["CONTINUE", "STOP", "RESTART"]
ANSWERS: tuple[Answer, ...] = get_args(Answer)
"""What a supervisor may answer."""
ROLES: dict[Duty, str] = {
    "summary": "task-summarizer",
    "supervisor": LOOP_SUPERVISOR,
    "resume": "resume-decide",
}
"""The roles of those who look."""
_LARGEST = 8 << 10


class Loop(msgspec.Struct, frozen=True, kw_only=True):
    """Where the loop of a visit stands."""

    iteration: int = 1
    """The one that goes on, or that is looked at."""
    duty: Duty = "work"
    is_last: bool = False
    """Whether a supervisor has ended it, so that only its result is wanted."""
    start: str = ""
    """Where the branch was when the visit began."""
    ticks: tuple[str, ...] = ()
    """What of the task's checklist is done."""
    summary: str = ""
    """What the iterations before came to."""
    feedback: str = ""
    """What the supervisor said last."""


def most(role: StepRole) -> int:
    """How many iterations a visit has."""
    return role.iterations if role.mode == "loop" else 1


def is_used_up(loop: Loop, role: StepRole) -> bool:
    """Whether no other iteration follows."""
    return loop.is_last or loop.iteration >= most(role)


def answer(said: str) -> Answer | None:
    """What a supervisor answered; None where that is none of its answers."""
    found = last_words.last_word(said)
    return next((known for known in ANSWERS if known == found), None)


def following(loop: Loop, role: StepRole, *, sums_up: bool) -> Duty:
    """What the next session is for, after one that gave no result."""
    if loop.duty == "work" and sums_up:
        return "summary"
    interval = role.supervisor_interval
    if loop.duty != "supervisor" and interval and loop.iteration % interval == 0:
        return "supervisor"
    return "work"


def after(loop: Loop, role: StepRole, said: str, *, sums_up: bool) -> Loop:
    """The loop after a session that ended with these words.

    A supervisor without an answer of its kind changes nothing.
    """
    duty = following(loop, role, sums_up=sums_up)
    told = last_words.report(said)[-_LARGEST:]
    if loop.duty == "supervisor":
        loop = msgspec.structs.replace(loop, feedback=told)
        match answer(said):
            case "STOP":
                loop = msgspec.structs.replace(loop, is_last=True)
            case "RESTART":
                loop = msgspec.structs.replace(loop, summary="", ticks=())
    else:
        loop = msgspec.structs.replace(loop, summary=told or loop.summary)
    iteration = loop.iteration + (duty == "work")
    return msgspec.structs.replace(loop, duty=duty, iteration=iteration)
