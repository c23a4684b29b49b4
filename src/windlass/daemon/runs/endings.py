"""The last effects of a run: its branch is proposed, its task is marked, and its end is told."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
import sqlalchemy as sa

from windlass.api.verbs import Caller
from windlass.api.wire.landing import JudgeRequest
from windlass.core import jobs
from windlass.core.events import PlanEnded, RunEnded, RunSubmitted
from windlass.core.ids import RepoId, Uid
from windlass.core.jobs import JobId
from windlass.core.landing.changes import UNFINISHED, WAITING, Change, ChangeId
from windlass.core.printable import printable_line
from windlass.core.runs import orders
from windlass.daemon.agents import ending_settings, endings, merge_refusals, undo
from windlass.daemon.agents.endings import still_live
from windlass.daemon.gate import gates
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.landing.judgements import Judgements
from windlass.daemon.landing.submissions import Proposed, Submissions
from windlass.daemon.launch import setup_files
from windlass.daemon.mail import from_windlass, notices
from windlass.daemon.runs import markers, plan_files, records
from windlass.store import changes as change_rows
from windlass.store import rows
from windlass.store.rows import Repo
from windlass.store.store import Writing


class RunEndings:
    """The operations by which a run hands over what it has, and ends."""

    def __init__(
        self, context: Context, intents: Intents, submissions: Submissions, judgements: Judgements
    ) -> None:
        self._context = context
        self._intents = intents
        self._judgements = judgements
        self._submissions = submissions

    def operations(self) -> tuple[Operation, ...]:
        """Proposed twice, the same head is one revision."""
        return (
            Operation(
                orders.SUBMIT,
                (Step("propose", self._propose), Step("mark", self._mark_submitted)),
                lambda _: [],
                lambda work: {
                    "change": work.data["change"],
                    "beside": work.data.get("beside", ""),
                },
                standing=_standing,
            ),
            Operation(
                orders.FINISH,
                (
                    Step("withdraw", self._withdraw, needed=_is_given_up),
                    Step("plan", self._keep_plan, needed=_is_planned),
                    Step("end", self._end, needed=_is_not_kept),
                    Step("mark", self._mark_ended, needed=_is_work),
                    Step("tell", self._tell),
                ),
                lambda _: [],
                _finished,
            ),
        )

    def _propose(self, work: RunningIntent) -> None:
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        author = still_live(self._context, Uid(work.data["uid"]))
        if author.branch is None:
            raise AssertionError(author.id)
        gate = gates.landing(gates.read(self._context, repo))
        known = self._context.store.read(partial(change_rows.of_author, author=author.uid))
        change, left_out = self._submissions.draft(
            gate, Proposed(author.branch, author, known), by=author, title=work.data["title"]
        )
        change = msgspec.structs.replace(change, task=work.data["task"], ends=True)
        status = setup_files.work_status(self._context, author)
        beside = merge_refusals.left_beside(repos.git(repo), author, work=status)
        if beside:
            beside += ": they are not in its change, and will be in the trash once it has ended"

        def put(writing: Writing) -> None:
            self._submissions.begin_queue(writing, repo.id, gate.target.branch)
            put = self._submissions.put(writing, change)
            work.keep_in(writing, change=put.id, left_out=left_out, beside=beside)

        if "change" not in work.data:
            self._context.store.write(put)

    def _mark_submitted(self, work: RunningIntent) -> None:
        repo, data = repos.by_id(self._context, RepoId(work.intent.repo)), work.data
        markers.put(self._context, repo, data["task"], "P")
        run = jobs.owner(work.intent.id) or ""
        told = RunSubmitted(task=data["task"], run=run, change=data["change"])
        work.with_next_record(lambda w: w.emit(told, repo=repo.id, subject=f"task:{told.task}"))

    def _withdraw(self, work: RunningIntent) -> None:
        """Takes the change out of the queue of a task that was dropped, or whose run has failed.

        One that came back stays where it is when its run fails: nothing lands of it by itself.
        """
        repo, ending = repos.by_id(self._context, RepoId(work.intent.repo)), work.data["ending"]
        change = self._context.store.read(partial(_own_change, repo=repo.id, data=work.data))
        if change is None:
            return
        if change.state == "landed":
            landed = {"outcome": "landed", "why": "", "commit": change.commit or ""}
            work.keep(change=change.id, ending=landed)  # it was too late to take it back
            return
        work.keep(change=change.id)
        if change.state not in (UNFINISHED if ending["outcome"] == "dropped" else WAITING):
            return
        why = ending["why"]
        asked: JudgeRequest = {"cwd": repo.root, "change": change.id, "why": why}
        begin = partial(self._judgements.begin, "drop", Caller(None), asked)
        self._intents.perform("drop", f"{work.intent.id}:drop", begin)

    def _keep_plan(self, work: RunningIntent) -> None:
        """Has the plan lie with the person's own; one that cannot has failed, and says where it is.

        It is the report of its last visit, which stays in the folder of the run in any case.
        """
        run = jobs.owner(work.intent.id) or JobId("")
        text = records.reports(self._context, run)[-1].text
        kept = plan_files.kept(
            self._context,
            RepoId(work.intent.repo),
            work.data["task"],
            text,
            replaces=work.data["replaces"],
        )
        work.keep(plan=kept.path, ending=msgspec.to_builtins(kept.ending))

    def _end(self, work: RunningIntent) -> None:
        """Ends the agent of a task that is not on the board any more, its work into the trash.

        Who only planned has nothing to be kept for.
        """
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        find = partial(rows.agent, uid=Uid(work.data["uid"]))
        agent = self._context.store.read(find)
        if agent is None or agent.ended_at is not None:
            return
        if _is_work(work.data) and not self._is_gone(work, repo):
            return

        def begin() -> IntentDraft:
            configured, notes = ending_settings.of_repos(self._context, [agent])

            def prepare(writing: Writing) -> dict[str, Any]:
                kept = endings.record(
                    [agent], configured, how="kill", by="windlass", now=writing.now
                )
                return {**kept, "notes": notes, undo.PASSED_OVER: not _is_work(work.data)}

            return IntentDraft(repo.id, None, prepare)

        self._intents.perform("end", f"{work.intent.id}:end", begin)

    def _is_gone(self, work: RunningIntent, repo: Repo) -> bool:
        """Whether its task was away from the board, once that was looked at."""
        if "is_gone" not in work.data:
            work.keep(is_gone=markers.is_gone(repo, work.data["task"]))
        return bool(work.data["is_gone"])

    def _mark_ended(self, work: RunningIntent) -> None:
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        marker = markers.OF[work.data["ending"]["outcome"]]
        if marker == markers.OF["dropped"] and (
            markers.changed(repo, work.data["task"]) or self._is_gone(work, repo)
        ):
            work.keep(marked=True)  # somebody has said what it is to be
            return
        work.keep(marked=markers.put(self._context, repo, work.data["task"], marker))

    def _tell(self, work: RunningIntent) -> None:
        data, repo = work.data, RepoId(work.intent.repo)
        ending, run = data["ending"], jobs.owner(work.intent.id) or JobId("")
        known = {"task": data["task"], "run": run, "outcome": ending["outcome"]}
        over: RunEnded | PlanEnded
        if _is_work(data):
            known |= {"change": data["change"], "commit": ending["commit"]}
            over = RunEnded(marked=data["marked"], why=ending["why"], **known)
        else:
            over = PlanEnded(path=data.get("plan", ""), why=ending["why"], **known)

        def tell(writing: Writing) -> None:
            from_windlass.withdraw_of_run(writing, Uid(data["uid"]), run)
            _tell_end(writing, repo=repo, over=over)

        work.with_next_record(tell)


def _standing(work: RunningIntent) -> dict[str, Any]:
    """Where the change is by now: its run hears only of what becomes of it from then on."""
    repo, name = RepoId(work.intent.repo), ChangeId(work.data["change"])
    change: Change | None = work.read(partial(change_rows.find, repo=repo, change=name))
    if change is None:
        raise AssertionError(name)
    return {"state": change.state, "why": change.why, "commit": change.commit}


def _is_given_up(data: Mapping[str, Any]) -> bool:
    return bool(data["ending"]["outcome"] != "landed") and _is_work(data)


def _is_planned(data: Mapping[str, Any]) -> bool:
    return bool(data["ending"]["outcome"] == "planned")


def _is_not_kept(data: Mapping[str, Any]) -> bool:
    return bool(data["ending"]["outcome"] == "dropped") or not _is_work(data)


def _is_work(data: Mapping[str, Any]) -> bool:
    """Whether a run is to do its task, and not only to plan it."""
    return not data.get("only_plans")


def _finished(work: RunningIntent) -> dict[str, Any]:
    names = ("task", "ending", "change")
    return {**{name: work.data[name] for name in names}, "plan": work.data.get("plan", "")}


def _own_change(
    connection: sa.Connection, *, repo: RepoId, data: Mapping[str, Any]
) -> Change | None:
    """The change of a run; of one whose submission failed, what that had proposed already."""
    if data["change"]:
        return change_rows.find(connection, repo, ChangeId(data["change"]))
    found = change_rows.of_author(connection, Uid(data["uid"]))
    return found if found is not None and found.task == data["task"] else None


def _tell_end(writing: Writing, *, repo: RepoId, over: RunEnded | PlanEnded) -> None:
    """The person is told of what failed; what landed and what they dropped they know."""
    writing.emit(over, repo=repo, subject=f"task:{over.task}")
    if over.outcome == "failed":
        what = "failed" if isinstance(over, RunEnded) else "was not planned"
        text = f"{over.task} {what}: {printable_line(over.why)} (wl why {over.task})"
        notices.post(writing, repo, "windlass", "waiting", text, by_hand=True)
