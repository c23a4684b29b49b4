"""One check of one tree: run in a view of it that is thrown away, judged, and its verdict kept."""

from __future__ import annotations

import contextlib
import os
import platform
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from windlass.core.box_spec import HOME
from windlass.core.gate import judgement, junit_option
from windlass.core.gate import spec as specs
from windlass.core.gate.job import CANCELLED, CheckEnd
from windlass.core.gate.judgement import CheckRun, Judged
from windlass.core.gate.junit_option import JUnitOption
from windlass.core.gate.spec import Check
from windlass.core.gate.tally import TestReport
from windlass.core.gate.verdicts import Verdict
from windlass.core.ids import RepoId
from windlass.core.sessions import WholeRun
from windlass.daemon.gate import growth, layers, report_files, rooms, run_caches
from windlass.daemon.gate.gates import Gate
from windlass.daemon.gate.places import GatePlaces
from windlass.daemon.gate.rooms import Wanted
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.git import gate_trees
from windlass.store import verdicts
from windlass.store.verdicts import VerdictKey

LOG_BYTES = 64 << 20
_LEAST_SECONDS = 1800.0
_OF_LAST_GREEN = 3.0
_REPORTS = "reports"
"""Below the home of a run: where its runner is asked to write what it tested."""
_HOST_LETTERS = 64
_MOST_SLOTS = 4
_CORES_EACH = 4


class CheckOrder(NamedTuple):
    """What is to be run."""

    gate: Gate
    tree: str
    check: Check
    layer: str
    versions: str

    @property
    def key(self) -> VerdictKey:
        """What its verdict is known by."""
        gate = self.gate
        check_key = specs.check_key(gate.spec, self.check)
        return VerdictKey(gate.repo.id, self.tree, check_key, self.layer, gate.level, self.versions)


