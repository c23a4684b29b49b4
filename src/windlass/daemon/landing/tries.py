"""The effect `landing.try`: a group of changes is made one tree on the target's tip, and gated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from windlass.core.board import FILE
from windlass.core.errors import ConfigError, GitError
from windlass.core.gate.spec import digest
from windlass.core.ids import RepoId
from windlass.core.landing import holds
from windlass.core.landing import job as landing_job
from windlass.core.landing.changes import OPEN, Change, ChangeId
from windlass.core.landing.queue import Stopped, Try
from windlass.core.printable import printable_line
from windlass.daemon.gate import gates
from windlass.daemon.gate.gates import Gate
from windlass.daemon.gate.proofs import Proofs
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import Operation, Step
from windlass.daemon.kernel.project_file import PROJECT_FILE
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.landing import gate_changes, messages, moves, pins, queues
from windlass.daemon.landing.gate_changes import GateChange
from windlass.daemon.landing.upstreams import Look, Upstreams
from windlass.daemon.landing.views import author_of
from windlass.git import gate_trees, repository, squashes, stacks
from windlass.git.repository import Repository
from windlass.git.stacks import Layer, Stack
from windlass.project import folder
from windlass.store import changes as rows
from windlass.store.rows import Repo
from windlass.store.store import Writing

_OUTRUN = "{} moved {} times while this was in the gate, and each time it is proven anew"
_OFTEN = 2
"""How often that happens before it is said: once is nothing special."""
BOARD_FILE = f"{folder.NAME}/{FILE}"
"""What agents change of it stays out: the board is the person's, and is marked by itself."""


