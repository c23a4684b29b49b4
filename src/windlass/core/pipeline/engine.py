"""Where a run of a pipeline goes from a result: `advance(pipeline, state, result)`, pure.

Visits are counted per step for the whole run and never reset, inline steps per parent and handler.
So every run ends: each step is entered at most `max` times, and coming back to a step that is
exhausted through `on_max` jumps alone aborts.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from windlass.core.errors import Internal
from windlass.core.pipeline.steps import (
    ABORT,
    DEFAULT_JUMPS,
    FAIL,
    NEXT,
    NOT_FINAL,
    PREV,
    SELF,
    UNKNOWN,
    Inline,
    Pipeline,
    ResultMapping,
    Step,
)

Outcome = Literal["", "success", "abort"]
GENERIC_FIX = Inline(id="generic-fix", agent="generic-fix")
"""What mends a rejected change where the pipeline names no step for that."""
REJECTED = "REJECTED"
"""The handler that it runs in: no result of a step."""
_IN_A_ROW = 3


class State(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run stands. Data alone: it is kept between two results."""

    step: str = ""
    """The step that runs, or whose handler does; nothing when the run is over."""
    handler: str = ""
    """The result whose inline step runs; nothing while the step itself does."""
    visits: dict[str, int] = {}
    inline_visits: dict[str, int] = {}
    """By `step:RESULT`."""
    rows: dict[str, tuple[str, int]] = {}
    """The last result of a step that was not final, and how many times in a row it came."""
    enabled: frozenset[str] = frozenset()
    """Variables that are `true` for this run."""
    outcome: Outcome = ""
    reason: str = ""


def start(pipeline: Pipeline, enabled: frozenset[str] = frozenset()) -> State:
    """A run at its beginning."""
    return _enter(pipeline, State(enabled=enabled), 0)


def advance(pipeline: Pipeline, state: State, result: str) -> State:
    """Where the run stands after what runs has given a result."""
    if state.outcome:
        raise Internal(f"the run of {pipeline.name} is over: {state.reason}")
    place = pipeline.places[state.step]
    step = pipeline.steps[place]
    if state.handler:
        return _after_inline(pipeline, state, place, result)
    state, counted = _count_row(state, step, result)
    handler = step.on_result.get(counted)
    if isinstance(handler, Inline):
        return _enter_inline(pipeline, state, place, counted)
    jump = handler or _mapped(pipeline, step, counted)
    said = result if counted == result else f"{result} {_IN_A_ROW} times in a row"
    if not jump:
        none = "no result that counts" if counted == UNKNOWN else ""
        gave = none or f"{said}, which nothing says what to do about"
        return _over(state, "abort", f"{step.id} gave {gave}")
    return _jump(pipeline, state, place, jump, f"{step.id} gave {said}")


def running(pipeline: Pipeline, state: State) -> Step | Inline | None:
    """What runs now; None when the run is over."""
    if not state.step:
        return None
    step = pipeline.steps[pipeline.places[state.step]]
    return _inline(step, state.handler) if state.handler else step


def label(pipeline: Pipeline, state: State) -> str:
    """What runs now, as people are told: the id of a step, or `parent:id`."""
    found = running(pipeline, state)
    if found is None:
        return ""
    return f"{state.step}:{found.id}" if state.handler else found.id


def reject(pipeline: Pipeline, state: State) -> State:
    """Where a run goes that had succeeded, and whose change was rejected.

    To the step that `on_reject` names; without one, to an inline `generic-fix` and then to the last
    validating step, if there is one. Neither asks for `max`: how often this may be is counted by
    `max_attempts`.
    """
    if state.outcome != "success":
        raise Internal(f"no change of {pipeline.name} can have been rejected yet")
    over = msgspec.structs.replace(state, outcome="", reason="")
    if pipeline.on_reject:
        return msgspec.structs.replace(over, step=pipeline.on_reject, handler="")
    validating = pipeline.steps[last_validating(pipeline)].id
    return msgspec.structs.replace(over, step=validating, handler=REJECTED)


def last_validating(pipeline: Pipeline) -> int:
    """The place of the last step that only looks; the last step where all of them write."""
    found = [place for place, step in enumerate(pipeline.steps) if step.readonly]
    return found[-1] if found else len(pipeline.steps) - 1


