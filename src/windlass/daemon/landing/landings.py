"""The effects that end a change's wait: it lands, or it is said why it does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from windlass.core import shapes
from windlass.core.errors import Conflict
from windlass.core.events import ChangeLanded, ChangeStopped
from windlass.core.ids import RepoId
from windlass.core.landing import changes as core
from windlass.core.landing import job as landing_job
from windlass.core.landing.changes import OPEN, ChangeId
from windlass.core.landing.job import Stopped, Try
from windlass.core.printable import printable_line
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.branch_moves import BranchMove
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.landing import tickets
from windlass.daemon.landing.tries import stacked
from windlass.git import merges, repository, stacks
from windlass.git.merges import MergePlan
from windlass.git.repository import Repository
from windlass.git.stacks import Stack
from windlass.store import changes as rows
from windlass.store.store import Writing


class Landings:
    """Moves the target to proven trees, and tells of every change how it ended."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def operations(self) -> tuple[Operation, ...]:
        """Landing a group, and stopping changes."""
        return (
            Operation(
                landing_job.LAND,
                (Step("plan", self._plan), Step("apply", self._apply, self._settle)),
                lambda _: [],
                _landed,
                moves=_move,
            ),
            Operation(
                landing_job.STOP,
                (Step("stop", self._stop),),
                lambda _: [],
                lambda work: {"changes": [found["change"] for found in work.data["stopped"]]},
            ),
        )

    def _plan(self, work: RunningIntent) -> None:
        """Makes the commit again that was proven, and looks what is in its way.

        Only the proven tree lands: where the stack makes another one by now, nothing does.
        """
        git = repos.git(repos.by_id(self._context, RepoId(work.intent.repo)))
        tried = shapes.convert(work.data["tried"], Try)
        target, heads = work.data["target"], work.data["heads"]
        tip = repository.require(git, f"refs/heads/{target}")
        at = int(work.intent.created_at)
        stack = stacked(
            self._context, git, RepoId(work.intent.repo),
            tip=tip, names=tried.group, heads=heads, at=at,
        )  # fmt: skip
        if (stack.group, stack.tree) != (tried.group, tried.tree):
            work.keep(plan=None, in_the_way={})
            return
        plan = _plan_of(git, stack, target=target, at=at)
        in_the_way = self._in_the_way(work, git, plan, tried)
        work.keep(plan=None if in_the_way else msgspec.to_builtins(plan), in_the_way=in_the_way)

    def _in_the_way(
        self, work: RunningIntent, git: Repository, plan: MergePlan, tried: Try
    ) -> dict[str, str]:
        """Which changes a person's own edits in a checkout of the target are in the way of."""
        try:
            merges.rehearse(git, plan)
        except Conflict as error:
            if len(tried.group) == 1:
                return {tried.group[0]: _told(error)}
            whole = _told(error)
        else:
            return {}
        found = {}
        for name in tried.group:
            stack = stacked(
                self._context, git, RepoId(work.intent.repo),
                tip=plan.old, names=[name], heads=work.data["heads"],
                at=int(work.intent.created_at),
            )  # fmt: skip
            try:
                merges.rehearse(git, _plan_of(git, stack, target=plan.target_branch, at=0))
            except Conflict as error:
                found[name] = _told(error)
        return found or dict.fromkeys(tried.group, whole)

    def _apply(self, work: RunningIntent) -> None:
        if work.data["plan"] is None:
            return
        git = repos.git(repos.by_id(self._context, RepoId(work.intent.repo)))
        plan = shapes.convert(work.data["plan"], MergePlan)
        merges.apply(git, plan)

        def change(writing: Writing) -> None:
            for name in work.data["tried"]["group"]:
                _tell_landed(writing, work, name, plan)

        work.with_next_record(change)

    def _settle(self, work: RunningIntent) -> None:
        """Leaves no checkout half moved."""
        if work.data.get("plan") is not None:
            git = repos.git(repos.by_id(self._context, RepoId(work.intent.repo)))
            merges.settle(git, shapes.convert(work.data["plan"], MergePlan))

    def _stop(self, work: RunningIntent) -> None:
        repo = RepoId(work.intent.repo)

        def change(writing: Writing) -> None:
            for kept in work.data["stopped"]:
                stopped = shapes.convert(kept, Stopped)
                found = rows.find(writing.connection, repo, ChangeId(stopped.change))
                if found is None or found.head != stopped.head or found.state not in OPEN:
                    continue
                ticket = tickets.ticket(writing.connection, repo, found, stopped)
                told = {"state": stopped.state, "why": ticket.why}
                rows.move(writing, found, **told, ticket=ticket)
                event = ChangeStopped(change=found.id, target=found.target, **told)
                writing.emit(event, repo=repo, subject=core.subject(found.id))

        self._context.store.write(change)


def _plan_of(git: Repository, stack: Stack, *, target: str, at: int) -> MergePlan:
    names = ", ".join(stack.group)
    trailers = "".join(f"Windlass-Change: {name}\n" for name in stack.group)
    author = repository.identity(git) or ("windlass", "windlass@windlass.invalid")
    message = f"Land {names}\n\n{trailers}Windlass-Verdict: {stack.tree}\n"
    new = stacks.landing_commit(git, stack, message=message, author=author, time=at)
    return MergePlan(
        target_ref=f"refs/heads/{target}",
        old=stack.tip,
        new=new,
        tree=stack.tree,
        checkout=repository.checkouts(git).get(target),
    )


def _tell_landed(writing: Writing, work: RunningIntent, name: str, plan: MergePlan) -> None:
    repo = RepoId(work.intent.repo)
    found = rows.find(writing.connection, repo, ChangeId(name))
    if found is None or found.head != work.data["heads"][name]:
        return
    rows.move(writing, found, state="landed", why="", commit=plan.new, tree=plan.tree, ticket=None)
    event = ChangeLanded(
        change=found.id, target=found.target, commit=plan.new, tree=plan.tree, was=plan.old
    )
    writing.emit(event, repo=repo, subject=core.subject(found.id))


def _move(data: Mapping[str, Any]) -> BranchMove:
    plan = data.get("plan") or {}
    return BranchMove(data["target"], plan.get("old"), plan.get("new"))


def _landed(work: RunningIntent) -> dict[str, Any]:
    return {
        "landed": work.data["plan"] is not None,
        "group": work.data["tried"]["group"],
        "in_the_way": work.data["in_the_way"],
    }


def _told(error: Conflict) -> str:
    return printable_line(f"{error.message}; {error.hint}" if error.hint else error.message)
