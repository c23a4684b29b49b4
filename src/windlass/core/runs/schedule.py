"""The job that works off a board: after each end of a run it begins what is next, until none is.

Pure. It is woken by runs that end, by whoever asks for more, and now and then, because people edit
their boards.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from windlass.core import jobs, shapes
from windlass.core.events import (
    JobDone,
    JobSetAside,
    RunEnded,
    RunSubmitted,
    ScheduleAsked,
    SchedulePaused,
)
from windlass.core.jobs import Decision, Effect, JobKind, News
from windlass.core.runs.overrides import Overrides

ROUND = "run.round"
"""Read the board, and begin what is admitted."""
PERIOD = 30.0
"""Seconds until the board is read again, though nothing of ours has happened."""
_MOST_BROKEN = 4
"""Rounds in a row without a board that could be read, until nothing more is begun."""
RUN = "run"
"""The kind of the jobs that it begins."""
SUBJECT = "board"


class Postponed(msgspec.Struct, frozen=True):
    """Why a task is put off, and since when."""

    why: str
    """Nothing while no worker is free, so that nobody asks whether others are in its way."""
    since: float


class ScheduleState(msgspec.Struct, frozen=True, kw_only=True):
    """Where the work on a board stands."""

    workers: int
    only: tuple[str, ...] = ()
    """The tasks that are wanted; all where none is named."""
    pipeline: str = ""
    driver: str = ""
    mode: Literal["live", "headless"] = "headless"
    plans: bool = False
    """Whether tasks without a plan have one made first."""
    enabled: tuple[str, ...] = ()
    """Variables that are `true`, for steps that ask for them."""
    overrides: Overrides = {}
    """What the environment of whoever began it says of roles."""
    waits: dict[str, int] = {}
    left: int = 0
    """Tasks that the last round has not begun: they wait for a worker, or for other tasks."""
    paused: bool = False
    at_work: bool = False
    again: bool = False
    """Whether something happened while a round was under way."""
    ended: dict[str, str] = {}
    """How each run of this went, by its task."""
    unmarked: tuple[str, ...] = ()
    """Tasks whose run is over, and whose box does not say so: they are not begun again."""
    failures: int = 0
    problem: str = ""
    """Why the last round could begin nothing."""
    postponed: dict[str, Postponed] = {}
    """Ready tasks that wait for others that are at work."""
    missing: dict[str, float] = {}
    """Tasks at work that are not on the board, and since when."""
    edited: dict[str, list[str]] = {}
    """What of tasks at work was edited, as far as that was told."""
    held: str = ""
    """Why nothing more is begun for now; it passes by itself."""

    @property
    def settled(self) -> tuple[str, ...]:
        """Tasks that nobody works on again unless somebody asks for it."""
        landed = (task for task, outcome in self.ended.items() if outcome == "landed")
        return (*landed, *self.unmarked)


def begun(state: ScheduleState) -> dict[str, Any]:
    """The state of a new job as it is kept."""
    kept: dict[str, Any] = msgspec.to_builtins(state)
    return kept


def advance(data: dict[str, Any], news: News) -> Decision:
    """Has a round made after each piece of news, one at a time."""
    state = shapes.convert(data, ScheduleState)
    if news.kind == jobs.CANCELLED:
        return Decision(data, result={"outcome": "stopped", "ended": state.ended})
    if news.kind == jobs.EFFECT:
        return _after_round(_with(state, at_work=False), news)
    if news.kind == RunEnded.kind:
        return Decision(begun(_with_end(state, news.data)), wake_at=news.at + PERIOD)
    if news.kind in (JobDone.kind, JobSetAside.kind) and news.data["what"] != RUN:
        return Decision(data, wake_at=news.at + PERIOD)
    if news.kind == ScheduleAsked.kind:
        wanted = tuple(news.data.get("tasks", ()))
        only = tuple(dict.fromkeys((*state.only, *wanted))) if wanted and state.only else ()
        workers = int(news.data["workers"]) or state.workers
        ended = {task: how for task, how in state.ended.items() if task not in wanted}
        unmarked = tuple(task for task in state.unmarked if task not in wanted)
        state = _with(state, ended=ended, unmarked=unmarked)
        state = _with(state, workers=workers, only=only, failures=0)
    if news.kind == SchedulePaused.kind:
        state = _with(state, paused=bool(news.data["paused"]))
    if state.at_work:
        return Decision(begun(_with(state, again=True)))
    return _round(state)


def _with_end(state: ScheduleState, ended: dict[str, Any]) -> ScheduleState:
    task = ended["task"]
    if not ended.get("marked", True):
        state = _with(state, unmarked=(*state.unmarked, task))
    return _with(state, ended={**state.ended, task: ended["outcome"]})


def _with(state: ScheduleState, **changes: Any) -> ScheduleState:
    return msgspec.structs.replace(state, **changes)


def _round(state: ScheduleState) -> Decision:
    state = _with(state, at_work=True, again=False)
    return Decision(begun(state), (Effect(ROUND, begun(state)),))


def _after_round(state: ScheduleState, news: News) -> Decision:
    """Goes on while anything runs or may begin; is over when only what is blocked is left."""
    if news.data["status"] != "done":
        error = news.data.get("error") or {}
        state = _with(state, problem=str(error.get("message", "")), failures=state.failures + 1)
        if state.again:
            return _round(state)
        return Decision(begun(state), wake_at=news.at + jobs.backoff(state.failures))
    result = news.data["result"]
    failures = state.failures + 1 if result.get("is_broken") else 0
    waits = state.waits if state.paused else result["waits"]
    state = _with(state, waits=waits, problem=result["problem"], failures=failures)
    if not failures:
        state = _with(state, left=result["waiting"] + len(result["blocked"]))
    state = _with(state, held=result["held"], postponed=_postponed(state, result, news.at))
    missing = {name: state.missing.get(name, news.at) for name in result.get("missing", ())}
    state = _with(state, missing=missing, edited=result.get("edited", {}))
    if state.paused:
        # People edit tasks at work also while no more are begun.
        wake_at = news.at + PERIOD if result["running"] else None
        return Decision(begun(_with(state, again=False)), wake_at=wake_at)
    if state.again:
        return _round(state)
    if failures and (result["running"] or failures < _MOST_BROKEN):
        # A board that somebody is just saving is whole again in a moment.
        return Decision(begun(state), wake_at=news.at + min(PERIOD, jobs.backoff(failures)))
    if result["running"] or result["waiting"]:
        return Decision(begun(state), wake_at=news.at + PERIOD)
    over: dict[str, Any] = {"outcome": "over", "ended": state.ended, "problem": state.problem}
    over |= {"blocked": result["blocked"], "failed": result.get("failed", [])}
    return Decision(begun(state), result=over)


def _postponed(state: ScheduleState, result: dict[str, Any], at: float) -> dict[str, Postponed]:
    """Those that are put off now; who was before has been since then, until it is begun."""
    known, now = state.postponed, result["postponed"]
    waiting = {name: "" for name in known if name in result["waits"]}
    return {
        name: Postponed(why, known[name].since if name in known else at)
        for name, why in {**waiting, **now}.items()
    }


KIND = JobKind(
    "schedule",
    advance,
    frozenset({RunEnded.kind, RunSubmitted.kind, JobDone.kind, JobSetAside.kind}),
)