def _inline(step: Step, handler: str) -> Inline:
    if handler == REJECTED:
        return GENERIC_FIX
    found = step.on_result[handler]
    if not isinstance(found, Inline):
        raise Internal(f"{step.id} has no inline step for {handler}")
    return found


def _count_row(state: State, step: Step, result: str) -> tuple[State, str]:
    """What a result counts as: the same one that is not final, for the third time, is FAIL."""
    rows = {name: row for name, row in state.rows.items() if name != step.id}
    if result not in NOT_FINAL:
        return msgspec.structs.replace(state, rows=rows), result
    last, times = state.rows.get(step.id, ("", 0))
    times = times + 1 if last == result else 1
    rows[step.id] = (result, times)
    counted = FAIL if times >= _IN_A_ROW else result
    return msgspec.structs.replace(state, rows=rows), counted


def meaning(pipeline: Pipeline, state: State, result: str) -> ResultMapping:
    """What a result of what runs now is called, and what to exit with where it ends the run.

    What the pipeline does not say of it, the role of a step does; an inline step has no say.
    """
    role = {} if state.handler else pipeline.steps[pipeline.places[state.step]].mappings
    first, then = (said.get(result, ResultMapping()) for said in (pipeline.result_mappings, role))
    code = then.exit_code if first.exit_code is None else first.exit_code
    return ResultMapping(status=first.status or then.status, exit_code=code)


def _mapped(pipeline: Pipeline, step: Step, result: str) -> str:
    """The jump of a result that the step does not handle."""
    for mappings in (pipeline.result_mappings, step.mappings):
        mapping = mappings.get(result)
        if mapping is not None and mapping.jump:
            return mapping.jump
    return DEFAULT_JUMPS.get(result, "")


def _enter_inline(pipeline: Pipeline, state: State, place: int, handler: str) -> State:
    step = pipeline.steps[place]
    inline = _inline(step, handler)
    key = f"{step.id}:{handler}"
    visits = state.inline_visits.get(key, 0)
    if visits >= inline.max:
        why = f"{step.id}:{inline.id} was tried {visits} times"
        return _jump(pipeline, state, place, inline.on_max, why)
    return msgspec.structs.replace(
        state,
        handler=handler,
        inline_visits={**state.inline_visits, key: visits + 1},
        rows={name: row for name, row in state.rows.items() if name != step.id},
    )


def _after_inline(pipeline: Pipeline, state: State, place: int, result: str) -> State:
    step = pipeline.steps[place]
    inline = _inline(step, state.handler)
    back = msgspec.structs.replace(state, handler="")
    if state.handler == REJECTED:
        if step.readonly:
            return back  # and the validating step runs, whatever its visits are
        why = f"{step.id}:{inline.id} gave {result}"
        return _over(back, "abort" if result == FAIL else "success", why)
    jump = inline.on_result.get(result, SELF)
    return _jump(pipeline, back, place, jump, f"{step.id}:{inline.id} gave {result}")


def _jump(pipeline: Pipeline, state: State, place: int, jump: str, why: str) -> State:
    if jump == ABORT:
        return _over(state, "abort", why)
    return _enter(pipeline, state, _target(pipeline, place, jump))


def _target(pipeline: Pipeline, place: int, jump: str) -> int:
    """The place that a jump leads to; one past the last step is the end."""
    if jump == SELF:
        return place
    if jump == PREV:
        return max(place - 1, 0)
    return place + 1 if jump == NEXT else pipeline.places[jump]


def _enter(pipeline: Pipeline, state: State, place: int) -> State:
    """Enters a step, or whatever its variable or its `max` lead to."""
    exhausted: set[int] = set()
    while place < len(pipeline.steps):
        step = pipeline.steps[place]
        if step.enabled_by and step.enabled_by not in state.enabled:
            place += 1
            continue
        visits = state.visits.get(step.id, 0)
        if visits < step.max:
            counted = {**state.visits, step.id: visits + 1}
            return msgspec.structs.replace(state, step=step.id, handler="", visits=counted)
        why = f"{step.id} was run {visits} times"
        if step.on_max == ABORT:
            return _over(state, "abort", why)
        if place in exhausted:
            return _over(state, "abort", f"{why}, and its on_max leads back to it")
        exhausted.add(place)
        place = _target(pipeline, place, step.on_max)
    return _over(state, "success", "the last step is done")


def _over(state: State, outcome: Outcome, reason: str) -> State:
    return msgspec.structs.replace(state, step="", handler="", outcome=outcome, reason=reason)
