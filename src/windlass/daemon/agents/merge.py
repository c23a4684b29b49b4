"""A merge by hand: an agent's branch into another, and the agent's ending with it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from windlass import disk_room
from windlass.api.verbs import Caller
from windlass.api.wire.agents import MergeCheckReply, MergeReply, MergeRequest
from windlass.core import ids, shapes
from windlass.core.config import Config
from windlass.core.crew import Agent
from windlass.core.errors import (
    Conflict,
    Denied,
    Internal,
    NotFound,
    Unavailable,
    WindlassError,
)
from windlass.core.events import AgentMerged
from windlass.core.ids import RepoId, Uid
from windlass.core.printable import few, printable_line
from windlass.daemon.agents import ending_settings, endings, merge_refusals
from windlass.daemon.agents.ending_settings import EndingSettings
from windlass.daemon.agents.endings import Endings
from windlass.daemon.agents.merge_targets import MergeTargets, branch_of
from windlass.daemon.gate import gates
from windlass.daemon.kernel import intent_errors, lookup, repos, set_aside, settings
from windlass.daemon.kernel.branch_moves import BranchMove
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import PATIENCE
from windlass.daemon.kernel.keyed_locks import StillHeld
from windlass.daemon.kernel.lookup import Scope
from windlass.daemon.kernel.operations import Effect, IntentDraft, Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.launch import boxes, setup_files
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.git import merges, repository, squashes
from windlass.git.merges import MergePlan
from windlass.git.repository import Repository
from windlass.git.status import WorkStatus
from windlass.store import rows
from windlass.store.store import Writing

log = logging.getLogger(__name__)
UNPROVEN = "unproven: no gate"
UNGATED = "ungated: by the person"


class Merges:
    """The operation `merge`, the request that begins it, and the check that precedes it."""

    def __init__(
        self,
        context: Context,
        fetcher: CommitFetcher,
        ending: Endings,
        prove: Callable[[RepoId], None] = lambda _: None,
    ) -> None:
        self._context = context
        self._targets = MergeTargets(context)
        self._fetcher = fetcher
        self._ending = ending
        self._prove_target = prove

    def operation(self) -> Operation:
        """Check, stop, make the merge, move the branch, end the agent."""
        stop, *rest = self._ending.steps()
        return Operation(
            kind="merge",
            steps=(
                Step("check", self._check),
                stop,
                Step("plan", self._plan),
                Step("apply", self._apply, self._settle),
                *(step._replace(do=_after_landing(step.do)) for step in rest),
            ),
            locks=endings.uids_of,
            touches=_owner,
            result=self._result,
            stops=endings.uids_of,
            moves=_move,
            unsaid=endings.UNSAID,
        )

    def begin(self, caller: Caller, request: MergeRequest) -> IntentDraft:
        """Finds what is to be merged into what, and refuses what cannot be."""
        context = self._context
        scope = lookup.scope(context, caller, request)
        agent = lookup.agent(context, scope, request.get("agent"))
        ids.require_long(request.get("agent") or agent.id, agent.id)
        live = lookup.live(context, scope)
        if scope.caller is not None and scope.caller.uid == agent.uid:
            raise Denied(f"{agent.id} cannot merge itself", "its manager or the person merges it")
        lookup.require_reachable(scope, agent, live, doing="merge")
        merge_refusals.refuse_inside(agent, request.get("cwd", ""))
        into = self._targets.find(scope, agent, request.get("into"), request.get("cwd", ""))
        owner = self._owner_of(agent.repo, into)
        if owner is not None:
            lookup.refuse_ending(context, owner)
        config = self._config(agent)
        verdict = self._verdict(scope, agent, into, ungated=request.get("ungated", False))
        expect = request.get("expect")
        by = scope.caller.id if scope.caller else "the person"
        configured = {agent.repo: EndingSettings.of(config)}

        def prepare(writing: Writing) -> dict[str, Any]:
            data = endings.record([agent], configured, how="merge", by=by, now=writing.now)
            own = scope.caller is not None and into != scope.caller.branch
            leaves = scope.caller is not None and _leaves_box(agent, scope.caller, owner)
            return {
                **data,
                "into": into,
                "owner": owner.uid if owner is not None else None,
                "expect": expect,
                "verdict": verdict,
                "time": int(writing.now),
                "agents_own": own,
                "leaves_box": leaves,
                "protected": config.protected,
            }

        return IntentDraft(agent.repo, scope.caller_uid, prepare)

    def _verdict(self, scope: Scope, agent: Agent, into: str, *, ungated: bool) -> str:
        """How the merge is known to be good; refuses what has to go through the gate."""
        gate = gates.read(self._context, repos.by_id(self._context, agent.repo))
        if gate.target.branch != into:
            return UNPROVEN
        gates.require_unsigned(self._context, gate.repo)
        if ungated and scope.caller is None:
            return UNGATED
        if not gates.guards(gate, into):
            return gates.unproven(gates.landing(gate))
        if scope.caller is not None:
            raise Denied(
                f"{printable_line(into)} moves to proven trees alone",
                f"wl submit {agent.id} has it proven and landed",
            )
        raise Conflict(
            f"{printable_line(into)} moves to proven trees alone",
            f"wl merge {agent.id} has it proven first; with --ungated it is merged as it is",
        )

    def preview(self, caller: Caller, request: MergeRequest) -> MergeCheckReply:
        """Says whether a merge would go through, and what stands against it; changes nothing."""
        scope = lookup.scope(self._context, caller, request)
        agent = lookup.agent(self._context, scope, request.get("agent"))
        self._refuse_branch(agent, request)
        lookup.require_reachable(scope, agent, lookup.live(self._context, scope), doing="look into")
        into = self._targets.find(scope, agent, request.get("into"), request.get("cwd", ""))
        repo = repos.by_id(self._context, agent.repo)
        git = repos.git(repo)
        patterns = self._config(agent).protected
        self._fetch_both(agent, into)
        source, target = (f"refs/heads/{branch}" for branch in (branch_of(agent), into))
        outcome = merges.check(squashes.seen(git), source=source, target=target)
        problems = []
        try:
            self._context.store.read(lambda c: set_aside.refuse_move(c, agent.repo, into))
            with self._holding_owner(agent, into):
                self._refuse(git, agent, into)
                plan = _prepare(git, agent, into=into, time=0)
                merge_refusals.refuse_another(agent, plan, request.get("expect"))
                self._rehearse(git, plan, agent, into)
        except Conflict as error:
            problems.append(error.message)
        reply: MergeCheckReply = {
            "agent": agent.id,
            "into": into,
            "gated": gates.guards(gates.read(self._context, repo), into),
            "tip": outcome.tip,
            "uncommitted": merge_refusals.uncommitted(self._status(agent)),
            "problems": problems,
            "protected": merge_refusals.protected_paths(git, outcome.tip, into, patterns),
            "clean": outcome.clean,
            "conflicts": outcome.conflicts,
            "ahead": outcome.ahead,
            "behind": outcome.behind,
            "files": outcome.files,
        }
        if lost := merge_refusals.submodules_apart(git, outcome.tip, target):
            reply["submodules"] = lost
        return reply

    def _refuse_branch(self, agent: Agent, request: MergeRequest) -> None:
        """Takes no branch's name for the beginning of an agent's: `wl merge b` means branch b."""
        wanted, git = request.get("agent"), repos.git(repos.by_id(self._context, agent.repo))
        if wanted not in (None, "self", agent.id) and repository.branch_exists(git, wanted):
            raise NotFound(f"{printable_line(wanted)} is a branch, and no agent", lookup.HINT)

    def _check(self, work: RunningIntent) -> None:
        agent, git = self._agent(work)
        self._made(work, agent, git)

    def _plan(self, work: RunningIntent) -> None:
        if "plan" in work.data:
            return
        agent, git = self._agent(work)
        try:
            plan = self._made(work, agent, git)
        except Conflict as error:
            hint = f"{agent.id} is stopped now: {error.hint}, or wl resume {agent.id}"
            raise Conflict(error.message, hint) from error
        work.keep(plan=msgspec.to_builtins(plan))

    def _made(self, work: RunningIntent, agent: Agent, git: Repository) -> MergePlan:
        """Makes the merge of what is at home now, and refuses what may not be merged."""
        into = work.data["into"]
        self._fetch_both(agent, into)
        self._refuse(git, agent, into)
        verdict = work.data.get("verdict", UNPROVEN)
        plan = _prepare(git, agent, into=into, time=work.data["time"], verdict=verdict)
        merge_refusals.refuse_another(agent, plan, work.data.get("expect"))
        self._rehearse(git, plan, agent, into)
        self._refuse_protected(git, plan, agent, work)
        return plan

    def _apply(self, work: RunningIntent) -> None:
        agent, git = self._agent(work)
        plan = shapes.convert(work.data["plan"], MergePlan)
        marked = merge_refusals.marked(git, plan.old, plan.new, self._patterns(work, agent))
        merges.apply(git, plan, box=self._box(agent.repo, work.data["into"]))
        if work.data.get("verdict") == UNGATED:
            self._prove_target(agent.repo)

        def change(writing: Writing) -> None:
            merged = AgentMerged(
                id=agent.id,
                into=work.data["into"],
                commit=plan.new,
                was=plan.old,
                verdict=work.data.get("verdict", UNPROVEN),
                protected=marked,
            )
            writing.emit(merged, repo=agent.repo, agent=agent.uid)

        work.with_next_record(change)

    def _settle(self, work: RunningIntent) -> None:
        """Leaves no checkout half moved; the branch stays where it is, as history does."""
        if "plan" not in work.data:
            return
        git = repos.git(repos.by_id(self._context, work.intent.repo))
        plan = shapes.convert(work.data["plan"], MergePlan)
        merges.settle(git, plan, box=self._box(work.intent.repo, work.data["into"]))

    def _fetch_both(self, agent: Agent, into: str) -> None:
        """Fetches what both sides committed in boxes into the repository."""
        self._fetcher.fetch(agent)
        if (target := self._boxed_on(agent.repo, into)) is not None:
            self._fetcher.fetch(target)

    def _rehearse(self, git: Repository, plan: MergePlan, agent: Agent, into: str) -> None:
        merges.rehearse(git, plan, box=self._box(agent.repo, into))

    def _box(self, repo: RepoId, into: str) -> list[str]:
        """What moves the checkout of the target, if that is a clone."""
        target = self._boxed_on(repo, into)
        return boxes.changing_prefix(self._context, target) if target is not None else []

    def _boxed_on(self, repo: RepoId, branch: str) -> Agent | None:
        owner = self._owner_of(repo, branch)
        return owner if owner is not None and owner.isolation == "box" else None

    def _owner_of(self, repo: RepoId, branch: str) -> Agent | None:
        """The live agent whose own branch that is."""
        live = self._context.store.read(lambda c: rows.agents(c, repo=repo))
        return next((agent for agent in live if agent.branch == branch), None)

    @contextlib.contextmanager
    def _holding_owner(self, agent: Agent, branch: str) -> Iterator[None]:
        """Has nothing else be done meanwhile with the agent whose checkout would follow."""
        owner = self._owner_of(agent.repo, branch)
        if owner is None:
            yield
            return
        lookup.refuse_ending(self._context, owner)
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(
                    self._context.locks.holding(
                        [owner.uid],
                        holder=lambda: f"a check of {agent.id}'s merge",
                        within=PATIENCE,
                    )
                )
            except StillHeld as busy:
                raise intent_errors.busy(owner.id, PATIENCE, holder=busy.holder) from None
            yield

    def _config(self, agent: Agent) -> Config:
        """The configuration before the merge, which is refused where that is wrong."""
        root = repos.by_id(self._context, agent.repo).root
        return settings.load(self._context.folders.home, root)

    def _patterns(self, work: RunningIntent, agent: Agent) -> list[str]:
        """What was protected when the merge began; older releases did not keep it."""
        if "protected" in work.data:
            return list(work.data["protected"])
        root = repos.by_id(self._context, agent.repo).root
        return settings.usable(self._context.folders.home, root).config.protected

    def _refuse_protected(
        self, git: Repository, plan: MergePlan, agent: Agent, work: RunningIntent
    ) -> None:
        """Refuses an agent what only a person lets in, by what would really change."""
        patterns = self._patterns(work, agent)
        leaves = work.data.get("leaves_box")
        if not (work.data.get("agents_own") or leaves):
            return
        if marked := merge_refusals.marked(git, plan.old, plan.new, patterns):
            lets = "lets out of a box" if leaves else "lets in"
            raise Denied(
                f"{agent.id} edits protected paths, which only a person {lets}: {few(marked)}",
                f"ask the person: wl merge {agent.id} --into {work.data['into']}",
            )

    def _result(self, work: RunningIntent) -> MergeReply:
        plan = work.data["plan"]
        repo = repos.by_id(self._context, work.intent.repo)
        after = settings.usable(self._context.folders.home, repo.root)
        return {
            **self._ending.result(work),
            "notes": ending_settings.passed_over(after),
            "into": work.data["into"],
            "tip": plan.get("tip", ""),
            "commit": plan["new"],
            "was": plan["old"],
            "verdict": work.data.get("verdict", UNPROVEN),
        }

    def _refuse(self, git: Repository, agent: Agent, into: str) -> None:
        merge_refusals.refuse_left_work(git, agent, work=self._status(agent))
        if (place := repository.checkouts(git).get(into)) is not None:
            target, box = self._boxed_on(agent.repo, into), self._box(agent.repo, into)
            read = boxes.reading(self._context, target) if target is not None else None
            merges.refuse_dirty(git, place, box=box, read=read)

    def _status(self, agent: Agent) -> WorkStatus:
        return setup_files.work_status(self._context, agent)

    def _agent(self, work: RunningIntent) -> tuple[Agent, Repository]:
        agent = endings.still_live(self._context, Uid(next(iter(work.data["agents"]))))
        return agent, repos.git(repos.by_id(self._context, agent.repo))


def _leaves_box(agent: Agent, caller: Agent, owner: Agent | None) -> bool:
    """Whether a merge takes what was written in a box to where somebody works without one.

    What is there tells agent CLIs, editors and shells what to run: as the person.
    """
    boxed = agent.isolation == "box"
    return boxed and (caller.isolation != "box" or owner is None or owner.isolation != "box")


def _owner(data: Mapping[str, Any]) -> list[Uid]:
    """The agent that works on the branch that is merged into; older releases kept none."""
    owner = data.get("owner")
    return [Uid(owner)] if owner is not None else []


def _move(data: Mapping[str, Any]) -> BranchMove:
    """The branch that is merged into."""
    plan = data.get("plan", {})
    return BranchMove(data["into"], plan.get("old"), plan.get("new"))


def _after_landing(effect: Effect) -> Effect:
    """Does something that comes after the merge; whoever hears that it failed hears of both."""

    def do(work: RunningIntent) -> None:
        try:
            effect(work)
        except Exception as error:
            (name,) = work.data["agents"].values()
            landed = f"{work.data['plan']['new'][:10]} is merged into {work.data['into']}"
            failure = _told(error)
            left = f"what is left to do is wl kill {name}"
            raise intent_errors.reworded(
                failure,
                f"{landed}, but {name} could not be ended: {failure.message}",
                f"{failure.hint}; {left}" if failure.hint else left,
            ) from error

    return do


def _told(error: Exception) -> WindlassError:
    """What to tell of an error; of one that nobody expected, the log has more."""
    if isinstance(error, WindlassError):
        return error
    log.error("what follows a merge failed", exc_info=error)
    if disk_room.is_lacking(error):
        return Unavailable(str(error), disk_room.HINT)
    return Internal(f"{type(error).__name__}: {error}", "`wl daemon logs` has the details")


def _prepare(
    git: Repository, agent: Agent, *, into: str, time: int, verdict: str = UNPROVEN
) -> MergePlan:
    subject = agent.goal.strip().splitlines()[0]
    message = (
        f"Merge agent {agent.id}: {subject[:60]}\n\n{agent.goal}\n\n"
        f"Windlass-Agent: {agent.id}\nWindlass-Verdict: {verdict}\n"
    )
    return merges.prepare(
        squashes.seen(git),
        source=f"refs/heads/{branch_of(agent)}",
        target_branch=into,
        message=message,
        author=repository.identity(git) or ("windlass", "windlass@windlass.invalid"),
        time=time,
    )
