"""`wl merge X`: what an agent or a branch has is proposed for landing, or is its next revision."""

from __future__ import annotations

import heapq
from functools import partial
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from windlass.api.verbs import Caller
from windlass.api.wire.landing import ChangeView, SubmitRequest
from windlass.core import ids
from windlass.core.crew import Agent
from windlass.core.errors import Conflict, Denied, NotFound, UserError, WindlassError
from windlass.core.ids import RepoId
from windlass.core.landing import changes as core
from windlass.core.landing import job as landing_job
from windlass.core.landing.changes import Approval, Change, ChangeId
from windlass.core.printable import printable_line
from windlass.daemon.gate import gates
from windlass.daemon.gate.gates import Gate
from windlass.daemon.jobs.ledger import Jobs
from windlass.daemon.kernel import lookup, repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.lookup import Scope
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.landing import guards, moves, pins, queues, tries, views
from windlass.daemon.landing.guards import Guards
from windlass.daemon.landing.upstreams import Upstreams
from windlass.daemon.launch import setup_files
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.git import checkout, repository, squashes
from windlass.git.repository import Repository
from windlass.store import changes as rows
from windlass.store import jobs as job_rows
from windlass.store import rows as agent_rows
from windlass.store.store import Writing

_HEADS = "refs/heads/"


class Proposed(NamedTuple):
    """A branch that is to land, and whose it is."""

    branch: str
    author: Agent | None
    known: Change | None = None
    """The change by whose id it was named."""