class Tries:
    """Makes the trees of groups, and has the gate judge them."""

    def __init__(self, context: Context, proofs: Proofs, upstreams: Upstreams) -> None:
        self._context = context
        self._proofs = proofs
        self._upstreams = upstreams

    def operation(self) -> Operation:
        """One step, which may be done again: the same tree is gated once."""
        step = Step("try", self._try)
        return Operation(landing_job.TRY, (step,), lambda _: [], lambda work: work.data["came"])

    def _try(self, work: RunningIntent) -> None:
        try:
            self._try_all(work)
        except gates.NoTarget:
            work.keep(came={"held": holds.halted(work.data["target"], "gone")})

    def _try_all(self, work: RunningIntent) -> None:
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        heads = work.data["heads"]
        look = self._upstreams.refresh(repo, work.data["target"])
        if look.unreachable or look.held:
            work.keep(came=self._not_now(work, look))
            return
        self._upstreams.forget_unreachable(repo.id, heads)
        try:
            came = self._tried(work, repo)
        except GitError as error:
            came = {"waits": stacks.told(error)}
        if why := came.get("waits"):
            self._say(repo.id, heads, _unmade(why))
        work.keep(came=came)

    def _tried(self, work: RunningIntent, repo: Repo) -> dict[str, Any]:
        """Makes the trees that were asked for and has them judged, or says what that waits for."""
        heads, time = work.data["heads"], int(work.intent.created_at)
        gate = gates.landing(gates.read(self._context, repo, branch=work.data["target"]))
        if why := gates.unsigned(self._context, repo) or gate_changes.unaccepted(gate):
            return self._not_now(work, Look(held=why))
        git = squashes.seen(repos.git(repo))
        pins.refresh(self._context, repo.id, git)
        tip = gate.target.tip
        tries: list[Try] = []
        stopped: list[Stopped] = []
        deferred: list[str] = []
        unmade: dict[str, str] = {}
        for asked in work.data["groups"]:
            group, gone = self._present(repo.id, asked, heads)
            stopped += gone
            made = stacked(self._context, git, repo.id, tip=tip, names=group, heads=heads, at=time)
            stack = made.stack
            stopped += _not_tried(stack, heads)
            deferred += [*stack.deferred, *stack.unmade]
            unmade |= stack.unmade
            if not stack.group and asked:
                continue
            steering = _steering(git, made)
            try:
                tries.append(self._judged(gate, git, made, is_steered=bool(steering)))
            except ConfigError as error:
                if not steering:
                    raise
                stopped += _refused(steering, heads, error)
                continue
            self._mark_gating(repo.id, stack.group, work)
        if unmade and not tries and not stopped:
            return {"waits": next(iter(unmade.values()))}
        for name, why in unmade.items():
            self._say(repo.id, {name: heads[name]}, _unmade(why))
        came = {"tip": tip, "tries": tries, "stopped": stopped, "deferred": deferred}
        return dict(msgspec.to_builtins(came))

    def _present(
        self, repo: RepoId, names: Sequence[str], heads: Mapping[str, str]
    ) -> tuple[list[str], list[Stopped]]:
        """Those of a group that wait with these heads; the queue hears of others that left."""
        found = self._context.store.read(partial(rows.open_ones, repo=repo))
        waiting = {change.id for change in found if change.head == heads.get(change.id)}
        gone = [Stopped(change=n, head=heads[n], state="held") for n in names if n not in waiting]
        return [name for name in names if name in waiting], gone

    def _judged(self, gate: Gate, git: Repository, made: StackedGroup, *, is_steered: bool) -> Try:
        """Has a tree judged by the gate, and by its own where it makes another one of it."""
        tree = made.stack.tree
        prove = partial(
            self._proofs.prove,
            tree=tree,
            authors=[change.author for change in made.changes if change.author is not None],
            approved=bool(made.changes) and all(c.approval is not None for c in made.changes),
        )
        steered = gate_changes.find(self._context, gate, git, tree) if is_steered else None
        outcome, job = prove(gate)
        by_old = steered is not None and outcome is None
        if steered is not None and outcome == "passed":
            outcome, job = prove(steered.gate)
        return Try(
            group=made.stack.group,
            tree=tree,
            job=job,
            outcome=outcome,
            by_old_gate=by_old,
            gate=_named(gate, steered),
        )

    def _not_now(self, work: RunningIntent, look: Look) -> dict[str, Any]:
        """What comes of a try that the upstream, or the gate there, does not let begin."""
        if look.unreachable:
            is_first = not work.data.get("misses")
            self._upstreams.say_unreachable(
                RepoId(work.intent.repo), look.unreachable, work.data["heads"], is_first=is_first
            )
        return {"is_unreachable": bool(look.unreachable), "held": look.held}

    def _say(self, repo: RepoId, heads: Mapping[str, str], why: str) -> None:
        self._context.store.write(partial(queues.say, repo=repo, heads=heads, why=why))

    def _mark_gating(self, repo: RepoId, names: Sequence[str], work: RunningIntent) -> None:
        """Says of changes that they are in the gate, and how often the target was faster."""
        heads, moved = work.data["heads"], work.data.get("moved", {})
        target = printable_line(work.data["target"])

        def change(writing: Writing) -> None:
            for name in names:
                found = rows.find(writing.connection, repo, ChangeId(name))
                if found is None or found.state not in OPEN or found.head != heads[name]:
                    continue
                times = moved.get(name, 0)
                why = _OUTRUN.format(target, times) if times >= _OFTEN else ""
                if moves.hears(found, "merge.start"):
                    moves.move(writing, found, "merge.start", why=why)
                elif found.why != why:
                    rows.note(writing, found, why=why)

        self._context.store.write(change)


def _unmade(why: str) -> str:
    """What is said of changes that git could not merge, of which nobody knows whether they do."""
    return f"it could not be merged, and is tried again: {printable_line(' '.join(why.split()))}"


def judge(context: Context, gate: Gate, git: Repository, made: StackedGroup) -> str:
    """The gate that judges a group, in short: the target's, and what the group makes of that."""
    steered = None
    if _steering(git, made):
        steered = gate_changes.find(context, gate, git, made.stack.tree)
    return _named(gate, steered)


def _named(gate: Gate, steered: GateChange | None) -> str:
    specs = [gate.spec, *([steered.gate.spec] if steered is not None else [])]
    return digest(specs)


class StackedGroup(NamedTuple):
    """What a group of changes makes of a tip, with the changes as they are known."""

    stack: Stack
    changes: tuple[Change, ...]
    """Those that are in it."""
    author: tuple[str, str]


