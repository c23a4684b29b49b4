"""The operation `change.undo`: what landed is taken back.

Where nothing followed it and nobody else has it (a remote, a tag, another branch, an agent, what is
in the trash), the target goes back to where it was. Else a revert is proposed: a change as any
other, gated and landed, so that who has it and lands something does not bring it back.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from windlass.api.verbs import Caller
from windlass.api.wire.landing import ChangeView, JudgeRequest
from windlass.core import shapes
from windlass.core.errors import Conflict, GitError, WindlassError
from windlass.core.ids import RepoId
from windlass.core.landing import changes as core
from windlass.core.landing.changes import Approval, Change, ChangeId
from windlass.core.printable import few, printable_line
from windlass.daemon.gate import gates, green
from windlass.daemon.kernel import lookup, repos, set_aside
from windlass.daemon.kernel.branch_moves import BranchMove
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.landing import moves, pins, views
from windlass.daemon.landing.submissions import Submissions
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.git import gate_trees, merges, repository, reverts, squashes
from windlass.git.merges import MergePlan
from windlass.git.repository import Repository
from windlass.store import changes as rows
from windlass.store import rows as agent_rows
from windlass.store.rows import Repo
from windlass.store.store import Writing

log = logging.getLogger(__name__)


class LandingUndos:
    """Takes back what landed."""

    def __init__(self, context: Context, submissions: Submissions, fetcher: CommitFetcher) -> None:
        self._context = context
        self._submissions = submissions
        self._fetcher = fetcher

    def operation(self) -> Operation:
        """Look which of both it is, then do it."""
        return Operation(
            "change.undo",
            (Step("plan", self._plan), Step("apply", self._apply, self._settle)),
            lambda _: [],
            self._result,
            moves=_move,
        )

    def begin(self, caller: Caller, request: JudgeRequest) -> IntentDraft:
        """Finds the change, and refuses what did not land, or is taken back already."""
        repo = lookup.scope(self._context, caller, request).require_repo().id
        found = views.find(self._context, repo, request["change"])

        def prepare(writing: Writing) -> dict[str, Any]:
            change = rows.find(writing.connection, repo, found.id)
            if change is None:
                raise AssertionError(found.id)
            if change.state != "landed":
                raise Conflict(
                    f"{change.id} is {change.state}: it has not landed, so there is nothing to take"
                    " back",
                    f"wl drop {change.id} takes it out of the queue",
                )
            revert = rows.revert_of(writing.connection, repo, change.id)
            if revert is not None and revert.state in (*core.UNFINISHED, "landed"):
                raise Conflict(
                    f"{change.id} is taken back by {revert.id}, which is {revert.state}",
                    f"wl show {revert.id}",
                )
            return {
                "change": change.id,
                "target": change.target,
                "why": request.get("why", ""),
                "time": int(writing.now),
            }

        return IntentDraft(repo, None, prepare)

    def _plan(self, work: RunningIntent) -> None:
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        git = squashes.seen(repos.git(repo))
        change, alone = work.read(partial(_landed, repo=repo.id, name=work.data["change"]))
        if change.commit is None or change.was is None:
            raise AssertionError(change)
        work.read(partial(set_aside.refuse_move, repo=repo.id, branch=change.target))
        _require_here(git, change.id, change.commit)
        tip = repository.require(git, f"refs/heads/{change.target}")
        if tip == change.commit and alone and not self._is_elsewhere(git, change, tip):
            plan = MergePlan(
                target_ref=f"refs/heads/{change.target}",
                old=tip,
                new=change.was,
                tree=gate_trees.tree_of(git, change.was),
                checkout=repository.checkouts(git).get(change.target),
            )
            merges.rehearse(git, plan)
            work.keep(plan=msgspec.to_builtins(plan))
            return
        head = self._reverting(git, change, tip, work)
        branch = _free_branch(git, f"revert-{change.id}")
        work.keep(plan=None, head=head, branch=branch)

    def _is_elsewhere(self, git: Repository, change: Change, tip: str) -> bool:
        """Whether somebody has what landed already, and would bring it back with their own."""
        live = self._context.store.read(partial(agent_rows.agents, repo=change.repo))
        try:
            for agent in live:
                self._fetcher.fetch(agent)
        except WindlassError as error:  # then nobody knows what that one has
            log.warning("%s is taken back by a revert: %s", change.id, error.message)
            return True
        return repository.is_elsewhere(git, tip, branch=change.target)

    def _reverting(self, git: Repository, change: Change, tip: str, work: RunningIntent) -> str:
        landed = reverts.merge_of(git, change.commit or "", change.head)
        tree, paths = reverts.tree_without(git, landed, tip)
        if paths:
            main = "" if squashes.is_one(git, landed) else " -m 1"
            raise Conflict(
                f"{change.id} cannot be taken back by itself: what followed it changed the same"
                f" lines, in {few(paths)}",
                f"git revert{main} {landed[:12]}, resolve, and wl merge the branch",
            )
        if tree == gate_trees.tree_of(git, tip):
            raise Conflict(
                f"{printable_line(change.target)} has nothing of {change.id} any more",
                f"wl diff {change.id} shows what it brought",
            )
        why = f"\n{work.data['why']}\n" if work.data["why"] else ""
        message = f"{_title(change)}\n\nThis takes back {landed}.\n{why}"
        author = repository.identity(git) or repository.NOBODY
        return merges.commit(
            git, tree=tree, parents=(tip,), message=message, author=author, time=work.data["time"]
        )

    def _apply(self, work: RunningIntent) -> None:
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        git = repos.git(repo)
        if work.data["plan"] is not None:
            merges.apply(git, shapes.convert(work.data["plan"], MergePlan))
            work.with_next_record(partial(_take_back, work=work))
            self._forget_green(repo, git)
            return
        ref, head = f"refs/heads/{work.data['branch']}", work.data["head"]
        if repository.read_ref(git, ref) != head:
            repository.set_ref(git, ref, head, old=repository.null_oid(git))

        def propose(writing: Writing) -> None:
            landed = rows.find(writing.connection, repo.id, ChangeId(work.data["change"]))
            if landed is None:
                raise AssertionError(work.data)
            self._submissions.begin_queue(writing, repo.id, landed.target)
            put = self._submissions.put(writing, _revert(landed, work, at=writing.now))
            work.keep_in(writing, revert=put.id)

        if "revert" not in work.data:
            self._context.store.write(propose)
        pins.pin(self._context, repo)

    def _forget_green(self, repo: Repo, git: Repository) -> None:
        """What was taken back is not the newest proven commit any more."""
        try:
            if (gate := gates.find(self._context, repo)) is not None:
                green.find_again(self._context, gate, git)
        except GitError as error:  # it is taken back all the same
            log.warning("%s stays where it was: %s", green.REF, error.message)

    def _settle(self, work: RunningIntent) -> None:
        """Leaves no checkout half moved."""
        if work.data.get("plan") is not None:
            git = repos.git(repos.by_id(self._context, RepoId(work.intent.repo)))
            merges.settle(git, shapes.convert(work.data["plan"], MergePlan))

    def _result(self, work: RunningIntent) -> ChangeView:
        name = ChangeId(work.data.get("revert") or work.data["change"])
        return work.read(partial(views.kept, repo=RepoId(work.intent.repo), name=name))


def _require_here(git: Repository, name: ChangeId, commit: str) -> None:
    """Refuses a landing that is not in the repository: it was made anew, or cleaned up since."""
    if repository.resolve(git, commit) is None:
        raise Conflict(
            f"{name} landed as {commit[:10]}, and {printable_line(git.root)} has not got that any"
            " more",
            "there is nothing to take back: its history is another one since",
        )


def _landed(connection: Any, repo: RepoId, name: str) -> tuple[Change, bool]:
    """A change, and whether nothing else landed with the same commit."""
    change = rows.find(connection, repo, ChangeId(name))
    if change is None:
        raise AssertionError(name)
    together = [c for c in rows.listed(connection, repo, states={"landed"})
                if c.commit == change.commit]  # fmt: skip
    return change, len(together) == 1


def _take_back(writing: Writing, *, work: RunningIntent) -> None:
    """The target is where it was before; who merges the branch again begins a change anew."""
    repo = RepoId(work.intent.repo)
    change = rows.find(writing.connection, repo, ChangeId(work.data["change"]))
    if change is None or change.state != "landed":
        return
    why = work.data["why"] or "taken back by the person: the target is where it was before"
    moves.leave(writing, change, "change.undone", why=why)


def _revert(landed: Change, work: RunningIntent, *, at: float) -> Change:
    return Change(
        repo=landed.repo,
        id=ChangeId(""),
        target=landed.target,
        branch=work.data["branch"],
        head=work.data["head"],
        title=_title(landed),
        reverts=landed.id,
        approval=Approval(by="person", at=at),
        deletes=True,
    )


def _title(change: Change) -> str:
    return f"Revert {change.id}: {printable_line(change.title)}"


def _free_branch(git: Repository, wanted: str) -> str:
    """A name that no branch has: a revert that did not land may have left its own."""
    names = (wanted, *(f"{wanted}-{number}" for number in range(2, 1000)))
    return next(name for name in names if not repository.branch_exists(git, name))


def _move(data: Mapping[str, Any]) -> BranchMove | None:
    plan = data.get("plan")
    return None if plan is None else BranchMove(data["target"], plan["old"], plan["new"])
