"""The effect `landing.land`: the target moves to a proven tree, with the checkouts of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from windlass.core import shapes
from windlass.core.errors import ConfigError, Conflict
from windlass.core.ids import RepoId
from windlass.core.landing import holds
from windlass.core.landing import job as landing_job
from windlass.core.landing.changes import OPEN, Change, ChangeId
from windlass.core.landing.queue import Try
from windlass.core.printable import printable_line
from windlass.daemon.gate import gates
from windlass.daemon.gate.gates import Gate
from windlass.daemon.gate.proofs import Proofs
from windlass.daemon.kernel import repos, set_aside
from windlass.daemon.kernel.branch_moves import BranchMove
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.landing import guards, landed, messages, pushes, queues, tries
from windlass.daemon.landing.pull_requests import PullRequests
from windlass.daemon.landing.pushes import Pushes
from windlass.daemon.landing.tries import StackedGroup, stacked
from windlass.daemon.landing.views import author_of
from windlass.daemon.mail import notices
from windlass.git import (
    merges,
    remotes,
    repository,
    squashes,
    stacks,
    submodule_moves,
    workspace_state,
)
from windlass.git.index_lock import CheckoutBusy
from windlass.git.merges import MergePlan
from windlass.git.repository import Repository
from windlass.store import changes as rows
from windlass.store.store import Writing


class Landings:
    """Moves the target to proven trees."""

    def __init__(
        self, context: Context, proofs: Proofs, pushes: Pushes, requests: PullRequests
    ) -> None:
        self._context = context
        self._proofs = proofs
        self._pushes = pushes
        self._requests = requests

    def operation(self) -> Operation:
        """Look once more, then move the branch and its checkouts."""
        return Operation(
            landing_job.LAND,
            (
                Step("plan", self._plan),
                Step("keep", self._keep, needed=_is_squash),
                Step("apply", self._apply, self._settle, needed=_is_local),
                *self._pushes.steps(),
                *self._requests.steps(),
            ),
            lambda _: [],
            _outcome,
            moves=_move,
        )

    def _plan(self, work: RunningIntent) -> None:
        """Makes the commit again that was proven, and looks what is in its way.

        Only the proven tree lands: where the stack makes another one by now, nothing does.
        """
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        git = squashes.seen(repos.git(repo))
        tried = shapes.convert(work.data["tried"], Try)
        found: dict[str, Any] = {"plan": None, "in_the_way": {}, "marks": [], "waits": ""}
        if pushed := work.data.get("settles"):
            work.keep(**{**found, "plan": pushed})
            return
        work.read(partial(set_aside.refuse_move, repo=repo.id, branch=work.data["target"]))
        try:
            target = gates.target(self._context, repo, git, branch=work.data["target"])
        except gates.NoTarget:
            why = holds.halted(work.data["target"], "gone")
            work.keep(**found | {"in_the_way": dict.fromkeys(tried.group, why)})
            return
        found |= {"mode": target.mode, "remote": target.remote}
        ref = f"refs/heads/{work.data['target']}"
        if target.mode != "local":
            ref = remotes.upstream_ref(target.remote, work.data["target"])
        made = self._stacked(work, git, repository.require(git, ref), tried.group)
        if (made.stack.group, made.stack.tree) != (tried.group, tried.tree):
            work.keep(**found, moved=made.stack.tip != work.data.get("tip", made.stack.tip))
            return
        if not all(self._may_land(change, work.data["heads"]) for change in made.changes):
            work.keep(**found)
            return
        if why := gates.unsigned(self._context, repo):
            work.keep(**found | {"in_the_way": dict.fromkeys(tried.group, why)})
            return
        gate = gates.read(self._context, repo, branch=work.data["target"])
        if self._judge(gate, git, made) != tried.gate:
            work.keep(**found)
            return
        unproven = gates.unproven(gate)
        work.keep(verdict=unproven or landed.PASSED, method=gate.config.landing.method)
        if edits := guards.unknown_edits(gate, git, made.changes, made.stack):
            found |= {"marks": [guards.tell_edits(edits)], "edits": [*map(guards.kept, edits)]}
        elif not unproven and any(change.approval is None for change in made.changes):
            found["marks"] = self._proofs.marks(gate, tried.tree)
        if not found["marks"]:
            found |= self._way(work, git, made, is_local=target.mode == "local")
        self._context.store.write(partial(self._decide, work=work, group=tried.group, found=found))

    def _judge(self, gate: Gate, git: Repository, made: StackedGroup) -> str:
        """The gate that would judge it now; none where what it makes of the gate cannot be read."""
        try:
            return tries.judge(self._context, gate, git, made)
        except ConfigError:
            return ""

    def _decide(
        self, writing: Writing, *, work: RunningIntent, group: Sequence[str], found: dict[str, Any]
    ) -> None:
        """Records how the branch is to move, unless somebody has said otherwise by then.

        Who says so later hears that it is landing: see `queues.refuse_landing`.
        """
        repo = RepoId(work.intent.repo)
        changes = [rows.find(writing.connection, repo, ChangeId(name)) for name in group]
        is_wanted = all(
            change is not None and self._may_land(change, work.data["heads"]) for change in changes
        )
        if is_wanted:
            _say_waits(writing, work, found["waits"])
        work.keep_in(writing, **(found if is_wanted else {**found, "plan": None}))

    def _may_land(self, change: Change, heads: Mapping[str, str]) -> bool:
        """Whether nobody has said otherwise since it was tried."""
        is_same = change.head == heads[change.id] and change.state in OPEN
        return is_same and not change.waits_for_a_person

    def _stacked(
        self, work: RunningIntent, git: Repository, tip: str, names: Sequence[str]
    ) -> StackedGroup:
        return stacked(
            self._context, git, RepoId(work.intent.repo),
            tip=tip, names=names, heads=work.data["heads"], at=int(work.intent.created_at),
        )  # fmt: skip

    def _plan_of(self, work: RunningIntent, git: Repository, made: StackedGroup) -> MergePlan:
        target, stack = work.data["target"], made.stack
        authors = self._context.store.read(
            lambda connection: [author_of(connection, change) for change in made.changes]
        )
        is_squash = work.data["method"] == "squash"
        say = messages.of_squash if is_squash else messages.of_landing
        message = say(made.changes, authors, verdict=work.data["verdict"])
        author, time = made.author, int(work.intent.created_at)
        merge = stacks.landing_commit(git, stack, message=message, author=author, time=time)
        new = merge
        if is_squash:
            new = stacks.squashed(git, stack, message=message, author=author, time=time)
        return MergePlan(
            target_ref=f"refs/heads/{target}",
            old=stack.tip,
            new=new,
            tree=stack.tree,
            checkout=repository.checkouts(git).get(target),
            stands_for=merge if is_squash else "",
        )

    def _keep(self, work: RunningIntent) -> None:
        git = repos.git(repos.by_id(self._context, RepoId(work.intent.repo)))
        squashes.keep(git, shapes.convert(work.data["plan"], MergePlan))

    def _way(
        self, work: RunningIntent, git: Repository, made: StackedGroup, *, is_local: bool
    ) -> dict[str, Any]:
        """How the target is to move, or what a person's edits in its checkouts are in the way of.

        Those changes of them that land unattended leave such a checkout behind instead.
        """
        plan = self._plan_of(work, git, made)
        try:
            in_the_way = self._in_the_way(work, git, made, plan) if is_local else {}
        except CheckoutBusy as busy:
            return {"waits": _told(busy)}
        attended = {c.id for c in made.changes if not c.unattended}
        if held := {name: why for name, why in in_the_way.items() if name in attended}:
            return {"in_the_way": held}
        if in_the_way:
            plan = msgspec.structs.replace(plan, detaches=True)
            plan = msgspec.structs.replace(plan, left=tuple(merges.rehearse(git, plan)))
        elif is_local:
            plan = msgspec.structs.replace(plan, left=tuple(merges.away(git, plan)))
        return {"plan": msgspec.to_builtins(plan)}

    def _in_the_way(
        self, work: RunningIntent, git: Repository, made: StackedGroup, plan: MergePlan
    ) -> dict[str, str]:
        """Which changes cannot go along, each by itself; all of them where none is to blame."""
        whole = _refused(git, plan)
        if not whole:
            return {}
        found = {}
        for name in made.stack.group if len(made.changes) > 1 else ():
            alone = self._stacked(work, git, plan.old, [name])
            if why := _refused(git, self._plan_of(work, git, alone)):
                found[name] = why
        return found or dict.fromkeys(made.stack.group, whole)

    def _apply(self, work: RunningIntent) -> None:
        if work.data["plan"] is None:
            return
        git = repos.git(repos.by_id(self._context, RepoId(work.intent.repo)))
        plan = shapes.convert(work.data["plan"], MergePlan)
        behind: list[str] = []
        try:
            behind = merges.apply(git, plan)
        except Conflict as error:
            if not _has_landed(git, plan):
                # The branch, or a checkout of it, is not as it was: look again.
                waits = _told(error) if isinstance(error, CheckoutBusy) else ""
                if waits:
                    work.with_next_record(partial(_say_waits, work=work, why=waits))
                work.keep(plan=None, waits=waits, moved=not waits)
                return
        behind = _left_behind(git, plan, behind)
        stays = submodule_moves.stayed(git, plan.target_branch, old=plan.old, new=plan.new)
        repo, group = RepoId(work.intent.repo), work.data["tried"]["group"]

        def change(writing: Writing) -> None:
            for name in group:
                landed.record(writing, work, name, plan)
            if stays:
                pushes.say_stays(writing, repo, group, "; ".join(map(str, stays)))
            for place in behind:
                _say_left_behind(writing, repo, place, at=plan.old)

        work.with_next_record(change)
        landed.follow_green(git, work, plan)

    def _settle(self, work: RunningIntent) -> None:
        """Leaves no checkout half moved."""
        if work.data.get("plan") is not None:
            git = repos.git(repos.by_id(self._context, RepoId(work.intent.repo)))
            merges.settle(git, shapes.convert(work.data["plan"], MergePlan))


def _say_waits(writing: Writing, work: RunningIntent, why: str) -> None:
    """Says of what is proven why it does not land yet; nothing: it does."""
    heads = {name: work.data["heads"][name] for name in work.data["tried"]["group"]}
    queues.say(writing, RepoId(work.intent.repo), heads, why)


def _has_landed(git: Repository, plan: MergePlan) -> bool:
    """Whether the branch has the landing, also where somebody has committed on top of it since."""
    tip = repository.read_ref(git, plan.target_ref)
    return tip is not None and repository.is_ancestor(git, plan.new, tip)


def _left_behind(git: Repository, plan: MergePlan, found: Sequence[str]) -> list[str]:
    """The checkouts that are on no branch now, by this daemon's doing or one's that died."""
    attached = repository.places(git, plan.target_branch)
    return [place for place in dict.fromkeys((*plan.left, *found)) if place not in attached]


def _move(data: Mapping[str, Any]) -> BranchMove:
    plan = data.get("plan") or {}
    return BranchMove(data["target"], plan.get("old"), plan.get("new"))


def _is_squash(data: Mapping[str, Any]) -> bool:
    plan = data.get("plan") or {}
    return bool(plan.get("stands_for"))


def _is_local(data: Mapping[str, Any]) -> bool:
    return bool(data.get("mode", "local") == "local")


def _outcome(work: RunningIntent) -> dict[str, Any]:
    data, group = work.data, work.data["tried"]["group"]
    outcome = data.get("outcome", "landed" if data["plan"] is not None else "")
    in_the_way = data["in_the_way"]
    if outcome == "refused":
        in_the_way = dict.fromkeys(group, data["refused"])
    return {
        "landed": outcome == "landed",
        "group": group,
        "in_the_way": in_the_way,
        "waits": data.get("waits", ""),
        "moved": data.get("moved", outcome == "moved"),
        "marks": data["marks"],
        "edits": data.get("edits", []),
        "authors": work.read(partial(landed.authors, work=work, group=group)),
        "requested": outcome == "requested",
        "unsettled": pushes.unsettled(work),
    }


def _refused(git: Repository, plan: MergePlan) -> str:
    """Why a checkout could not follow; a git that is at work in it is no reason, and raised."""
    try:
        merges.rehearse(git, plan)
    except CheckoutBusy:
        raise
    except Conflict as error:
        return _told(error)
    return ""


def _say_left_behind(writing: Writing, repo: RepoId, place: str, *, at: str) -> None:
    text = f"{printable_line(place)} is left behind, detached at {at[:10]}"
    is_there = workspace_state.is_folder(place)
    why = "what you have there was in the way" if is_there else "it was not there to go along"
    notices.post(writing, repo, "windlass", "waiting", f"{text}: {why}", by_hand=True)


def _told(error: Conflict) -> str:
    return printable_line(f"{error.message}; {error.hint}" if error.hint else error.message)
