"""What a pipeline consists of: steps, what follows from their results, and inline steps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import msgspec

PASS, FAIL, FIX, SKIP, UNKNOWN = "PASS", "FAIL", "FIX", "SKIP", "UNKNOWN"
RESULTS = (PASS, FAIL, FIX, SKIP, UNKNOWN)
"""What a step can end with; UNKNOWN is that of a step that gave none."""
GIVEN = (PASS, FAIL, FIX, SKIP)
"""What a step can give; UNKNOWN is what one has that gave none."""
NOT_FINAL = frozenset((FIX, UNKNOWN))
"""Results that ask for another try; the third of the same in a row counts as FAIL."""
SELF, PREV, NEXT, ABORT = "self", "prev", "next", "abort"
WORDS = frozenset((SELF, PREV, NEXT, ABORT))
"""Jumps that are no step's id."""
DEFAULT_JUMPS = {PASS: NEXT, FAIL: ABORT, FIX: PREV, SKIP: NEXT}
"""Where a result leads that nobody handles and no mapping names."""
DEFAULT_MAX = 3


class ResultMapping(msgspec.Struct, frozen=True, kw_only=True):
    """What a result means where no step handles it."""

    status: str = ""
    exit_code: int | None = None
    jump: str = ""
    """Nothing where it does not say."""


class Inline(msgspec.Struct, frozen=True, kw_only=True):
    """A step inside another one's handler: it returns to its parent when it is done."""

    id: str
    agent: str
    max: int = DEFAULT_MAX
    on_max: str = NEXT
    on_result: dict[str, str] = {}
    """Jumps by result, all of them seen from the parent."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One agent's part."""

    id: str
    agent: str
    """The role that does it."""
    max: int = DEFAULT_MAX
    on_max: str = NEXT
    readonly: bool = False
    commit_after: bool = False
    enabled_by: str = ""
    """A variable that has to be `true`, or the step is passed over."""
    config: dict[str, Any] = {}
    on_result: dict[str, str | Inline] = {}
    """What follows from a result: a jump, or an inline step."""
    mappings: dict[str, ResultMapping] = {}
    """What its role says about results; the pipeline's own go before."""


class Pipeline(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The steps that a task goes through."""

    name: str
    steps: tuple[Step, ...]
    result_mappings: dict[str, ResultMapping] = {}
    on_reject: str = ""
    """The step that a rejected change goes back to; nothing for the usual way."""
    description: str = ""

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each step stands."""
        return {step.id: place for place, step in enumerate(self.steps)}


def with_roles(pipeline: Pipeline, mappings: Mapping[str, Mapping[str, ResultMapping]]) -> Pipeline:
    """The pipeline with what its roles say about results."""
    steps = tuple(
        msgspec.structs.replace(step, mappings=dict(mappings.get(step.agent, {})))
        for step in pipeline.steps
    )
    return msgspec.structs.replace(pipeline, steps=steps)