class Submissions:
    """The operation `submit`, and the request that begins it."""

    def __init__(self, context: Context, jobs: Jobs, fetcher: CommitFetcher) -> None:
        self._context = context
        self._jobs = jobs
        self._fetcher = fetcher

    def operation(self) -> Operation:
        """The queue goes on with it once it is recorded; what it is about is kept from then on."""
        return Operation("submit", (Step("pin", self._pin),), lambda _: [], self._submitted)

    def begin(self, caller: Caller, request: SubmitRequest) -> IntentDraft:
        """Finds what is to land, and where; refuses where no gate would prove it."""
        scope = lookup.scope(self._context, caller, request)
        repo = scope.repo or repos.add(self._context, request.get("cwd", ""))
        if scope.caller is not None and request.get("unattended"):
            raise Denied(
                "agents leave no checkout of the person's behind",
                f"leave it out; the person can: wl merge {scope.caller.id} --unattended",
            )
        if scope.caller is not None and scope.caller.run:
            raise Denied(
                f"{scope.caller.id} works on a step of a task: its run proposes what it has, once"
                " all of the pipeline has passed",
                "end your turn with the result of the step",
            )
        gate = gates.landing(gates.read(self._context, repo))
        gates.require_unsigned(self._context, repo)
        proposed = self._proposed(Scope(repo, scope.caller), gate, request.get("change"))
        change, left_out = self.draft(
            gate, proposed, by=scope.caller, title=request.get("title", "")
        )
        if change.head != request.get("expect", change.head):
            raise Conflict(
                f"{printable_line(change.branch)} is at {change.head}, not at"
                f" {printable_line(request.get('expect', ''))}",
                "look again: wl diff; name the whole id of its tip",
            )
        change = msgspec.structs.replace(
            change,
            task=_task(scope, proposed, request.get("task", "")),
            ends=proposed.author is not None and not request.get("keep", False),
            deletes=request.get("delete", False),
            unattended=request.get("unattended", False),
        )
        wanted = request.get("needs")
        landed, commit = self._context.store.read(partial(_landed, change=change))
        if commit and repository.is_ancestor(repos.git(repo), commit, gate.target.tip):
            known = {"change": landed, "left_out": left_out, "is_there": True}
            return IntentDraft(repo.id, scope.caller_uid, lambda _: known)

        def prepare(writing: Writing) -> dict[str, Any]:
            self.begin_queue(writing, repo.id, gate.target.branch)
            needs = _needs(writing, change, wanted) if wanted is not None else None
            put = self.put(writing, change, needs=needs)
            return {"change": put.id, "left_out": left_out}

        return IntentDraft(repo.id, scope.caller_uid, prepare)

    def draft(
        self, gate: Gate, proposed: Proposed, *, by: Agent | None, title: str = ""
    ) -> tuple[Change, list[str]]:
        """A change of what a branch has now, and which uncommitted files are left out of it."""
        git = squashes.seen(repos.git(gate.repo))
        author, branch = proposed.author, proposed.branch
        left_out: list[str] = []
        if author is not None:
            self._fetcher.fetch(author)
            left_out = _uncommitted(self._context, author)
        elif by is None:
            left_out = _left_in_checkout(git, branch)
        head = _tip(git, proposed)
        commits = repository.commits_between(git, gate.target.tip, head, limit=1)
        goal = author.goal.strip().splitlines()[0] if author is not None else ""
        own = proposed.known.title if proposed.known is not None else ""
        moment = self._context.clock.now()
        change = Change(
            repo=gate.repo.id,
            id=proposed.known.id if proposed.known is not None else ChangeId(""),
            target=gate.target.branch,
            branch=branch,
            head=head,
            title=title or own or goal or (commits[0].subject if commits else branch),
            author=author.uid if author is not None else None,
        )
        began = tries.since(self._context, git, change)
        found = self._guards(gate, git, head, by=by, since=began)
        change = msgspec.structs.replace(
            change,
            guards=found.told,
            edits=found.edits,
            alone=found.steers_gate,
            approval=Approval(by="person", at=moment) if by is None and not found.wider else None,
        )
        return change, left_out

    def _guards(
        self, gate: Gate, git: Repository, head: str, *, by: Agent | None, since: str
    ) -> Guards:
        """Why a person has to look; what the remote has got meanwhile is no edit of this branch."""
        found = guards.of_revision(self._context, gate, git, head, by=by, since=since)
        if not found.edits or gate.target.mode == "local":
            return found
        Upstreams(self._context).refresh(gate.repo, gate.target.branch)
        now = gates.read(self._context, gate.repo, branch=gate.target.branch)
        return guards.of_revision(self._context, now, git, head, by=by, since=since)

    def await_author(self, writing: Writing, author: Agent, target: str) -> None:
        """Begins a draft of an agent's: it is proposed when the agent says that it is done."""
        if author.branch is None:
            raise AssertionError(author.id)
        self.begin_queue(writing, author.repo, target)
        draft = Change(
            repo=author.repo,
            id=ChangeId(""),
            target=target,
            branch=author.branch,
            head=author.base,
            title=author.goal.strip().splitlines()[0],
            state="draft",
            why=f"{author.id} is at work on it",
            author=author.uid,
            ends=True,
        )
        rows.add(writing, _dated(draft, writing))

    def begin_queue(self, writing: Writing, repo: RepoId, target: str) -> bool:
        """Begins the job that lands changes on a branch; False where there is one already.

        What waited in one that was set aside waits in this one.
        """
        kind = landing_job.KIND.name
        if job_rows.about(writing.connection, repo=repo, kind=kind, subject=target) is not None:
            return False
        begun = landing_job.begun(target, queues.waiting(writing.connection, repo, target))
        self._jobs.begin(writing, kind, repo=repo, subject=target, state=begun)
        return True

    def put(
        self, writing: Writing, change: Change, *, needs: tuple[ChangeId, ...] | None = None
    ) -> Change:
        """Adds a change, or the next revision of the one that the branch has.

        What it needs stays as it was, unless that is said.
        """
        known = rows.of_branch(
            writing.connection, change.repo, branch=change.branch, target=change.target
        )
        if known is None or known.state in core.ENDED:
            new = msgspec.structs.replace(change, state="draft", needs=needs or ())
            put = rows.add(writing, _dated(new, writing))
        else:
            wanted = known.needs if needs is None else needs
            if known.state in core.OPEN and (known.head, known.needs) == (change.head, wanted):
                return _as_wanted(writing, known, change)
            put = _revised(writing, known, msgspec.structs.replace(change, needs=wanted))
        return moves.enter(writing, put, "change.submitted")

    def _pin(self, work: RunningIntent) -> None:
        pins.pin(self._context, repos.by_id(self._context, RepoId(work.intent.repo)))

    def _proposed(self, scope: Scope, gate: Gate, wanted: str | None) -> Proposed:
        """What somebody means by a name: an agent, a change, a branch; none is the agent itself."""
        found = self._find(scope, gate, wanted)
        if found.branch == gate.target.branch:
            raise Conflict(
                f"{printable_line(found.branch)} is the branch that changes land on",
                "name another branch, with commits that it lacks",
            )
        if scope.caller is not None:
            if found.author is None:
                raise Denied(
                    f"{scope.caller.id} may not land {printable_line(found.branch)}: agents land"
                    " what is theirs, and what is below them",
                    "ask the person",
                )
            live = lookup.live(self._context, scope)
            lookup.require_reachable(scope, found.author, live, doing="land")
        return found

    def _find(self, scope: Scope, gate: Gate, wanted: str | None) -> Proposed:
        git = repos.git(gate.repo)
        if wanted is not None and core.is_id(wanted):
            return self._by_id(gate.repo.id, git, wanted)
        branch = (wanted or "").removeprefix(_HEADS)
        if branch != wanted and repository.branch_exists(git, branch):
            return Proposed(branch, self._working_on(gate.repo.id, branch))
        try:
            author = lookup.agent(self._context, scope, wanted)
        except NotFound as no_agent:
            if not repository.branch_exists(git, branch):
                raise NotFound(
                    f"there is no agent, change or branch {printable_line(branch)} in"
                    f" {printable_line(gate.repo.root)}",
                    f"{no_agent.hint}; `git branch` lists the branches",
                ) from no_agent
            return Proposed(branch, self._working_on(gate.repo.id, branch))
        if author.branch is None:
            raise Conflict(
                f"{author.id} works in your own checkout and has no branch",
                "its commits are where you are already",
            )
        if wanted and repository.branch_exists(git, wanted):
            if author.id == wanted:
                # Managers name agents as they like, also as a branch of the person's is called.
                name = printable_line(wanted)
                raise Conflict(
                    f"{name} is an agent and a branch",
                    f"say which: wl merge {author.branch}, or wl merge {_HEADS}{name}",
                )
            # A branch of that very name is what a person means who has no such agent in mind.
            return Proposed(wanted, self._working_on(gate.repo.id, wanted))
        ids.require_long(wanted or author.id, author.id)
        return Proposed(author.branch, author)

    def _by_id(self, repo: RepoId, git: Repository, wanted: str) -> Proposed:
        """What is meant by the id of a change, which a branch may be called by as well."""
        is_branch = repository.branch_exists(git, wanted)
        try:
            change = views.find(self._context, repo, wanted)
        except NotFound:
            if not is_branch:
                raise
            return Proposed(wanted, self._working_on(repo, wanted))
        if is_branch and change.branch != wanted:
            branch = printable_line(change.branch)
            raise Conflict(
                f"{wanted} is a change, of {branch}, and a branch",
                f"say which: wl merge {branch}, or wl merge {_HEADS}{wanted}",
            )
        return Proposed(change.branch, self._author(change), change)

    def _author(self, change: Change) -> Agent | None:
        uid = change.author
        if uid is None:
            return None
        found = self._context.store.read(partial(agent_rows.agent, uid=uid))
        return found if found is not None and found.ended_at is None else None

    def _working_on(self, repo: RepoId, branch: str) -> Agent | None:
        live = self._context.store.read(partial(agent_rows.agents, repo=repo))
        return next((agent for agent in live if agent.branch == branch), None)

    def _submitted(self, work: RunningIntent) -> ChangeView:
        repo = RepoId(work.intent.repo)
        change = work.read(partial(rows.find, repo=repo, change=ChangeId(work.data["change"])))
        if change is None:
            raise AssertionError(work.data)
        queue = work.read(partial(rows.open_ones, repo=repo))
        left_out = work.data.get("left_out", [])
        shown = work.read(partial(views.view, change=change, queue=queue, left_out=left_out))
        if work.data.get("is_there", False):
            # What is asked about is this proposal; the change itself goes on as what has landed.
            why = f"all of it landed as {(change.commit or '')[:10]}"
            return {**shown, "state": "nothing-to-land", "why": why, "position": None}
        return shown


