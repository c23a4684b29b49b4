"""One task: shown with what its run made of it, given up, or tried once more."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from windlass.api.verbs import Caller
from windlass.api.wire.landing import JudgeRequest
from windlass.api.wire.runs import ReportView, TaskReply, TaskRequest
from windlass.core.board.tasks import MARKERS, PENDING, Task
from windlass.core.errors import Conflict, NotFound, WindlassError
from windlass.core.ids import RepoId
from windlass.core.jobs import Job
from windlass.core.printable import printable_line
from windlass.core.runs import checklist, resume, run, schedule, task_copy
from windlass.core.runs.run_state import RunState
from windlass.core.runs.task_copy import TaskCopy
from windlass.core.shapes import convert
from windlass.daemon.jobs.ledger import Jobs
from windlass.daemon.kernel import lookup, repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.landing.judgements import Judgements
from windlass.daemon.runs import (
    change_holds,
    markers,
    plannings,
    records,
    task_runs,
    views,
)
from windlass.project import boards
from windlass.store import jobs as job_rows
from windlass.store.rows import Repo
from windlass.store.store import Writing


class Tasks:
    """The operations `task.drop` and `task.retry`, and what is shown of a task."""

    def __init__(self, context: Context, jobs: Jobs, judgements: Judgements) -> None:
        self._context = context
        self._jobs = jobs
        self._judgements = judgements

    def operations(self) -> tuple[Operation, ...]:
        """A run ends by itself once it has heard; a task without one is marked at once."""
        return (
            Operation(
                "task.drop",
                (Step("mark", partial(self._mark, marker="N")),),
                lambda _: [],
                self._result,
            ),
            Operation(
                "task.retry",
                (Step("mark", partial(self._mark, marker=PENDING)),),
                lambda _: [],
                self._result,
            ),
        )

    def show(self, caller: Caller, request: TaskRequest) -> TaskReply:
        """What the board says of a task, and where its newest run stands."""
        return self._shown(self._repo(caller, request), request["task"])

    def _repo(self, caller: Caller, request: TaskRequest) -> Repo:
        scope = lookup.scope(self._context, caller, request)
        return scope.repo or repos.add(self._context, request.get("cwd", ""))

    def begin_drop(self, caller: Caller, request: TaskRequest) -> IntentDraft:
        """Has the run of a task end, or the task count as not planned where it has none."""
        repo = self._repo(caller, request)
        name = self._known(repo, request["task"])
        why = request.get("why") or "dropped with `wl drop`"
        if (shown := self._shown(repo, name))["marker"] == "x":
            change = shown["run"]["change"] if shown["run"] is not None else ""
            hint = f"to take it back: wl undo {change}" if change else "mark it [ ] on the board"
            raise Conflict(f"{name} is done: [x]", hint)

        def prepare(writing: Writing) -> dict[str, Any]:
            about = run.subject(name)
            job = job_rows.about(writing.connection, repo=repo.id, kind="run", subject=about)
            if job is not None:
                self._jobs.cancel(writing, job, why)
            marks = job is None or convert(job.state, RunState).only_plans
            return {"task": name, "marks": marks}

        return IntentDraft(repo.id, None, prepare)

    def begin_retry(self, caller: Caller, request: TaskRequest) -> IntentDraft:
        """Refuses a task that is at work, and one that is done; one that waits goes on."""
        repo = self._repo(caller, request)
        name = self._known(repo, request["task"])
        if (again := self._goes_on(caller, repo, name)) is not None:

            def go_on(writing: Writing) -> dict[str, Any]:
                again(writing)
                return {"task": name, "marks": False}

            return IntentDraft(repo.id, None, go_on)
        shown = self._shown(repo, name)
        if shown["run"] is not None and not shown["run"]["is_over"]:
            if plannings.of_task(self._context, repo, name) is not None:
                raise Conflict(f"{name} is being planned", f"see how far: wl plan {name} --agent")
            raise Conflict(f"{name} is at work already", f"see how far: wl show {name}")
        if shown["marker"] is None:
            raise NotFound(f"{name} is not on the board any more", "`wl board add` writes tasks")
        if shown["marker"] == "x":
            raise Conflict(f"{name} is done: [x]", "mark it [ ] on the board to do it again")
        if lacking := _lacking(repo, name):
            raise Conflict(
                f"{name} waits for {', '.join(map(printable_line, lacking))}",
                "it begins by itself once they are done",
            )
        return IntentDraft(repo.id, None, lambda _: {"task": name})

    def _goes_on(self, caller: Caller, repo: Repo, name: str) -> Callable[[Writing], object] | None:
        """What has the open run of a task go on; None where that does not wait for the person."""
        about = run.subject(name)
        find = partial(job_rows.about, repo=repo.id, kind="run", subject=about)
        job = self._context.store.read(find)
        if job is None:
            return None
        state = convert(job.state, RunState)
        if resume.is_deferred(state):
            return partial(self._jobs.hasten, job_id=job.id)
        if self._context.store.read(partial(change_holds.is_held, job=job, state=state)):
            asked: JudgeRequest = {"cwd": repo.root, "change": state.change}
            return self._judgements.begin("change.retry", caller, asked).prepare
        return None

    def _known(self, repo: Repo, wanted: str) -> str:
        return self._shown(repo, wanted)["task"]

    def _mark(self, work: RunningIntent, *, marker: str) -> None:
        """Where a run is open, that marks the board when it is over."""
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        if work.data.get("marks", True):
            markers.put(self._context, repo, work.data["task"], marker)

    def _result(self, work: RunningIntent) -> TaskReply:
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        return self._shown(repo, work.data["task"])

    def _shown(self, repo: Repo, wanted: str) -> TaskReply:
        about = run.subject(wanted)
        find = partial(job_rows.last_about, repo=repo.id, kind="run", subject=about)
        job = self._context.store.read(find)
        on_board = _on_board(repo, wanted)
        if on_board is None and job is None:
            raise NotFound(f"no task {printable_line(wanted)} on the board", "`wl board list`")
        copy = task_copy.of(on_board) if on_board is not None else None
        found, now = [job] if job is not None else [], self._context.clock.now()
        runs = self._context.store.read(partial(task_runs.shown, runs=found, now=now))
        shown = runs[0] if runs else None
        return {
            "task": copy.id if copy is not None else str(shown["task"] if shown else wanted),
            "title": copy.title if copy is not None else str(shown["title"] if shown else ""),
            "marker": on_board.marker if on_board is not None else None,
            "document": self._document(job) or (task_copy.document(copy) if copy else ""),
            "run": shown,
            "waits": "" if shown and not shown["is_over"] else self._waits(repo, wanted, on_board),
            "edited": _edited(job, copy) if shown and not shown["is_over"] else [],
            "reports": self._reports(job),
        }

    def _waits(self, repo: Repo, wanted: str, task: Task | None) -> str:
        if task is not None and task.marker == PENDING and (lacking := _lacking(repo, task.id)):
            return f"for {', '.join(f'{name} ({how})' for name, how in lacking.items())}"
        find = partial(
            job_rows.about, repo=repo.id, kind=schedule.KIND.name, subject=schedule.SUBJECT
        )
        work = self._context.store.read(find)
        if work is None:
            return ""
        put_off = {name.upper(): why for name, why in views.postponed(work).items()}
        return put_off.get(wanted.upper(), "")

    def _document(self, job: Job | None) -> str:
        try:
            text = records.document(self._context, job.id) if job is not None else ""
        except FileNotFoundError:
            return ""  # it is only just being prepared, or retention has taken it
        return checklist.marked(text, convert(job.state, RunState).loop.ticks) if job else text

    def _reports(self, job: Job | None) -> list[ReportView]:
        if job is None:
            return []
        return [
            {"step": kept.label, "visit": kept.visit, "result": kept.result, "text": kept.text}
            for kept in records.reports(self._context, job.id)
        ]


def _edited(job: Job | None, now: TaskCopy | None) -> list[str]:
    if job is None or now is None:
        return []
    return task_copy.differing(convert(job.state, RunState).task, now)


def _lacking(repo: Repo, name: str) -> dict[str, str]:
    """The tasks that a task waits for, and where each of them is."""
    board = boards.read(markers.board_of(repo)).board
    needed = board.by_id[name].dependencies
    known = {task.id for task in board.tasks if board.finished(task)} | board.done
    return {
        other: MARKERS[board.by_id[other].marker] if other in board.by_id else "not on the board"
        for other in needed
        if other not in known
    }


def _on_board(repo: Repo, wanted: str) -> Task | None:
    """The task by its id in any case; a board that cannot be read has none to show."""
    try:
        board = boards.read(markers.board_of(repo)).board
    except WindlassError:
        return None
    return next((task for task in board.tasks if task.id.upper() == wanted.upper()), None)