class Slots:
    """How many checks run at once, and the work tree of each."""

    def __init__(self, most: int | None = None) -> None:
        cores = os.cpu_count() or 1
        self._free = list(range(most or max(1, min(_MOST_SLOTS, cores // _CORES_EACH))))
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def taken(self) -> Iterator[int]:
        """Waits for a slot, and has it for as long as the block takes."""
        with self._changed:
            while not self._free:
                self._changed.wait()
            number = self._free.pop(0)
        try:
            yield number
        finally:
            with self._changed:
                self._free.append(number)
                self._changed.notify()


class Checks:
    """Runs checks, as many at once as there are slots."""

    def __init__(self, context: Context, slots: Slots) -> None:
        self._context = context
        self._slots = slots

    def run(
        self, order: CheckOrder, *, mark: str, fresh: bool, is_wanted: Callable[[], bool]
    ) -> CheckEnd:
        """Runs a check, unless it was green under exactly these circumstances, or in any case.

        What nobody wants any more says nothing: its commands were ended, or never begun.
        """
        known = None if fresh else self._green(order)
        if known is None:
            rooms.end_earlier(self._context, mark)
            with self._slots.taken() as number:
                # Somebody else may have run it meanwhile.
                known = None if fresh else self._green(order)
                if known is None and is_wanted():
                    known = self._kept(self._verdict(order, number, mark=mark), is_wanted)
        if known is None:
            return CheckEnd(name=order.check.name, outcome="could-not-run", why=CANCELLED)
        return CheckEnd(
            name=order.check.name, outcome=known.outcome, why=known.why, verdict=known.id
        )

    def _green(self, order: CheckOrder) -> Verdict | None:
        return self._context.store.read(lambda c: verdicts.green(c, order.key))

    def _kept(self, found: Verdict, is_wanted: Callable[[], bool]) -> Verdict | None:
        if not is_wanted():
            return None
        return self._context.store.write(lambda w: verdicts.add(w, found))

    def _verdict(self, order: CheckOrder, number: int, *, mark: str) -> Verdict:
        gate, check = order.gate, order.check
        places = GatePlaces(self._context.folders.home, gate.repo.id)
        log = _log(places, order)
        tree = places.tree(number)
        gate_trees.bring(repos.git(gate.repo), tree, order.tree)
        layer = places.layer(order.layer)
        layers.wanted(self._context, gate, order.layer)
        cache = run_caches.of(self._context, gate, order.key.check_key, order.tree)
        has_layer = bool(order.layer)
        folder = places.runs / mark
        # Without a box paths that the setup has written hold where it was run, and nowhere else.
        at = places.layer_made_at(order.layer) if has_layer and not gate.spec.box else None
        asked = _asked(check, HOME if gate.spec.box else str((at or folder) / "home"))
        variables = asked.environment if asked is not None else {}
        wanted = Wanted(gate.spec.box, gate.spec.network, variables=variables)
        lent = rooms.throw_away(
            self._context,
            gate.repo,
            gate.config,
            wanted,
            folder=folder,
            trees=[*run_caches.lowers(cache), *([layer / "tree"] if has_layer else []), tree],
            homes=[layer / "home"] if has_layer else (),
            at=at,
        )
        with lent as room:
            done = self._context.commands.run_whole(
                check.run,
                cwd=room.cwd,
                env=room.env,
                log=log,
                timeout=self._timeout(gate.repo.id, order),
                mark=mark,
                prefix=room.prefix,
                most=LOG_BYTES,
                look=growth.look(self._context, gate.config, folder, *([at] if at else [])),
            )
            in_tree = (check.junit,) if check.junit else asked.files if asked else ()
            written = ((room.written, in_tree), (room.home_written, (f"{_REPORTS}/*",)))
            report = report_files.read(log, written)
            verdict = _judged(order, done, report, log, now=self._context.clock.now())
            if verdict.outcome == "passed":
                run_caches.keep(self._context, cache, room, log=log, mark=mark)
        return verdict

    def _timeout(self, repo: RepoId, order: CheckOrder) -> float:
        if order.check.timeout is not None:
            return order.check.timeout
        key = order.key.check_key
        last = self._context.store.read(lambda c: verdicts.last_green_seconds(c, repo, key))
        return max(_LEAST_SECONDS, _OF_LAST_GREEN * (last or 0.0))


def _log(places: GatePlaces, order: CheckOrder) -> Path:
    places.logs.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = f"{order.tree[:12]}-{order.key.check_key[:8]}"
    taken = len(list(places.logs.glob(f"{name}-*.log")))
    while (path := places.logs / f"{name}-{taken + 1}.log").exists():
        taken += 1
    return path


def _asked(check: Check, home: str) -> JUnitOption | None:
    """How the runner of a check is asked for a report, where its settings name none."""
    if check.junit:
        return None
    return junit_option.junit_option(check.run, folder=f"{home}/{_REPORTS}", environment={})


def _judged(
    order: CheckOrder, done: WholeRun, report: TestReport | None, log: Path, *, now: float
) -> Verdict:
    run = CheckRun(
        code=done.code,
        timed_out=done.timed_out,
        seconds=done.seconds,
        end=report_files.end(log, 4096),
        ran=report.ran if report else None,
        failed=report.failed_count if report else 0,
        network=order.gate.spec.network or not order.gate.spec.box,
    )
    judged = judgement.judged(order.check, run)
    if done.overgrown:
        judged = Judged("could-not-run", done.overgrown)
    if done.survivors:
        judged = Judged("could-not-run", f"{done.survivors} of its processes could not be ended")
    return Verdict(
        **order.key._asdict(),
        check=order.check.name,
        outcome=judged.outcome,
        code=done.code,
        seconds=round(done.seconds, 3),
        tests=report.ran if report else None,
        skipped=report.skipped if report else None,
        failed=report.failed if report else (),
        why=judged.why,
        log=str(log),
        host=platform.node()[:_HOST_LETTERS],
        at=now,
    )