def _task(scope: Scope, proposed: Proposed, said: str) -> str:
    """The task that a change is for: its author's, by its run, or what the person says."""
    given = proposed.author.task if proposed.author is not None else ""
    if scope.caller is not None and said not in ("", given):
        raise Denied(
            f"{scope.caller.id} says that this is for {printable_line(said)}, and no agent says"
            " which task it works on",
            f"leave it out; the person can: wl merge {printable_line(proposed.branch)}"
            f" --task {printable_line(said)}",
        )
    return said or given


def _tip(git: Repository, proposed: Proposed) -> str:
    """Where a branch is; refuses one that is gone, and says what is left of it."""
    head = repository.read_ref(git, f"refs/heads/{proposed.branch}")
    if head is not None:
        return head
    known, name = proposed.known, printable_line(proposed.branch)
    if known is None:
        raise NotFound(f"there is no branch {name}", "`git branch` lists the branches")
    raise Conflict(
        f"the branch {name} of {known.id} is gone",
        f"as it was proposed: wl retry {known.id}; an agent comes back with it: wl trash list",
    )


def _revised(writing: Writing, known: Change, change: Change) -> Change:
    columns: dict[str, Any] = {
        "title": change.title,
        "task": change.task or known.task,
        "needs": change.needs,
        "guards": change.guards,
        "edits": change.edits,
        "alone": change.alone,
        "author": change.author,
        "ends": change.ends,
        "deletes": change.deletes or known.deletes,
        "unattended": change.unattended,
    }
    # The same head once more is no new revision: what was said of it still holds.
    again = known.head == change.head
    more = (
        {"ticket": None} if again else core.next_revision(known, head=change.head, at=writing.now)
    )
    approval = change.approval or (known.approval if again else None)
    rows.note(writing, known, **{**columns, **more, "approval": approval})
    found = rows.find(writing.connection, known.repo, known.id)
    if found is None:
        raise AssertionError(known)
    return found


