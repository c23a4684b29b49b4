"""Proofs: a commit is put through the gate, as a job, and what came of it is told.

What is known already is not run again: a verdict belongs to a tree, not to a commit or to a time.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import msgspec

from windlass.api.verbs import Caller
from windlass.api.wire.gate import (
    CheckView,
    GateRequest,
    GateRunReply,
    GateRunRequest,
    GateView,
    GateWaitRequest,
)
from windlass.core import shapes
from windlass.core.errors import GitError, Internal, NotFound
from windlass.core.events import JobDone, JobSetAside
from windlass.core.gate import job as gate_job
from windlass.core.gate import marks
from windlass.core.gate import verdicts as outcomes
from windlass.core.gate.job import CheckEnd, GateState
from windlass.core.gate.marks import Edit
from windlass.core.gate.spec import Check, GateSpec
from windlass.core.gate.verdicts import Outcome, Verdict
from windlass.core.ids import RepoId
from windlass.core.jobs import Job, JobId, effect_key, owner
from windlass.core.printable import printable_line
from windlass.daemon.gate import gates, green, layers, setup_reach
from windlass.daemon.gate.checks import CheckOrder, Checks
from windlass.daemon.gate.end_notices import EndNotices, Tell
from windlass.daemon.gate.gates import Gate
from windlass.daemon.gate.versions import KnownVersions
from windlass.daemon.jobs.ledger import Jobs
from windlass.daemon.kernel import lookup, repos, waits
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.git import gate_trees
from windlass.git.repository import Repository
from windlass.store import jobs as job_rows
from windlass.store import verdicts
from windlass.store.store import Writing

_MOST_EDITS = 200
_LARGEST_EDIT = 1 << 18


class Proofs:
    """Proves commits: begins runs, does what they need, and tells how they ended."""

    def __init__(
        self, context: Context, jobs: Jobs, checks: Checks, *, tell: Tell = lambda *_, **__: None
    ) -> None:
        self._context = context
        self._jobs = jobs
        self._checks = checks
        self._ends = EndNotices(tell)
        self.versions = KnownVersions(context)

    def operations(self) -> tuple[Operation, ...]:
        """What the effects of a run are."""
        return (
            Operation(gate_job.LAYER, (Step("make", self._make_layer),), _nobody, _kept("layer")),
            Operation(gate_job.CHECK, (Step("run", self._run_check),), _nobody, _kept("end")),
            Operation(gate_job.STOP, (Step("stop", self._stop),), _nobody, lambda _: {}),
            Operation(gate_job.TELL, (Step("tell", self._tell),), _nobody, lambda _: {}),
        )

    def view(self, caller: Caller, request: GateRequest) -> GateView:
        """Shows the gate, and the verdict of the target's tip as far as it is known."""
        gate = gates.require(self._gate(caller, request))
        orders = self._orders(gate, gate.target.tree, gate.spec.checks)
        known = [self._context.store.read(partial(verdicts.newest, key=o.key)) for o in orders]
        views = [_check_view(o.check, v, cached=True) for o, v in zip(orders, known, strict=True)]
        last = self._last(gate)
        for view in views:
            _take_end(view, last)
        found = [view["outcome"] for view in views if view["outcome"] is not None]
        return {
            "target": gate.target.branch,
            "tip": gate.target.tip,
            "tree": gate.target.tree,
            "box": gate.level,
            "setup": gate.spec.setup,
            "outcome": outcomes.worst(found) if len(found) == len(views) else None,
            "checks": views,
            "waiting": [line.key for line in gate.waiting if line.key.startswith("gate.")],
            "job": self._under_way(gate.repo.id, gate.target.tree),
        }

    def run(self, caller: Caller, request: GateRunRequest) -> GateRunReply:
        """Begins a run, joins one that is under way, or tells what is known."""
        gate = gates.require(self._gate(caller, request))
        tree = self._tree(gate, request.get("rev"))
        wanted = _wanted(gate.spec, request.get("check"))
        orders = self._orders(gate, tree, wanted)
        known: dict[str, Verdict] = {}
        for order in orders if not request.get("fresh", False) else ():
            green = self._context.store.read(partial(verdicts.green, key=order.key))
            if green is not None:
                known[order.check.name] = green
        todo = tuple(o.check.name for o in orders if o.check.name not in known)
        views = [
            _check_view(o.check, known.get(o.check.name), cached=True)
            for o in orders
        ]  # fmt: skip
        reply: GateRunReply = {
            "tree": tree,
            "layer": orders[0].layer,
            "box": gate.level,
            "outcome": None if todo else "passed",
            "cached": not todo,
            "marks": [],
            "checks": views,
            "job": None,
            "doing": [],
            "network": gate.spec.network,
            "tried": [],
        }
        if not todo:
            reply["marks"] = self._marks(gate, tree, known)
        else:
            job = self._begin(
                orders[0],
                todo,
                fresh=bool(request.get("fresh", False)),
                approved=bool(request.get("setup_network", False)),
            )
            reply["job"] = job.id
        return reply

    def begin(self, gate: Gate, tree: str, *, network_tree: str = "") -> JobId:
        """Begins to prove a tree by a gate that need not be the target's yet.

        With a tree to try with the network, if this one is not green without it.
        """
        order = self._orders(gate, tree, gate.spec.checks)[0]
        todo = tuple(check.name for check in gate.spec.checks)
        return self._begin(order, todo, fresh=False, network_tree=network_tree).id

    def prove_target(self, repo: RepoId) -> None:
        """Begins to prove what is on the target now, where nobody knows yet how that is."""
        gate = gates.find(self._context, repos.by_id(self._context, repo))
        if gate is not None and self._orders_and_unproven(gate, gate.target.tree)[1]:
            self.begin(gate, gate.target.tree)

    def is_green(self, gate: Gate, tree: str) -> bool:
        """Whether every check is known to be green for a tree."""
        return bool(gate.spec.checks) and not self._orders_and_unproven(gate, tree)[1]

    def told(self, job: JobId) -> GateRunReply:
        """How a run stands."""
        return self._ended(self._find(job))

    def prove(
        self, gate: Gate, tree: str, *, authors: Iterable[str] = (), approved: bool = False
    ) -> tuple[Outcome | None, str]:
        """Gives the outcome of a tree if it is known to be green; else the run that will tell.

        `authors` are the agents whose work is in it, `approved` says that a person lets it all in.
        """
        orders, todo = self._orders_and_unproven(gate, tree)
        if not todo:
            return "passed", ""
        job = self._begin(
            orders[0], todo, fresh=False, approved=approved, authors=tuple(authors), tells=False
        )
        return None, job.id

    def _orders_and_unproven(
        self, gate: Gate, tree: str
    ) -> tuple[list[CheckOrder], tuple[str, ...]]:
        """The checks of a tree, and those that are not known to be green."""
        orders = self._orders(gate, tree, gate.spec.checks)
        read = self._context.store.read
        return orders, tuple(
            order.check.name
            for order in orders
            if read(partial(verdicts.green, key=order.key)) is None
        )

    def marks(self, gate: Gate, tree: str) -> list[str]:
        """What a green tree does to its own tests, compared with the target."""
        orders = self._orders(gate, tree, gate.spec.checks)
        read = self._context.store.read
        known = {o.check.name: read(partial(verdicts.green, key=o.key)) for o in orders}
        return self._marks(gate, tree, {name: v for name, v in known.items() if v is not None})

    async def wait(self, caller: Caller, request: GateWaitRequest) -> GateRunReply:
        """Tells how a run ended, as soon as it has, or how it stands when the time is over."""
        with self._ends.awaited(request["job"]):
            job = await waits.until(
                self._context,
                partial(self._context.pools.look, caller, self._find, request["job"]),
                is_over=lambda job: job.status != "open",
                heeds=lambda event: event.kind in (JobDone.kind, JobSetAside.kind),
                seconds=request.get("seconds"),
            )
            if job.status != "open":
                self._ends.has_read(job.id)
            return await self._context.pools.look(caller, self._ended, job)

    def _gate(self, caller: Caller, request: Mapping[str, Any]) -> Gate:
        repo = lookup.scope(self._context, caller, request).require_repo()
        return gates.read(self._context, repo)

    def _tree(self, gate: Gate, rev: str | None) -> str:
        """The tree of what somebody names, else the target's."""
        try:
            return gate_trees.tree_of(repos.git(gate.repo), rev) if rev else gate.target.tree
        except GitError as error:
            named = f"{printable_line(rev or '')} names no commit here"
            raise NotFound(named, error.hint) from error

    def _orders(self, gate: Gate, tree: str, wanted: Iterable[Check]) -> list[CheckOrder]:
        """What is to be run for a tree, and under which circumstances."""
        versions = self.versions.of(gate).digest
        needed = layers.need(gate, tree, versions)
        return [CheckOrder(gate, tree, check, needed.key, versions) for check in wanted]

    def _begin(
        self,
        order: CheckOrder,
        todo: tuple[str, ...],
        *,
        fresh: bool,
        approved: bool = False,
        authors: tuple[str, ...] = (),
        tells: bool = True,
        network_tree: str = "",
    ) -> Job:
        """Begins the job of a run, or finds the one that runs these checks already.

        All checks of a run have the tree and the circumstances of this one.
        """
        gate, tree = order.gate, order.tree
        if not authors and layers.need(gate, tree, order.versions).is_own:
            authors = setup_reach.authors(self._context, gate, tree)
        state = GateState(
            tree=tree,
            gate=gate.spec,
            todo=todo,
            target=gate.target.tip,
            fresh=fresh,
            authors=authors,
            approved=approved,
            tells=tells,
            network_tree=network_tree,
        )

        def change(writing: Writing) -> Job:
            about = partial(job_rows.about, repo=gate.repo.id, kind=gate_job.KIND.name)
            found = about(writing.connection, subject=tree)
            if found is not None:
                running = shapes.convert(found.state, GateState)
                same = ("gate", "todo", "approved")
                # Nobody waits for a run that others may end: see `landing.cancel`.
                is_theirs = tells and not running.tells
                if not is_theirs and all(
                    getattr(running, name) == getattr(state, name) for name in same
                ):
                    return found
            kept = gate_job.begun(state)
            return self._jobs.begin(writing, "gate", repo=gate.repo.id, subject=tree, state=kept)

        return self._context.store.write(change)

    def _last(self, gate: Gate) -> GateState | None:
        """The last run that proved the target's tip by this gate, if it is over."""
        about = partial(
            job_rows.last_about,
            repo=gate.repo.id,
            kind=gate_job.KIND.name,
            subject=gate.target.tree,
        )
        found = self._context.store.read(about)
        if found is None or found.result is None:
            return None
        state = shapes.convert(found.state, GateState)
        return state if (state.tree, state.gate) == (gate.target.tree, gate.spec) else None

    def _under_way(self, repo: RepoId, tree: str) -> str | None:
        about = partial(job_rows.about, repo=repo, kind=gate_job.KIND.name, subject=tree)
        found = self._context.store.read(about)
        return None if found is None else found.id

    def _find(self, job: str) -> Job:
        found = self._context.store.read(partial(job_rows.find, job=JobId(job)))
        if found is None or found.kind != gate_job.KIND.name:
            raise NotFound(f"there is no run {job}", "`wl dev jobs --all` lists them")
        return found

    def _ended(self, job: Job) -> GateRunReply:
        """How a run ended, or how it stands."""
        state = shapes.convert(job.state, GateState)
        is_open = job.status == "open"
        if job.result is None and not is_open:
            message = (job.error or {}).get("message", "it was set aside")
            raise Internal(f"the run of {state.tree} did not end: {message}", "wl dev jobs")
        found: dict[str, Verdict] = {}
        views = self._end_views(state, state.ends, found)
        named = {view["name"] for view in views}
        doing = [name for name in state.todo if name not in named] if is_open else []
        return {
            "tree": state.tree,
            "layer": (state.layer or {}).get("key", ""),
            "box": "box" if state.gate.box else "hooks",
            "outcome": job.result["outcome"] if job.result else None,
            "cached": False,
            "marks": [] if is_open else self._marks(self._as_begun(job, state), state.tree, found),
            "checks": views,
            "job": job.id,
            "doing": ["setup"] if doing and state.layer is None else doing,
            "network": state.gate.network,
            "tried": self._end_views(state, state.before.ends, {}) if state.before else [],
        }

    def _end_views(
        self, state: GateState, ends: Iterable[CheckEnd], found: dict[str, Verdict]
    ) -> list[CheckView]:
        """How checks of a run ended; the verdicts that there are go into `found`."""
        by_name = {end.name: end for end in ends}
        views = []
        for check in state.gate.checks:
            end = by_name.get(check.name)
            if end is None:
                continue
            verdict = None
            if end.verdict is not None:
                verdict = self._context.store.read(partial(verdicts.by_number, number=end.verdict))
            view = _check_view(check, verdict, cached=False)
            view["outcome"], view["why"] = end.outcome, end.why
            if verdict is not None:
                found[check.name] = verdict
            else:
                view["log"] = (state.layer or {}).get("log", "")
            views.append(view)
        return views

    def _marks(self, gate: Gate, tree: str, found: Mapping[str, Verdict]) -> list[str]:
        """What a tree does to its own tests, compared with the target."""
        base = gate.target.tree
        if tree == base:
            return []
        orders = self._orders(gate, base, gate.spec.checks)
        read = self._context.store.read
        known = {o.check.name: read(partial(verdicts.green, key=o.key)) for o in orders}
        green = {name: verdict for name, verdict in known.items() if verdict is not None}
        git = repos.git(gate.repo)
        paths = marks.may_steer(gate_trees.edited(git, base, tree), gate.spec)
        # One after the other: together they may be more than there is memory for.
        seen = (Edit(p, _text(git, base, p), _text(git, tree, p)) for p in paths[:_MOST_EDITS])
        unread = (Edit(p, None, marks.UNREAD) for p in paths[_MOST_EDITS:])
        edits = itertools.chain(seen, unread)
        return [*marks.of_edits(edits, gate.spec), *marks.of_counts(green, found)]

    def _as_begun(self, job: Job, state: GateState) -> Gate:
        """The gate of a run, as it was when that began, and the target as it is now."""
        gate = gates.read(self._context, repos.by_id(self._context, job.repo))
        return gate._replace(spec=state.gate)

    def _recorded(self, work: RunningIntent) -> Gate:
        """The gate of an effect, as it was when its run began."""
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        gate = gates.read(self._context, repo)
        return gate._replace(spec=shapes.convert(work.data["gate"], GateSpec))

    def _make_layer(self, work: RunningIntent) -> None:
        gate = self._recorded(work)
        asked = self.versions.of(gate)
        if asked.why:
            work.keep(layer={"key": "", "why": asked.why, "log": ""})
            return
        tree = work.data["tree"]
        # Not what they were when the run began: tools change, and the target may have moved, and
        # with it whose the layer is.
        needed = layers.need(gate, tree, asked.digest)
        reach = setup_reach.of_target(gate)
        if needed.is_own and not work.data.get("approved", False):
            reach = setup_reach.of_change(self._context, gate, work.data.get("authors", ()))
        made = layers.make(self._context, gate, needed, tree=tree, mark=_mark(work), reach=reach)
        work.keep(layer={**made, "versions": asked.digest})

    def _run_check(self, work: RunningIntent) -> None:
        gate, data = self._recorded(work), work.data
        check = next(c for c in gate.spec.checks if c.name == data["check"])
        layer = data["layer"]
        versions = layer.get("versions", data.get("versions", ""))  # older releases' have it there
        order = CheckOrder(gate, data["tree"], check, layer["key"], versions)
        run = owner(work.intent.id) or JobId("")

        def is_wanted() -> bool:
            found = self._context.store.read(partial(job_rows.find, job=run))
            return found is None or found.status == "open"

        end = self._checks.run(order, mark=_mark(work), fresh=data["fresh"], is_wanted=is_wanted)
        work.keep(end=msgspec.to_builtins(end))

    def _tell(self, work: RunningIntent) -> None:
        job = self._find(owner(work.intent.id) or "")
        gate = gates.read(self._context, repos.by_id(self._context, job.repo))
        ended = self._ended(job)
        if ended["tree"] == gate.target.tree and self.is_green(gate, ended["tree"]):
            green.follow(repos.git(gate.repo), gate.target.tip)
        self._ends.tell(work, job.id, gate, ended)

    def _stop(self, work: RunningIntent) -> None:
        """Ends every command of a run, whichever of its effects has started it."""
        job = JobId(work.data["job"])
        found = self._context.store.read(partial(job_rows.find, job=job))
        if found is not None:
            keys = (effect_key(job, number + 1) for number in range(found.sequence))
            self._context.commands.end_run(*map(_mark_of, keys))


