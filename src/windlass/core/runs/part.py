"""The part of a run that one session of its agent does: a visit of a step."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Duty: TypeAlias = Literal["work", "summary", "supervisor", "resume"]
"""What a session of a visit is for: the step itself, a look at an iteration of it, or a decision
about one that stopped without a result."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Which visit of which step a session belongs to, in which conversation."""

    run: str
    step: str
    """The step's id, as its pipeline has it; of an inline step its own."""
    label: str
    """The same as people are told it: an inline step as `parent:id`."""
    visit: int
    """The first time that a run comes to a step is 1."""
    role: str
    conversation: str
    iteration: int = 1
    """Which of the visit's iterations it is, or looks at."""
    duty: Duty = "work"
    turns: int = 0
    """How many turns its session may take; 0 is as many as it likes."""
    tip: str = ""
    """Where the branch was when it began."""
    prompt_file: str = ""
    """What it is told first: a file in the folder of its run."""
    prompt: str = ""
    """The same, as older releases kept it."""
    resumes: bool = False
    """Whether an earlier session began that conversation."""

    @property
    def name(self) -> str:
        """The step as the session is told it; one that looks at the step's work adds its duty."""
        return self.step if self.duty == "work" else f"{self.step}.{self.duty}"