def _as_wanted(writing: Writing, known: Change, change: Change) -> Change:
    """The same head once more may say what becomes of its branch, and no more than that."""
    deletes = known.deletes or change.deletes
    if deletes != known.deletes:
        rows.note(writing, known, deletes=deletes)
    return msgspec.structs.replace(known, deletes=deletes)


def _needs(writing: Writing, change: Change, wanted: list[str]) -> tuple[ChangeId, ...]:
    """The changes that were named; refuses what is none, and what would wait for itself."""
    needs = []
    known = rows.of_branch(
        writing.connection, change.repo, branch=change.branch, target=change.target
    )
    own = known.id if known is not None and known.state not in core.ENDED else None
    for name in filter(None, wanted):
        found = None
        if core.is_id(name):
            found = rows.find(writing.connection, change.repo, ChangeId(name))
        if found is None:
            raise NotFound(f"there is no change {printable_line(name)}", "`wl queue --all`")
        if found.state == "dropped":
            raise Conflict(f"{found.id} is dropped, so nothing can need it", "leave it out")
        if own is not None and own in _all_needs(writing, found):
            raise UserError(
                f"{own} would need itself: {found.id} needs it", "leave one of them out"
            )
        needs.append(found.id)
    return tuple(dict.fromkeys(needs))


def _all_needs(writing: Writing, change: Change) -> set[ChangeId]:
    known, left = {change.id}, list(change.needs)
    while left:
        name = left.pop()
        if name not in known:
            known.add(name)
            found = rows.find(writing.connection, change.repo, name)
            left += found.needs if found is not None else ()
    return known


def _uncommitted(context: Context, author: Agent) -> list[str]:
    """The first of what no commit has of an agent's workspace: it does not land."""
    work = setup_files.work_status(context, author)
    changed = {*work.staged, *work.unstaged, *work.untracked, *work.conflicted}
    return heapq.nsmallest(core.MOST_LEFT_OUT, {*changed, *work.nested, *work.unread})


def _left_in_checkout(git: Repository, branch: str) -> list[str]:
    """The first of what no commit has where a branch of the person's is checked out."""
    place = repository.checkouts(git).get(branch)
    if place is None:
        return []
    try:
        return heapq.nsmallest(core.MOST_LEFT_OUT, checkout.uncommitted(git, place))
    except WindlassError:  # it is to be told, and is no reason not to land what is committed
        return []


def _landed(connection: sa.Connection, change: Change) -> tuple[str, str]:
    """What landed with just this head of a branch, and its commit, unless it was taken back."""
    known = rows.of_branch(connection, change.repo, branch=change.branch, target=change.target)
    if known is None or (known.state, known.head) != ("landed", change.head):
        return "", ""
    return ("", "") if views.undone_by(connection, known) else (known.id, known.commit or "")


def _dated(change: Change, writing: Writing) -> Change:
    return msgspec.structs.replace(
        change, id=ChangeId(""), created_at=writing.now, updated_at=writing.now
    )
