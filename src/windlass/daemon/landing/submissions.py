"""`wl merge BRANCH`: a branch is proposed for landing, as a change or as its next revision."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from windlass.api.verbs import Caller
from windlass.api.wire.landing import ChangeView, SubmitRequest
from windlass.core.errors import Conflict, NotFound
from windlass.core.events import ChangeQueued
from windlass.core.ids import RepoId
from windlass.core.landing import changes as core
from windlass.core.landing import job as landing_job
from windlass.core.landing.changes import Change, ChangeId
from windlass.core.printable import printable_line
from windlass.daemon.gate import gates
from windlass.daemon.jobs.ledger import Jobs
from windlass.daemon.kernel import lookup, repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.landing import views
from windlass.git import repository
from windlass.store import changes as rows
from windlass.store import jobs as job_rows
from windlass.store.store import Writing


class Submissions:
    """The operation `submit`, and the request that begins it."""

    def __init__(self, context: Context, jobs: Jobs) -> None:
        self._context = context
        self._jobs = jobs

    def operation(self) -> Operation:
        """A submission has no steps: the queue goes on with it once it is recorded."""
        return Operation("submit", (), lambda _: [], self._submitted)

    def begin(self, caller: Caller, request: SubmitRequest) -> IntentDraft:
        """Finds the branch and where it is to land; refuses where no gate would prove it."""
        repo = lookup.scope(self._context, caller, request).require_repo()
        gate = gates.require(gates.read(self._context, repo))
        git = repos.git(repo)
        branch, target = request["branch"], gate.target.branch
        head = repository.read_ref(git, f"refs/heads/{branch}")
        if head is None:
            raise NotFound(
                f"there is no branch {printable_line(branch)} in {printable_line(repo.root)}",
                "`git branch` lists them",
            )
        if branch == target:
            raise Conflict(
                f"{printable_line(branch)} is the branch that changes land on",
                "name another branch, with commits that it lacks",
            )
        commits = repository.commits_between(git, gate.target.tip, head, limit=1)
        title = request.get("title") or (commits[0].subject if commits else branch)
        change = Change(
            repo=repo.id,
            id=ChangeId(""),
            target=target,
            branch=branch,
            head=head,
            title=title,
        )

        def prepare(writing: Writing) -> dict[str, Any]:
            self._begin_queue(writing, repo.id, target)
            return {"change": _put(writing, change).id}

        return IntentDraft(repo.id, None, prepare)

    def _begin_queue(self, writing: Writing, repo: RepoId, target: str) -> None:
        kind = landing_job.KIND.name
        if job_rows.about(writing.connection, repo=repo, kind=kind, subject=target) is None:
            begun = landing_job.begun(target)
            self._jobs.begin(writing, kind, repo=repo, subject=target, state=begun)

    def _submitted(self, work: RunningIntent) -> ChangeView:
        repo = RepoId(work.intent.repo)
        change = work.read(partial(rows.find, repo=repo, change=ChangeId(work.data["change"])))
        if change is None:
            raise AssertionError(work.data)
        return views.view(change, work.read(partial(rows.open_ones, repo=repo)))


def _put(writing: Writing, change: Change) -> Change:
    """Adds a change, or the next revision of the one that the branch has."""
    known = rows.of_branch(
        writing.connection, change.repo, branch=change.branch, target=change.target
    )
    if known is None or known.state in ("landed", "dropped"):
        change = rows.add(writing, _dated(change, writing))
    elif known.state in core.OPEN and known.head == change.head:
        return known
    else:
        columns = {"head": change.head, "title": change.title, "revision": known.revision + 1}
        rows.move(writing, known, **columns, state="queued", why="", ticket=None)
        found = rows.find(writing.connection, known.repo, known.id)
        if found is None:
            raise AssertionError(known)
        change = found
    queued = ChangeQueued(
        change=change.id,
        target=change.target,
        branch=change.branch,
        head=change.head,
        revision=change.revision,
    )
    writing.emit(queued, repo=change.repo, subject=core.subject(change.id))
    return change


def _dated(change: Change, writing: Writing) -> Change:
    return msgspec.structs.replace(change, created_at=writing.now, updated_at=writing.now)
