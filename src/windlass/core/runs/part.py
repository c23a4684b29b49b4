"""The part of a run that one session of its agent does: a visit of a step."""

from __future__ import annotations

import msgspec


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
    tip: str = ""
    """Where the branch was when it began."""
    prompt_file: str = ""
    """What it is told first: a file in the folder of its run."""
    prompt: str = ""
    """The same, as older releases kept it."""
    resumes: bool = False
    """Whether an earlier session began that conversation."""
