"""`wl refresh`: the branch of an agent at rest is made anew upon what is proven.

Only of agents that do nothing just now and have committed all they have. Everything else is left as
it is, and said. Where the branch was is kept below `refs/windlass/refreshed/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
import sqlalchemy as sa

from windlass.api.verbs import Caller
from windlass.api.wire.agents import RefreshReply
from windlass.api.wire.request import AgentRequest
from windlass.core import ids, shapes
from windlass.core.crew import Agent
from windlass.core.errors import Conflict, WindlassError
from windlass.core.events import AgentRefreshed
from windlass.core.ids import Uid
from windlass.core.landing.changes import OPEN, Change
from windlass.core.printable import few, printable_line
from windlass.core.states import RESTING
from windlass.daemon.agents import endings
from windlass.daemon.agents.merge_refusals import uncommitted
from windlass.daemon.gate import gates, green
from windlass.daemon.kernel import lookup, repos
from windlass.daemon.kernel.branch_moves import BranchMove
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step, of_one_agent
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.launch import boxes, setup_files
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.mail import from_windlass
from windlass.git import gate_trees, merges, replay, repository, workspaces
from windlass.git.merges import MergePlan
from windlass.git.repository import Repository
from windlass.store import changes as changes_rows
from windlass.store import rows
from windlass.store.rows import Repo
from windlass.store.store import Writing

_AWAITED = frozenset({"held", "proposed"})
"""States of changes whose very revision a person looks at: the next one would wait anew."""


class Refreshes:
    """The operation `refresh`, and the request that begins it."""

    def __init__(self, context: Context, fetcher: CommitFetcher) -> None:
        self._context = context
        self._fetcher = fetcher

    def operation(self) -> Operation:
        """Look and make the commits, keep where the branch was, move it, tell the agent."""
        return Operation(
            "refresh",
            (
                Step("plan", self._plan),
                Step("keep", self._keep, needed=_moves),
                Step("apply", self._apply, self._settle, needed=_moves),
            ),
            of_one_agent,
            _result,
            moves=_move,
        )

    def begin(self, caller: Caller, request: AgentRequest) -> IntentDraft:
        """Finds the agent; what is in the way of it is no refusal, but the answer."""
        scope = lookup.scope(self._context, caller, request)
        agent = lookup.agent(self._context, scope, request.get("agent"))
        ids.require_long(request.get("agent") or agent.id, agent.id)
        if agent.branch is None:
            raise Conflict(
                f"{agent.id} works in your own checkout and has no branch",
                "its commits are where you are already",
            )
        data = {"uid": agent.uid, "id": agent.id, "branch": agent.branch}
        return IntentDraft(agent.repo, scope.caller_uid, lambda _: data)

    def _plan(self, work: RunningIntent) -> None:
        agent = endings.still_live(self._context, Uid(work.data["uid"]))
        outcome, why = self._in_the_way(agent)
        if outcome:
            work.keep(outcome=outcome, why=why)
            return
        repo = repos.by_id(self._context, agent.repo)
        git = repos.git(repo)
        tip = repository.require(git, f"refs/heads/{agent.branch}")
        onto, proven = self._onto(repo, git)
        if onto is None:
            work.keep(outcome="busy", why="the target is red, and no commit of it is proven")
            return
        work.keep(was=tip, onto=onto, proven=proven)
        if repository.is_ancestor(git, onto, tip):
            work.keep(outcome="there")
            return
        if why := self._taken_back(agent, git, tip):
            work.keep(outcome="undone", why=why)
            return
        try:
            made = replay.replay(git, tip=tip, onto=onto)
        except WindlassError as error:
            work.keep(outcome="conflict", why=error.message)
            return
        if made.conflicts or made.why:
            paths = [printable_line(path) for path in made.conflicts]
            work.keep(outcome="conflict", why=made.why or f"it conflicts in {few(paths)}")
            return
        plan = MergePlan(
            target_ref=f"refs/heads/{agent.branch}",
            old=tip,
            new=made.tip,
            tree=gate_trees.tree_of(git, made.tip),
            checkout=agent.workspace,
        )
        work.keep(plan=msgspec.to_builtins(plan), commits=made.commits)

    def _onto(self, repo: Repo, git: Repository) -> tuple[str | None, bool]:
        """The commit that branches are made anew upon, and whether it is proven; no red one."""
        gate = gates.find(self._context, repo)
        if gate is None:
            return gates.target(self._context, repo, git).tip, False
        if (proven := green.newest(self._context, gate, git)) is not None:
            return proven, True
        tip = gate.target.tip
        return None if green.is_red(self._context, repo.id, git, tip) else tip, False

    def _in_the_way(self, agent: Agent) -> tuple[str, str]:
        """Why an agent is left as it is; empty where nothing stands against it."""
        if agent.state not in RESTING:
            return "busy", f"it is {agent.state}"
        change = self._context.store.read(lambda c: changes_rows.of_author(c, agent.uid))
        if change is not None and change.state in OPEN:
            return "busy", f"{change.id} of it is in the queue"
        if change is not None and change.state in _AWAITED:
            return "busy", f"{change.id} of it is {change.state}, and waits as it was proposed"
        live = self._context.store.read(lambda c: rows.agents(c, repo=agent.repo))
        above = next((other for other in live if other.uid == agent.parent), None)
        if above is not None and above.branch is not None:
            return "elsewhere", f"its work goes to {above.id}, whose branch it follows"
        self._fetcher.fetch(agent)
        status = setup_files.work_status(self._context, agent)
        if status.operation is not None:
            return "busy", f"a {status.operation} is under way in its workspace"
        if not status.exists:
            return "busy", "its workspace is not there: wl resume makes it again"
        if not status.clean:
            return "uncommitted", f"it has uncommitted work: {few(uncommitted(status))}"
        git = repos.git(repos.by_id(self._context, agent.repo))
        tip = repository.read_ref(git, f"refs/heads/{agent.branch}")
        if status.branch != agent.branch or status.head != tip:
            return "busy", f"its workspace is on {status.branch or 'a detached HEAD'}"
        return "", ""

    def _taken_back(self, agent: Agent, git: Repository, tip: str) -> str:
        """Why a branch stays that has landed and was taken back: rebased, it would lose all that.

        Its commits are in the target's past, whose files have them no more.
        """
        landed, revert = self._context.store.read(partial(_last_landed, agent=agent))
        if landed is None or revert is None or revert.state != "landed":
            return ""
        if repository.is_ancestor(git, revert.head, tip):
            return ""
        if not repository.is_ancestor(git, landed.head, tip):
            return ""
        return (
            f"{landed.id} of it was taken back by {revert.id}: wl merge {agent.id} lands it again"
        )

    def _keep(self, work: RunningIntent) -> None:
        """Keeps where the branch was from git's clean-up, before it moves."""
        git = repos.git(repos.by_id(self._context, work.intent.repo))
        kept = f"refs/windlass/refreshed/{work.data['id']}/{work.data['was'][:12]}"
        repository.set_ref(git, kept, work.data["was"])
        work.keep(kept=kept)

    def _apply(self, work: RunningIntent) -> None:
        agent = endings.still_live(self._context, Uid(work.data["uid"]))
        git = repos.git(repos.by_id(self._context, agent.repo))
        plan = shapes.convert(work.data["plan"], MergePlan)
        is_moved = repository.read_ref(git, plan.target_ref) == plan.new
        if not is_moved and agent.state not in RESTING:
            work.keep(outcome="busy", why=f"it is {agent.state}")
            return
        try:
            merges.apply(git, plan, box=self._box(agent))
        except Conflict as error:
            work.keep(outcome="busy", why=error.message)
            return
        repository.set_ref(git, workspaces.base_ref(agent.id), work.data["onto"])
        work.keep(outcome="rebased")
        text = _news(work.data)

        def change(writing: Writing) -> None:
            rows.change_agent(writing, agent.uid, base=work.data["onto"])
            event = AgentRefreshed(
                id=agent.id, was=plan.old, commit=plan.new, onto=work.data["onto"]
            )
            writing.emit(event, repo=agent.repo, agent=agent.uid)
            from_windlass.say(writing, agent, text, topic="refresh")

        work.with_next_record(change)

    def _settle(self, work: RunningIntent) -> None:
        """Leaves no checkout half moved."""
        agent = endings.still_live(self._context, Uid(work.data["uid"]))
        git = repos.git(repos.by_id(self._context, agent.repo))
        merges.settle(git, shapes.convert(work.data["plan"], MergePlan), box=self._box(agent))

    def _box(self, agent: Agent) -> list[str]:
        return boxes.changing_prefix(self._context, agent) if agent.isolation == "box" else []