def stacked(
    context: Context,
    git: Repository,
    repo: RepoId,
    *,
    tip: str,
    names: Sequence[str],
    heads: Mapping[str, str],
    at: int,
) -> StackedGroup:
    """Puts changes on a tip, each as one merge that says what it is."""
    known = context.store.read(partial(_known, repo=repo, names=names))
    again = context.store.read(partial(_taken_back, changes=[known[n][0] for n in names]))
    layers = [
        Layer(
            name,
            heads[name],
            messages.of_change(*known[name]),
            without=() if known[name][0].author is None else (BOARD_FILE,),
            since=_since(git, heads[name], again[name]),
        )
        for name in names
    ]
    author = repository.identity(git) or repository.NOBODY
    stack = stacks.build(git, tip, layers, author=author, time=at)
    return StackedGroup(stack, tuple(known[name][0] for name in stack.group), author)


def _known(
    connection: sa.Connection, repo: RepoId, names: Sequence[str]
) -> dict[str, tuple[Change, str | None]]:
    found = {name: rows.find(connection, repo, ChangeId(name)) for name in names}
    return {
        name: (change, author_of(connection, change))
        for name, change in found.items()
        if change is not None
    }


def _taken_back(
    connection: sa.Connection, changes: Sequence[Change]
) -> dict[str, list[tuple[Change, Change]]]:
    """What landed before of the branch of each change and was taken back, with what took it."""
    return {change.id: _reverted(connection, change) for change in changes}


def _reverted(connection: sa.Connection, change: Change) -> list[tuple[Change, Change]]:
    landed = rows.landed_of_branch(
        connection, change.repo, branch=change.branch, target=change.target
    )
    found: list[tuple[Change, Change]] = []
    for before in landed:
        revert = rows.revert_of(connection, change.repo, before.id)
        if revert is not None and revert.state == "landed":
            found.append((before, revert))
        else:
            found.clear()  # it came back with this one
    return found


def since(context: Context, git: Repository, change: Change) -> str:
    """The commit from which a change begins whose branch landed before and was taken back."""
    again = context.store.read(partial(_taken_back, changes=[change]))
    return _since(git, change.head, again[change.id])


def _since(git: Repository, head: str, reverted: Sequence[tuple[Change, Change]]) -> str:
    """The commit that a change is to be compared with so that all of it lands once more."""
    for before, revert in reverted:
        knows_of_it = repository.is_ancestor(git, revert.head, head)
        if knows_of_it or before.was is None or not repository.is_ancestor(git, before.head, head):
            continue
        return next(iter(repository.merge_bases(git, before.head, before.was)), "")
    return ""


def _steering(git: Repository, made: StackedGroup) -> list[Change]:
    """Those of a group that edit, merged, what the gate is read from."""
    found, below = [], gate_trees.tree_of(git, made.stack.tip)
    for change, tree in zip(made.changes, made.stack.trees, strict=True):
        before, after = (gate_trees.blobs(git, of, (PROJECT_FILE,)) for of in (below, tree))
        if before != after:
            found.append(change)
        below = tree
    return found


def _refused(
    changes: Sequence[Change], heads: Mapping[str, str], error: ConfigError
) -> list[Stopped]:
    """Sends changes back that would leave the target without a gate that can be read."""
    why = printable_line(f"merged, its gate is none: {error.message}")
    return [Stopped(change=c.id, head=heads[c.id], state="rejected", why=why) for c in changes]


def _not_tried(stack: Stack, heads: Mapping[str, str]) -> list[Stopped]:
    conflicts = [
        Stopped(change=name, head=heads[name], state="conflict", paths=tuple(paths))
        for name, paths in stack.conflicts.items()
    ]
    nothing = [
        Stopped(change=name, head=heads[name], state="nothing-to-land") for name in stack.nothing
    ]
    refused = [
        Stopped(change=name, head=heads[name], state="conflict", why=printable_line(why))
        for name, why in stack.refused.items()
    ]
    return [*conflicts, *nothing, *refused]
