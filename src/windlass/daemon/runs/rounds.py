"""A round of a schedule: what of the board is begun now, decided from the board as it is.

What takes git or files is found out before the transaction; in that, only who is still free counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import sqlalchemy as sa

from windlass.core.board.board import Board
from windlass.core.config import Config
from windlass.core.errors import WindlassError
from windlass.core.events import BoardHeld, TaskPostponed
from windlass.core.ids import RepoId
from windlass.core.jobs import Job
from windlass.core.pipeline import engine
from windlass.core.runs import admission, moves, run, run_state, schedule, task_copy
from windlass.core.runs.admission import Admission
from windlass.core.runs.run_state import RunState
from windlass.core.runs.schedule import ScheduleState
from windlass.core.shapes import convert
from windlass.daemon.gate import gates
from windlass.daemon.jobs.ledger import Jobs
from windlass.daemon.kernel import repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.runs import (
    board_edits,
    change_holds,
    holds,
    markers,
    preflight,
    run_roles,
    task_pipelines,
)
from windlass.daemon.runs.conflicts import Conflicts
from windlass.project import step_roles
from windlass.project.boards import BoardFile
from windlass.store import jobs as job_rows
from windlass.store.rows import Repo
from windlass.store.store import Writing

_PLANNED = "it is being planned (wl plan)"
"""Why a task is put off that has a planner."""
_OURS = ("=", "P")
"""Markers that runs give, and that no task keeps whose run is over."""


class Round(NamedTuple):
    """What a round begins, what it leaves for the next, and what cannot begin at all."""

    runs: list[RunState]
    chosen: Admission
    problems: dict[str, str]
    board: Board


class Rounds:
    """The operation `run.round`."""

    def __init__(self, context: Context, jobs: Jobs) -> None:
        self._context = context
        self._jobs = jobs

    def operation(self) -> Operation:
        """One step: what is begun is recorded with the decision."""
        return Operation(schedule.ROUND, (Step("admit", self._admit),), lambda _: [], _admitted)

    def _admit(self, work: RunningIntent) -> None:
        if "running" in work.data:
            return
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        known = {key: work.data[key] for key in ScheduleState.__struct_fields__ if key in work.data}
        state = convert(known, ScheduleState)
        runs = self._context.store.read(partial(run_jobs, repo=repo.id))
        at_work, planned = working(runs), being_planned(runs)
        try:
            file = preflight.sound_board(repo)
            if self._mark_again(repo, file):
                file = preflight.sound_board(repo)
            decided = self._decided(repo, state, file, at_work, planned=planned)
        except WindlassError as error:
            nothing = {
                "postponed": {},
                "held": "",
                "missing": list(state.missing),
                "edited": state.edited,
                "waiting": 0,
                "blocked": [],
                "failed": [],
                "problem": error.message,
                "is_broken": True,
            }
            work.keep(running=len(at_work), **nothing)
            return
        self._context.store.write(
            partial(self._begin, work=work, repo=repo, state=state, decided=decided)
        )

    def _mark_again(self, repo: Repo, file: BoardFile) -> bool:
        """Gives tasks the markers that their runs could not give them when they ended."""
        again = False
        for task in file.board.tasks:
            if task.marker not in _OURS:
                continue
            find = partial(
                job_rows.last_about, repo=repo.id, kind="run", subject=run.subject(task.id)
            )
            job = self._context.store.read(find)
            if job is not None and (marker := _marker(job)):
                markers.put(self._context, repo, task.id, marker)
                again = True
        return again

    def _decided(
        self,
        repo: Repo,
        state: ScheduleState,
        file: BoardFile,
        at_work: Sequence[RunState],
        *,
        planned: Collection[str],
    ) -> Round:
        """Chooses until everybody who is chosen can begin: who cannot takes nobody's place.

        Who is being planned takes none either, and waits for the plan.
        """
        problems: dict[str, str] = {}
        known: dict[str, RunState] = {}
        config = settings.usable(self._context.folders.home, repo.root).config
        gate = gates.find(self._context, repo)
        most = gate.config.landing.max_attempts if gate is not None else 1
        since = {name: each.since for name, each in state.postponed.items()}
        conflicts = Conflicts(self._context, repo, file.board, at_work, since)

        def collides(name: str, beside: Sequence[str]) -> str:
            return _PLANNED if run.subject(name) in planned else conflicts.why(name, beside)

        paused = "it is paused" if state.paused else ""
        held = paused or holds.why(self._context, repo, state.driver, config)
        while True:
            chosen = admission.choose(
                file.board,
                plans=file.plans,
                waits=state.waits,
                running=[each.task.id for each in at_work],
                settled=[*state.settled, *problems],
                at_work=sum(each.stage not in run_state.UNLANDED for each in at_work),
                workers=state.workers,
                only=state.only,
                held=held,
                collides=collides,
            )
            for name in chosen.start:
                if name in known:
                    continue
                try:
                    known[name] = _run(name, state, file, config, most_attempts=most)
                except WindlassError as error:
                    problems[name] = error.message
            if paused:
                chosen = chosen._replace(held="")  # whoever has paused it knows
            if not problems.keys() & set(chosen.start):
                return Round([known[name] for name in chosen.start], chosen, problems, file.board)

    def _begin(
        self,
        writing: Writing,
        *,
        work: RunningIntent,
        repo: Repo,
        state: ScheduleState,
        decided: Round,
    ) -> None:
        """Records the runs of whoever has none by now."""
        runs = run_jobs(writing.connection, repo.id)
        planned = being_planned(runs)
        taken = {job.subject for job in runs}
        for begun in decided.runs:
            about = run.subject(begun.task.id)
            if about in taken:
                continue
            taken.add(about)
            self._jobs.begin(
                writing, run.KIND.name, repo=repo.id, subject=about, state=moves.begun(begun)
            )
        edits = board_edits.look(
            writing,
            self._jobs,
            open_runs=run_jobs(writing.connection, repo.id),
            board=decided.board.by_id,
            missing=state.missing,
            edited=state.edited,
        )
        held = sum(
            change_holds.is_held(writing.connection, job, convert(job.state, RunState))
            for job in run_jobs(writing.connection, repo.id)
        )
        chosen, problems = decided.chosen, decided.problems
        _tell(writing, repo, state, chosen)
        work.keep_in(
            writing,
            running=len(taken - planned) - held,
            waiting=len(chosen.waiting),
            waits=chosen.waits,
            blocked=list(chosen.blocked),
            failed=_failed(decided.board, state),
            postponed=dict(chosen.postponed),
            held=chosen.held,
            missing=edits.missing,
            edited=edits.edited,
            problem="; ".join(f"{name}: {why}" for name, why in problems.items()),
            is_broken=False,
        )


def open_runs(connection: sa.Connection, repo: RepoId) -> list[RunState]:
    """Where the runs stand that are not over, without those that only plan."""
    return working(run_jobs(connection, repo))


def working(jobs: Iterable[Job]) -> list[RunState]:
    """Where those of these runs stand that do their tasks."""
    states = (convert(job.state, RunState) for job in jobs)
    return [state for state in states if not state.only_plans]


def being_planned(jobs: Iterable[Job]) -> set[str]:
    """What those of these runs are about that only plan."""
    return {job.subject for job in jobs if convert(job.state, RunState).only_plans}


def run_jobs(connection: sa.Connection, repo: RepoId) -> list[Job]:
    """The runs that are not over."""
    found = job_rows.listed(connection, repo=repo, status="open")
    return [job for job in found if job.kind == run.KIND.name]


def _failed(board: Board, state: ScheduleState) -> list[str]:
    """The wanted tasks that the board has as failed, by this schedule or one before."""
    wanted = (task for task in board.tasks if not state.only or task.id in state.only)
    return [task.id for task in wanted if task.marker == "*" and not board.finished(task)]


def _tell(writing: Writing, repo: Repo, state: ScheduleState, chosen: Admission) -> None:
    """Tells once why a task, or all of them, have to wait."""
    for name, why in chosen.postponed.items():
        known = state.postponed.get(name)
        if known is None or known.why != why:
            told = TaskPostponed(task=name, why=why)
            writing.emit(told, repo=repo.id, subject=run.subject(name))
    if chosen.held and not state.held:
        writing.emit(BoardHeld(why=chosen.held), repo=repo.id)


def _marker(job: Job) -> str:
    """What the task of a run is to be marked, once that is over; nothing by one that planned."""
    if convert(job.state, RunState).only_plans:
        return ""
    if job.status == "set aside":
        return markers.OF["failed"]
    if job.status != "done" or job.result is None:
        return ""
    return markers.OF[job.result["outcome"]]


def _run(
    name: str, state: ScheduleState, file: BoardFile, config: Config, *, most_attempts: int
) -> RunState:
    """The run of a task at its beginning; raises what keeps it from that."""
    copy = task_copy.require_short(task_copy.of(file.board.by_id[name]))
    found = task_pipelines.planned(name, file, state, config)
    roles = run_roles.of_run(found, copy.role, file.folder, config, state.overrides)
    return RunState(
        task=copy,
        pipeline=step_roles.applied(found, file.folder),
        roles=roles.roles,
        at_steps=roles.at_steps,
        sums_up=roles.sums_up,
        decides=roles.decides,
        place=engine.start(found, frozenset(state.enabled)),
        driver=state.driver,
        mode=state.mode,
        most_attempts=most_attempts,
    )


def _admitted(work: RunningIntent) -> dict[str, Any]:
    names = ("running", "waiting", "waits", "blocked", "failed", "problem", "is_broken")
    return {name: work.data[name] for name in (*names, "postponed", "held", "missing", "edited")}
