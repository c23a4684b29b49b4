"""What the agent of a run is told: at the start of a step, and when it gave no result."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from windlass.core.pipeline.steps import GIVEN
from windlass.core.runs.part import Part

_LARGEST_REPORT = 8 << 10
_MOST_REPORTS = 6


class StepReport(NamedTuple):
    """What an earlier visit of a step reported."""

    label: str
    visit: int
    result: str
    text: str


def beginning(
    part: Part,
    document: str,
    *,
    reports: Sequence[StepReport] = (),
    ticket: str = "",
    readonly: bool = False,
    allowed: Collection[str] = GIVEN,
) -> str:
    """The prompt of a visit: the task, what was reported before, and how to end."""
    lead = (
        f"You do the step `{part.label}` (visit {part.visit}) of the task below, as"
        f" {part.role}. You work in your own checkout, on a branch of this task."
    )
    parts = [
        lead,
        document.strip(),
        *_earlier(reports),
    ]
    if ticket:
        parts.append(f"This task's change came back. Mend exactly that:\n\n{ticket.strip()}")
    if readonly:
        parts.append("Only look: what you change in this step is taken back when it ends.")
    else:
        parts.append("Commit what you did, in commits that say why.")
    parts.append(ending(allowed))
    return "\n\n".join(parts)


def ending(allowed: Collection[str]) -> str:
    """How a step says what came of it."""
    results = "|".join(name for name in GIVEN if name in allowed)
    return (
        "End your last message with a report between <report> and </report>, and after it with"
        f" your result: <result>{results}</result> (one of these words)."
    )


def once_more(allowed: Collection[str]) -> str:
    """What a session is told whose last message gave no result that counts."""
    return f"Your last message had no result that counts here. {ending(allowed)}"


def go_on(allowed: Collection[str]) -> str:
    """What a session is told that has not said that it is done: one more round."""
    return (
        "Go on with what is left of the task; with nothing left, end with DONE on the last line."
        f" {ending(allowed)}"
    )


AFTER_FAILURE = "The model could not be asked just now. Go on with the task where you were."
"""What a session is told whose model failed."""


def _earlier(reports: Sequence[StepReport]) -> Iterable[str]:
    """The last reports, the newest at the end, each cut where it is very long."""
    for report in reports[-_MOST_REPORTS:]:
        text = report.text[:_LARGEST_REPORT]
        yield f"Report of `{report.label}` (visit {report.visit}, {report.result}):\n\n{text}"
