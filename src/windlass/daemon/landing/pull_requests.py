"""Landing by pull requests: what is proven is pushed as a branch of its own, and then waited for.

A change has landed when the upstream contains it, whoever merged it and how. A closed pull request
has its changes held; one that cannot be looked at is looked at again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import sqlalchemy as sa

from windlass.core import shapes
from windlass.core.errors import WindlassError
from windlass.core.forge import Draft, PullRequest
from windlass.core.ids import RepoId
from windlass.core.landing import changes as core
from windlass.core.landing import request as request_job
from windlass.core.landing.changes import Change, ChangeId
from windlass.core.landing.request import RequestState
from windlass.core.ports import Forge
from windlass.core.printable import printable_line
from windlass.daemon.gate import gates
from windlass.daemon.jobs.ledger import Jobs
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.landing import landed, messages, moves, pushes
from windlass.daemon.landing.upstreams import Upstreams
from windlass.daemon.landing.views import author_of
from windlass.git import gate_trees, merges, remotes, repository
from windlass.git.merges import MergePlan
from windlass.git.repository import Repository
from windlass.store import changes as rows
from windlass.store.store import Writing

FindForge = Callable[[Sequence[str]], Forge]
"""Returns the forge of a remote that is known by these addresses."""
_PREFIX = "windlass/"
_NAMED = 4
_PUSHES = 2
_COMMITS = 20


class PullRequests:
    """Opens pull requests for what is proven, and looks what becomes of them."""

    def __init__(
        self, context: Context, jobs: Jobs, upstreams: Upstreams, forge: FindForge
    ) -> None:
        self._context = context
        self._jobs = jobs
        self._upstreams = upstreams
        self._forge = forge

    def steps(self) -> tuple[Step, ...]:
        """The steps of a landing: push the branch, then open the pull request."""
        return (
            Step("branch", self._branch, needed=_is_request),
            Step("request", self._request, needed=_is_request),
        )

    def operation(self) -> Operation:
        """The effect of a pull request's job: one look."""
        return Operation(
            request_job.LOOK,
            (Step("look", self._look), Step("follow", self._follow)),
            lambda _: [],
            _seen,
        )

    def _branch(self, work: RunningIntent) -> None:
        """Has a branch of the remote's be at the commit that was proven."""
        git = repos.git(repos.by_id(self._context, RepoId(work.intent.repo)))
        plan, remote = shapes.convert(work.data["plan"], MergePlan), work.data["remote"]
        group = work.data["tried"]["group"]
        branch = branch_of(group, plan.tree)
        outcome, why = _pushed(git, remote, branch=branch, commit=plan.new)
        if outcome == "unsettled":
            self._upstreams.say_unreachable(
                RepoId(work.intent.repo),
                why,
                work.data["heads"],
                is_first="settles" not in work.data,
            )
        work.keep(outcome=outcome, refused=why, branch=branch)

    def _request(self, work: RunningIntent) -> None:
        """Opens it, and has its changes and a job wait for it."""
        if work.data["outcome"] != "pushed":
            return
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        git, plan = repos.git(repo), shapes.convert(work.data["plan"], MergePlan)
        group, remote = work.data["tried"]["group"], work.data["remote"]
        forge = self._forge(remotes.addresses(git, remote))
        request = forge.open(self._draft(work, git, plan))
        state = RequestState(
            target=work.data["target"],
            remote=remote,
            group=tuple(group),
            heads={name: work.data["heads"][name] for name in group},
            old=plan.old,
            new=plan.new,
            tree=plan.tree,
            verdict=work.data["verdict"],
            request=request,
        )
        why = _waits_for(request, branch=work.data["branch"], target=state.target, remote=remote)

        def change(writing: Writing) -> None:
            for name in group:
                _propose(writing, repo.id, state, name, why=why)
            kind, subject = request_job.KIND.name, work.data["branch"]
            begun = request_job.begun(state)
            self._jobs.begin(writing, kind, repo=repo.id, subject=subject, state=begun)

        work.with_next_record(change)
        work.keep(outcome="requested")

    def _draft(self, work: RunningIntent, git: Repository, plan: MergePlan) -> Draft:
        repo, group = RepoId(work.intent.repo), work.data["tried"]["group"]

        def read(connection: sa.Connection) -> list[tuple[Change, str | None]]:
            found = [rows.find(connection, repo, ChangeId(name)) for name in group]
            return [(c, author_of(connection, c)) for c in found if c is not None]

        known = self._context.store.read(read)
        commits = [
            commit.subject
            for change, _ in known
            for commit in repository.commits_between(git, plan.old, change.head, limit=_COMMITS)
        ]
        known_repo = repos.by_id(self._context, repo)
        checks = gates.lines(self._context, known_repo, branch=work.data["target"])
        title, body = messages.of_request(known, commits[:_COMMITS], tree=plan.tree, checks=checks)
        return Draft(work.data["branch"], work.data["target"], title, body)

    def _look(self, work: RunningIntent) -> None:
        """Reads the upstream first: what it contains has landed, whatever the forge says."""
        if work.data.get("outcome") == "landed":
            return  # by a daemon that died right after it was recorded
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        git, state = repos.git(repo), shapes.convert(work.data, RequestState)
        waiting = partial(_waiting, repo=repo.id, state=state)
        if not self._context.store.read(waiting):
            work.keep(outcome="gone")
            return
        try:
            tip, request = self._asked(git, state)
        except WindlassError as error:
            work.keep(outcome="open", why=error.message)
            return
        if tip is None or not (request.state == "merged" or contains(git, tip, state.new)):
            work.keep(outcome="closed" if request.state == "closed" else "open")
            return
        is_ours = repository.is_ancestor(git, state.new, tip)
        new, tree = (state.new, state.tree) if is_ours else (tip, gate_trees.tree_of(git, tip))
        ref = f"refs/heads/{state.target}"
        plan = MergePlan(target_ref=ref, old=state.old, new=new, tree=tree, checkout=None)

        def change(writing: Writing) -> None:
            for name in _waiting(writing.connection, repo=repo.id, state=state):
                landed.record(writing, work, name, plan)

        work.with_next_record(change)
        work.keep(outcome="landed", plan=msgspec.to_builtins(plan), tip=tip)

    def _asked(self, git: Repository, state: RequestState) -> tuple[str | None, PullRequest]:
        """Where the upstream is, and how the pull request stands; the forge is asked first.

        What it calls merged is then in what is fetched.
        """
        tip = remotes.fetch(git, state.remote, state.target)
        if tip is not None and contains(git, tip, state.new):
            return tip, state.request
        request = self._forge(remotes.addresses(git, state.remote)).look(state.request)
        if request.state == "merged":
            tip = remotes.fetch(git, state.remote, state.target)
        return tip, request

    def _follow(self, work: RunningIntent) -> None:
        if work.data["outcome"] != "landed":
            return
        repo = RepoId(work.intent.repo)
        git = repos.git(repos.by_id(self._context, repo))
        target, remote = work.data["target"], work.data["remote"]
        tip, context = work.data["tip"], self._context
        if stays := pushes.follow(context, git, repo, target, commit=tip, remote=remote):
            group = work.data["group"]
            work.with_next_record(lambda writing: pushes.say_stays(writing, repo, group, stays))


