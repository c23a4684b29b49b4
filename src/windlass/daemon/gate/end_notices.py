"""The person's notice of a run that ended while nobody waited for it.

The effect of a job, so that no daemon's end loses it. Who waits is asked of this daemon alone: what
ends between two of them is told, also to whoever asks again and reads it there.
"""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import Iterator
from functools import partial
from typing import Protocol

from windlass.api.wire.gate import GateRunReply
from windlass.core.gate import summary
from windlass.core.ids import RepoId
from windlass.core.jobs import JobId
from windlass.daemon.gate.gates import Gate
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.store.store import Writing


class Tell(Protocol):
    """Tells the person how a run ended."""

    def __call__(self, writing: Writing, /, *, repo: RepoId, text: str, is_green: bool) -> None:
        """In the transaction of what else is recorded."""


_REMEMBERED = 64
"""Runs whose end somebody has read lately: that is told at the same moment as it is noticed."""


class EndNotices:
    """Knows who waits for a run, and tells the person of the others."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._waiting: Counter[str] = Counter()
        self._read: deque[str] = deque(maxlen=_REMEMBERED)

    @contextlib.contextmanager
    def awaited(self, job: str) -> Iterator[None]:
        """Says that somebody waits for a run."""
        self._waiting[job] += 1
        try:
            yield
        finally:
            self._waiting -= Counter([job])

    def has_read(self, job: str) -> None:
        """Says that somebody has been told how a run ended."""
        self._read.append(job)

    def tell(self, work: RunningIntent, job: JobId, gate: Gate, run: GateRunReply) -> None:
        """Tells how a run ended, once, unless somebody hears of it otherwise."""
        outcome = run["outcome"]
        if outcome is None or self._waiting[job] or job in self._read:
            return
        is_target = run["tree"] == gate.target.tree
        what = gate.target.branch if is_target else f"the tree {run['tree'][:10]}"
        text = summary.end(what, outcome, run["checks"])
        is_green = outcome == "passed"
        work.with_next_record(
            partial(self._tell, repo=RepoId(work.intent.repo), text=text, is_green=is_green)
        )
