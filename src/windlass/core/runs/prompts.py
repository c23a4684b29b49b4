"""What the agent of a run is told: at the start of a step, and when it gave no result.

What earlier sessions said is text in it and nothing else, whoever they were.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from windlass.core.mail.messages import as_text
from windlass.core.pipeline.steps import GIVEN
from windlass.core.runs import checklist
from windlass.core.runs.loop import ANSWERS, Loop
from windlass.core.runs.part import Part

_LARGEST_REPORT = 8 << 10
_MOST_REPORTS = 6


class StepReport(NamedTuple):
    """What an earlier visit of a step reported."""

    label: str
    visit: int
    result: str
    text: str


class Told(NamedTuple):
    """What a session of a run is told beside its part."""

    document: str
    """The task."""
    reports: Sequence[StepReport] = ()
    ticket: str = ""
    """Why the task's change came back."""
    readonly: bool = False
    allowed: Collection[str] = GIVEN
    loop: Loop = Loop()
    stopped: str = ""
    """Why the step stopped that is decided about."""
    iterations: int = 1
    """How many a visit has at most."""


def beginning(part: Part, told: Told) -> str:
    """The prompt of a session: the task, what was reported and done before, and how to end."""
    document = checklist.marked(told.document, told.loop.ticks).strip()
    parts = [_lead(part, told), document, *_earlier(told.reports)]
    if told.loop.summary:
        parts.append(f"What the iterations before came to:\n\n{as_text(told.loop.summary)}")
    if told.loop.feedback:
        feedback = as_text(told.loop.feedback)
        parts.append(f"What the supervisor of this step says:\n\n{feedback}")
    if told.ticket:
        ticket = as_text(told.ticket.strip())
        parts.append(f"This task's change came back. Mend exactly that:\n\n{ticket}")
    if told.readonly:
        parts.append("Only look: what you change in this step is taken back when it ends.")
    else:
        parts.append("Commit what you did, in commits that say why.")
    parts.append(_way_to_end(part, told))
    return "\n\n".join(parts)


def _lead(part: Part, told: Told) -> str:
    step = f"the step `{part.label}` (visit {part.visit})"
    own = "You work in your own checkout, on a branch of this task."
    match part.duty:
        case "summary":
            return f"You sum up iteration {part.iteration} of {step} of the task below. {own}"
        case "resume":
            why = f"It stopped without a result: {as_text(told.stopped)}"
            return f"You decide what becomes of {step} of the task below. {own} {why}"
        case "supervisor":
            counted = f"{part.iteration} of at most {told.iterations} iterations"
            return f"You supervise {step} of the task below, after {counted}. {own}"
    lead = f"You do {step} of the task below, as {part.role}. {own}"
    if told.iterations == 1:
        return lead
    counted = f"This is iteration {part.iteration} of at most {told.iterations}"
    return f"{lead} {counted}: each is a conversation of its own, and the work goes on in the tree."


def _way_to_end(part: Part, told: Told) -> str:
    if part.duty == "summary":
        return (
            "End your last message with the summary between <report> and </report>: what is done,"
            " what was decided, and what is left. The next iteration knows nothing else."
        )
    if part.duty == "resume":
        return for_decision()
    if part.duty == "supervisor":
        return f"{_ANSWERS} {for_answer()}"
    if told.loop.is_last:
        return f"The supervisor has ended this step: say what came of it. {ending(told.allowed)}"
    if told.iterations == 1:
        return ending(told.allowed)
    ticks = "Tick what of the checklist is done: repeat its line in your last message as `- [x] …`."
    if part.iteration == told.iterations:
        return f"{ticks} No other iteration follows. {ending(told.allowed)}"
    return (
        f"{ticks} Where something is left, end with a report between <report> and </report> of what"
        " is done and what is left, and without a result: another iteration goes on with that."
        f" With nothing left: {ending(told.allowed)}"
    )


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


_ANSWERS = (
    "CONTINUE has the next iteration begin, with your feedback. STOP ends the step: its agent says"
    " what came of it. RESTART takes the tree back to where the step began, and has it begin anew"
    " with your feedback."
)


def for_answer() -> str:
    """How a supervisor says what is to be done."""
    answers = "|".join(ANSWERS)
    return (
        "End your last message with your feedback to the agent between <report> and </report>, and"
        f" after it with your answer: <result>{answers}</result> (one of these words)."
    )


def for_decision() -> str:
    """How somebody says what becomes of a run that stopped without a result."""
    return (
        "End your last message with a report between <report> and </report>, and after it with"
        " <result>PASS</result>. The report's first word is your decision: `retry` (the step goes"
        " on with what is there), `restart` (its tree goes back to where it began), `abort` (the"
        " task has failed) or `defer` (it goes on in half an hour). Then say why."
    )


AFTER_FAILURE = "The model could not be asked just now. Go on with the task where you were."
"""What a session is told whose model failed."""


def _earlier(reports: Sequence[StepReport]) -> Iterable[str]:
    """The last reports, the newest at the end, each cut where it is very long."""
    for report in reports[-_MOST_REPORTS:]:
        text = as_text(report.text[:_LARGEST_REPORT])
        yield f"Report of `{report.label}` (visit {report.visit}, {report.result}):\n\n{text}"
