"""What a pipeline would do, for results that somebody gives: the path, and how it ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from windlass.core.errors import ConfigError, UserError
from windlass.core.pipeline import engine
from windlass.core.pipeline.steps import PASS, RESULTS, Inline, Pipeline

_LONGEST = 1_000_000


class Simulation(NamedTuple):
    """The path of a run, and how it ended."""

    visited: list[str]
    """Steps by their ids, inline ones as `parent:id`."""
    outcome: engine.Outcome
    reason: str
    unused: list[str]
    """Steps that results were given for and not asked for."""


def simulate(
    pipeline: Pipeline, results: Iterable[tuple[str, str]], enabled: frozenset[str] = frozenset()
) -> Simulation:
    """Runs it with these results, each used once, in order, per step; a step without one passes.

    Inline steps are named by their own id, or as `parent:id`.
    """
    given = _queues(pipeline, results)
    state = engine.start(pipeline, enabled)
    visited = []
    while (runs := engine.running(pipeline, state)) is not None:
        visited.append(engine.label(pipeline, state))
        if len(visited) > _LONGEST:
            raise ConfigError(
                f"{pipeline.name} takes more than {_LONGEST} steps with these results",
                "lower the `max` of the step that goes round",
            )
        queue = given.get(visited[-1]) or given.get(runs.id)
        state = engine.advance(pipeline, state, queue.popleft() if queue else PASS)
    unused = [name for name, queue in given.items() if queue]
    return Simulation(visited, state.outcome, state.reason, unused)


def _queues(pipeline: Pipeline, results: Iterable[tuple[str, str]]) -> dict[str, deque[str]]:
    known = set(pipeline.places)
    for step in pipeline.steps:
        for handler in step.on_result.values():
            if isinstance(handler, Inline):
                known |= {handler.id, f"{step.id}:{handler.id}"}
    given: dict[str, deque[str]] = {}
    for name, result in results:
        if name not in known:
            raise UserError(
                f"no step {name!r} in the pipeline {pipeline.name}", "`wl pipeline show` has them"
            )
        if result not in RESULTS:
            raise UserError(f"{name}: {result!r} is no result", f"one of {', '.join(RESULTS)}")
        given.setdefault(name, deque()).append(result)
    return given