def _last_landed(connection: sa.Connection, *, agent: Agent) -> tuple[Change | None, Change | None]:
    """What landed last of an agent's branch, and what takes that back."""
    own = changes_rows.of_author(connection, agent.uid)
    if own is None:
        return None, None
    found = changes_rows.landed_of_branch(
        connection, agent.repo, branch=agent.branch or "", target=own.target
    )
    if not found:
        return None, None
    return found[-1], changes_rows.revert_of(connection, agent.repo, found[-1].id)


def _news(data: Mapping[str, Any]) -> str:
    commits = data["commits"]
    own = f"your {commits} commits are" if commits != 1 else "your commit is"
    if not commits:
        own = "all of yours has landed, so your branch is"
    what = "the newest proven commit" if data["proven"] else "of which nothing is proven yet"
    return (
        f"Windlass rebased {data['branch']} while you were at rest: {own} now upon"
        f" {data['onto'][:10]}, {what}. Read files again before you edit them."
        f" Before, your branch was at {data['was'][:10]}."
    )


def _moves(data: Mapping[str, Any]) -> bool:
    return data.get("plan") is not None


def _move(data: Mapping[str, Any]) -> BranchMove:
    plan = data.get("plan") or {}
    return BranchMove(data["branch"], plan.get("old"), plan.get("new"))


def _result(work: RunningIntent) -> RefreshReply:
    data = work.data
    is_done = data["outcome"] == "rebased"
    return {
        "id": data["id"],
        "outcome": data["outcome"],
        "why": data.get("why", ""),
        "branch": data["branch"],
        "was": data.get("was"),
        "onto": data.get("onto"),
        "tip": data["plan"]["new"] if is_done else data.get("was"),
        "commits": data.get("commits", 0),
        "kept": data.get("kept") if is_done else None,
    }