def branch_of(group: Sequence[str], tree: str) -> str:
    """The name of the branch that is pushed: a next revision of one change has the same."""
    named = "-".join(group[:_NAMED])
    more = f"-and-{len(group) - _NAMED}-more" if len(group) > _NAMED else ""
    return f"{_PREFIX}{named}{more}" + (f"-{tree[:8]}" if len(group) > 1 else "")


def contains(git: Repository, tip: str, commit: str) -> bool:
    """Whether a tip has all that a commit brings: itself, or squashed, or rebased."""
    if repository.is_ancestor(git, commit, tip):
        return True
    tree, conflicts = merges.merge_trees(git, ours=tip, theirs=commit)
    return not conflicts and tree == gate_trees.tree_of(git, tip)


def _pushed(git: Repository, remote: str, *, branch: str, commit: str) -> tuple[str, str]:
    """Pushes a branch that is ours alone, by reading where it is before and after."""
    why = ""
    for pushes_done in range(_PUSHES + 1):
        try:
            tip = remotes.tip(git, remote, branch)
        except WindlassError as error:
            return "unsettled", f"{error.message} ({error.hint})"
        if tip == commit:
            return "pushed", ""
        if pushes_done == _PUSHES:
            break
        pushed = remotes.push(git, remote, commit=commit, branch=branch, old=tip)
        if pushed.outcome == "pushed":
            return "pushed", ""
        why = pushed.why
        if pushed.outcome == "refused":
            break
    return "refused", printable_line(f"{remote} does not take the branch {branch}: {why}")


def _waits_for(request: PullRequest, *, branch: str, target: str, remote: str) -> str:
    if request.number:
        return f"its pull request waits to be merged: {request.address}"
    why = f" ({request.why})" if request.why else ""
    if request.address:
        return f"open its pull request: {request.address}{why}"
    return printable_line(f"merge {branch} of {remote} into {target} there{why}")


def _propose(writing: Writing, repo: RepoId, state: RequestState, name: str, *, why: str) -> None:
    found = rows.find(writing.connection, repo, ChangeId(name))
    if found is None or found.state not in core.OPEN or found.head != state.heads[name]:
        return
    moves.leave(
        writing,
        found,
        "merge.requested",
        why=why,
        was=state.old,
        commit=state.new,
        tree=state.tree,
        verdict=state.verdict,
    )


def _waiting(connection: sa.Connection, repo: RepoId, state: RequestState) -> list[str]:
    """Which of its changes still wait for this very pull request."""
    found = [rows.find(connection, repo, ChangeId(name)) for name in state.group]
    return [c.id for c in found if c is not None and (c.state, c.commit) == ("proposed", state.new)]


def _seen(work: RunningIntent) -> dict[str, Any]:
    outcome = work.data["outcome"]
    if outcome != "landed":
        return {"outcome": outcome, "why": work.data.get("why", "")}
    authors = work.read(partial(landed.authors, work=work, group=work.data["group"]))
    return {"outcome": outcome, "authors": authors}


def _is_request(data: Mapping[str, Any]) -> bool:
    return data.get("mode") == "pr" and data.get("plan") is not None