def _take_end(view: CheckView, last: GateState | None) -> None:
    """Says of a check without a verdict why the last run had none for it."""
    for end in last.ends if last else ():
        if (end.name, end.verdict, view["outcome"]) == (view["name"], None, None):
            view["outcome"], view["why"] = end.outcome, end.why
            view["log"] = ((last.layer if last else None) or {}).get("log", "")


def _text(git: Repository, tree: str, path: str) -> str | None:
    held = gate_trees.read_file(git, tree, path, most=_LARGEST_EDIT)
    if held is None and gate_trees.blobs(git, tree, [path]):
        return marks.UNREAD
    return None if held is None else held.decode("utf-8", "replace")


def _nobody(_: Mapping[str, Any]) -> list[Any]:
    """A gate concerns no agent."""
    return []


def _kept(name: str) -> Any:
    return lambda work: work.data[name]


def _mark(work: RunningIntent) -> str:
    """What everything is found by that an effect runs."""
    return _mark_of(work.intent.id)


def _mark_of(key: str) -> str:
    return f"gate-{key.replace(':', '-')}"


def _wanted(gate: GateSpec, name: str | None) -> tuple[Check, ...]:
    if name is None:
        return gate.checks
    found = tuple(check for check in gate.checks if check.name == name)
    if not found:
        known = ", ".join(check.name for check in gate.checks)
        raise NotFound(f"the gate has no check {name!r}", f"it has: {known}")
    return found


def _check_view(check: Check, verdict: Verdict | None, *, cached: bool) -> CheckView:
    known = verdict is not None
    return {
        "name": check.name,
        "run": check.run,
        "outcome": verdict.outcome if verdict else None,
        "why": verdict.why if verdict else "",
        "code": verdict.code if verdict else None,
        "seconds": verdict.seconds if verdict else None,
        "tests": verdict.tests if verdict else None,
        "skipped": verdict.skipped if verdict else None,
        "failed": list(verdict.failed) if verdict else [],
        "log": verdict.log if verdict else "",
        "cached": cached and known,
    }
