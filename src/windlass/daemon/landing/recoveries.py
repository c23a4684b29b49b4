"""The effect `landing.recover`: what was held because the target was not green goes on when it is.

A landing says so by itself. A person's own commit, or a run of theirs, nobody else would see; nor
that a target is there again that was renamed or deleted.
"""

from __future__ import annotations

from windlass.core.ids import RepoId
from windlass.core.landing import holds
from windlass.core.landing import job as landing_job
from windlass.daemon.gate import gates, green
from windlass.daemon.gate.proofs import Proofs
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.landing import moves
from windlass.daemon.landing.upstreams import Upstreams
from windlass.store import changes as rows


class Recoveries:
    """Looks at targets on which landing halts."""

    def __init__(self, context: Context, proofs: Proofs, upstreams: Upstreams) -> None:
        self._context = context
        self._proofs = proofs
        self._upstreams = upstreams

    def operation(self) -> Operation:
        """One look; a tip that nobody has judged is put through the gate."""
        return Operation(
            landing_job.RECOVER,
            (Step("look", self._look),),
            lambda _: [],
            lambda work: {"red": work.data["found"]},
        )

    def _look(self, work: RunningIntent) -> None:
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        target, red = work.data["target"], work.data["red"]
        held = self._context.store.read(lambda c: rows.listed(c, repo.id, states={"held"}))
        halted = {c.why for c in held if c.target == target and holds.is_halted(c.why, target)}
        if not halted:
            work.keep(found="")
            return
        try:
            look = self._upstreams.refresh(repo, target)
        except gates.NoTarget:
            work.keep(found=red)
            return
        gate = gates.find(self._context, repo, branch=target)
        if gate is None or look.unreachable or look.held:
            work.keep(found=red)
            return
        is_green = self._proofs.is_green(gate, gate.target.tree)
        # Who was held because it was gone is told by a try of its own how it fares now.
        if not is_green and holds.halted(target, "gone") not in halted:
            if gate.target.tip != red:
                self._proofs.prove(gate, gate.target.tree)  # its end is heard, and looked at
            work.keep(found=gate.target.tip)
            return
        work.with_next_record(lambda w: moves.release_halted(w, repo.id, target))
        work.keep(found="")
        if is_green:
            green.follow(repos.git(repo), gate.target.tip)
